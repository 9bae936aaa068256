//! Stops a run when its client disconnects.
//!
//! Invariant: a run that this surface started, and whose end it has not seen, is stopped when the
//! request is dropped, for whatever reason.

use crate::http::HttpState;
use crate::openai::SURFACE;
use crate::shared;
use crate::token_cache::Principal;
use hob_bus::{Bus, PeerIdentity};
use hob_kit::tasks::TaskGroup;
use hob_wire::ErrorCode;
use hob_wire::id::RunId;
use hob_wire::rooms::agent;

/// A guard that aborts its run when dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop {
    bus: Bus,
    peer: PeerIdentity,
    tasks: TaskGroup,
    run: Option<RunId>,
}

impl AbortOnDrop {
    pub(crate) fn new(state: &HttpState, principal: &Principal) -> AbortOnDrop {
        AbortOnDrop {
            bus: state.shared.bus.clone(),
            peer: shared::peer(principal, SURFACE),
            tasks: state.shared.tasks.clone(),
            run: None,
        }
    }

    pub(crate) fn arm(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// Disables the abort, because the run has ended.
    pub(crate) fn disarm(&mut self) {
        self.run = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        let Some(run_id) = self.run else { return };
        // A new caller with the client's own rights: the request's link closes with it.
        let (bus, peer) = (self.bus.clone(), self.peer.clone());
        // Drop cannot await, so the abort runs in its own task.
        self.tasks.spawn("openai-abort", async move {
            let selector = agent::RunSelector {
                run_id: Some(run_id),
                session_key: None,
            };
            let stopped = match bus.caller_as(peer) {
                Ok(caller) => caller.call::<agent::Abort>(&selector).await.map(drop),
                Err(error) => Err(error),
            };
            match stopped {
                Ok(()) => tracing::debug!(%run_id, "a run was stopped: its client disconnected"),
                // The run ended meanwhile.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => tracing::warn!(%run_id, "a run could not be stopped: {error}"),
            }
        });
    }
}
