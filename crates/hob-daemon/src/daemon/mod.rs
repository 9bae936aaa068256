//! `daemon.*`: status of the daemon, its checks, and verification of its store.

use crate::RoomContext;
use crate::doctor::DaemonChecks;
use hob_bus::{EventEmitter, Room};
use hob_exec::Spawner;
use hob_wire::rooms::daemon::{
    DaemonDoctorParams, DaemonDoctorResult, DaemonStatus, DaemonStatusParams, DaemonVerifyParams,
    DaemonVerifyResult, DaemonVerifyingPayload, Doctor, EVENTS, Status, Verify, Verifying,
};
use hob_wire::{ErrorCode, WireError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Interval between progress events of a check.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// Facts for the status besides those of the store.
#[derive(Debug)]
pub struct DaemonFacts {
    pub version: String,
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// Each listener as `surface address`. Set when the gateway is open, which is after the rooms
    /// are served.
    pub listeners: Arc<OnceLock<Vec<String>>>,
    /// Notes about the listeners for the person; set at the same time.
    pub notes: Arc<OnceLock<Vec<String>>>,
    /// Probes the sandbox for `daemon.doctor`; `None` leaves that out.
    pub spawner: Option<Spawner>,
}

struct DaemonContext {
    deps: RoomContext,
    facts: DaemonFacts,
    emitter: EventEmitter,
    /// One check at a time: it reads the whole store, and several would slow each other down.
    checks: Semaphore,
    /// One examination at a time, because it looks at files and probes the sandbox.
    examinations: Semaphore,
}

/// Serves the room `daemon`.
pub fn serve(context: &RoomContext, facts: DaemonFacts) -> Result<(), WireError> {
    let daemon = DaemonContext {
        deps: context.clone(),
        facts,
        emitter: context.bus.emitter("daemon"),
        checks: Semaphore::new(1),
        examinations: Semaphore::new(1),
    };
    let room = Room::new("daemon")
        .events(EVENTS)
        .state(Arc::new(daemon))
        .method(Status, DaemonContext::status)
        .method(Doctor, DaemonContext::doctor)
        .method(Verify, DaemonContext::verify);
    context.bus.serve(room)
}

impl DaemonContext {
    async fn status(&self, _: DaemonStatusParams) -> Result<DaemonStatus, WireError> {
        let (facts, store) = (&self.facts, &self.deps.store);
        // A failed count must not hide the status.
        let sessions = store.session_count().await.unwrap_or_default();
        Ok(DaemonStatus {
            version: facts.version.clone(),
            protocol: hob_wire::PROTOCOL_VERSION,
            pid: std::process::id(),
            epoch: store.epoch(),
            started_at: facts.started_at,
            home: self.deps.home.root().display().to_string(),
            listeners: facts.listeners.get().cloned().unwrap_or_default(),
            notes: facts.notes.get().cloned().unwrap_or_default(),
            store: store.status(),
            sessions,
            seq: store.event_log().bounds().last,
        })
    }

    async fn doctor(&self, _: DaemonDoctorParams) -> Result<DaemonDoctorResult, WireError> {
        let turn = self.examinations.acquire().await;
        let _turn = turn.map_err(|_| WireError::new(ErrorCode::Cancelled, "hob is stopping."))?;
        let notes = self.facts.notes.get();
        let checks = DaemonChecks {
            context: &self.deps,
            spawner: self.facts.spawner.as_ref(),
            version: &self.facts.version,
            notes: notes.map_or(&[], Vec::as_slice),
        };
        Ok(checks.examine().await)
    }

    /// Verifies the whole store on a blocking thread.
    async fn verify(&self, _: DaemonVerifyParams) -> Result<DaemonVerifyResult, WireError> {
        let Ok(_turn) = self.checks.try_acquire() else {
            let message = "The store is being checked already. Try again when that is done.";
            return Err(WireError::new(ErrorCode::Overloaded, message));
        };
        let (store, emitter) = (self.deps.store.clone(), self.emitter.clone());
        let checked = tokio::task::spawn_blocking(move || {
            let mut told_at = Instant::now();
            store.verify_in_use(&mut |part, checked| {
                if told_at.elapsed() >= PROGRESS_EVERY {
                    told_at = Instant::now();
                    let part = part.to_owned();
                    emitter.emit::<Verifying>(None, &DaemonVerifyingPayload { part, checked });
                }
            })
        });
        let failed = |error: tokio::task::JoinError| {
            WireError::new(ErrorCode::Internal, format!("The check failed: {error}."))
        };
        Ok(checked.await.map_err(failed)??)
    }
}
