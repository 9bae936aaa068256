//! The tools there are, as the agent last heard. Every turn shows them to a model; they are read
//! anew only when something changed.
//!
//! Invariant: each answer is what the tool room said in answer to that very question.

use hob_bus::Caller;
use hob_wire::WireError;
use hob_wire::rooms::tool::{List, ListParams, Tools};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A list that is remembered.
#[derive(Default)]
pub(crate) struct ToolList {
    /// A std mutex, because it is held to look or to replace.
    known: Mutex<Option<Arc<Tools>>>,
}

impl ToolList {
    pub(crate) async fn current(&self, caller: &Caller) -> Result<Arc<Tools>, WireError> {
        let known = self.known.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner).clone();
        let params = ListParams {
            known: known.as_ref().map(|known| known.revision.clone()),
        };
        let told = caller.call::<List>(&params).await?;
        if let Some(known) = known.filter(|known| known.revision == told.revision) {
            return Ok(known);
        }
        let told = Arc::new(told);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&told));
        Ok(told)
    }
}

impl fmt::Debug for ToolList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolList").finish_non_exhaustive()
    }
}
