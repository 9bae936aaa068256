//! Holding a run to its client.
//!
//! Invariant: a run that this surface started and whose end it has not heard is stopped when its
//! client goes away, however that happens: the [`Leash`] is dropped with the request.

use crate::book::Principal;
use crate::http::Desk;
use crate::openai::SURFACE;
use crate::shared;
use hob_bus::{Bus, Peer};
use hob_kit::tasks::Tasks;
use hob_wire::ErrorCode;
use hob_wire::id::RunId;
use hob_wire::rooms::agent;

/// Holds a run to its client: dropped while the run goes on, it stops it.
#[derive(Debug)]
pub(crate) struct Leash {
    bus: Bus,
    peer: Peer,
    tasks: Tasks,
    run: Option<RunId>,
}

impl Leash {
    pub(crate) fn new(desk: &Desk, principal: &Principal) -> Leash {
        Leash {
            bus: desk.shared.bus.clone(),
            peer: shared::peer(principal, SURFACE),
            tasks: desk.shared.tasks.clone(),
            run: None,
        }
    }

    pub(crate) fn hold(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// The run has ended by itself.
    pub(crate) fn release(&mut self) {
        self.run = None;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let Some(run_id) = self.run else { return };
        let (bus, peer) = (self.bus.clone(), self.peer.clone());
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
                Ok(()) => tracing::debug!(%run_id, "a run was stopped: its client went away"),
                // It ended meanwhile.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => tracing::warn!(%run_id, "a run could not be stopped: {error}"),
            }
        });
    }
}
