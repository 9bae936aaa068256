//! A cache of the tool list. Every turn needs the list; it is transferred only when it changed.
//!
//! Invariant: each returned list was current when the tool room answered that request.

use hob_bus::Caller;
use hob_wire::WireError;
use hob_wire::rooms::tool::{List, ToolListParams, ToolListResult};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The last known tool list.
#[derive(Default)]
pub(crate) struct ToolListCache {
    /// A std mutex, because it is held only to read or replace.
    known: Mutex<Option<Arc<ToolListResult>>>,
}

impl ToolListCache {
    pub(crate) async fn current(&self, caller: &Caller) -> Result<Arc<ToolListResult>, WireError> {
        let known = self.known.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner).clone();
        let params = ToolListParams {
            known: known.as_ref().map(|known| known.revision.clone()),
        };
        let answer = caller.call::<List>(&params).await?;
        if let Some(known) = known.filter(|known| known.revision == answer.revision) {
            return Ok(known);
        }
        let answer = Arc::new(answer);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&answer));
        Ok(answer)
    }
}

impl fmt::Debug for ToolListCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolListCache").finish_non_exhaustive()
    }
}
