//! `permission.*`: approval of tool calls. Rules, questions and tickets are decided by
//! `hob_core::permission`; this room adds time, ids, events, the stored rules and the people who
//! answer.
//!
//! - `service`: shared state of the room, and the context of a call
//! - `asking`: a call is decided by rule, or a person is asked
//! - `answering`: a question is answered, withdrawn, or its deadline passes
//! - `tickets`: single-use tickets of allowed calls
//! - `stored_rules`: stored rules are listed, added, removed and checked
//! - `audit_recorder`: entries of the audit record
//! - `settings`: settings of permissions
//!
//! Invariants: a question is announced before anyone can answer it; every ruling is in the audit
//! record, in one transaction with its event and its rule, before the call may run; without an
//! attending connection nobody waits longer than the deadline; what is not allowed is denied.

mod answering;
mod asking;
mod audit_recorder;
mod service;
mod settings;
mod stored_rules;
mod tickets;

use hob_bus::{Bus, Room};
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_store::Store;
use hob_wire::rooms::agent::RunCompleted;
use hob_wire::rooms::permission::{
    Add, Answer, Ask, Attend, Check, List, Pending, PermissionAnswered, PermissionRequested,
    Redeem, Remove, Withdraw,
};
use hob_wire::rooms::session::SessionDeleted;
use hob_wire::{ErrorCode, WireError};
use service::PermissionService;
pub use settings::KEYS;
use std::sync::Arc;
use tokio::sync::watch;

/// Requests handled at once. Each open question holds one, and answers must still get through.
const CONCURRENCY: usize = 2_048;

/// Dependencies of the permission room.
#[derive(Clone, Debug)]
pub struct PermissionDeps {
    /// For calls of the tool room.
    pub bus: Bus,
    /// Questions, answers, rules and the audit record.
    pub store: Store,
    pub clock: Clock,
    pub randomness: Randomness,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// Secrets that the record must not show.
    pub mask: SecretMask,
}

/// The service `permissions`.
pub fn room(deps: PermissionDeps) -> Room {
    let service = Arc::new(PermissionService::new(deps));
    let of = |service: &Arc<PermissionService>| Arc::clone(service);
    let (asks, answers, redeems) = (of(&service), of(&service), of(&service));
    let (withdraws, attends, pending) = (of(&service), of(&service), of(&service));
    let room = Room::new("permissions")
        .concurrency(CONCURRENCY)
        .method::<Ask, _, _>(move |call, params| {
            let service = of(&asks);
            async move {
                let run = params.context.run_id;
                tokio::select! {
                    ruling = service.ask(params) => ruling,
                    // The run is gone, so nobody could act on an answer.
                    () = call.abandoned.cancelled() => {
                        if let Some(run) = run {
                            service.withdraw_unawaited(run).await;
                        }
                        let message = "Nobody waits for this permission any more.";
                        Err(WireError::new(ErrorCode::Cancelled, message))
                    }
                }
            }
        })
        .method::<Answer, _, _>(move |call, params| {
            let service = of(&answers);
            async move { service.answer(&call.caller, params).await }
        })
        .method::<Redeem, _, _>(move |_, params| {
            let service = of(&redeems);
            async move { service.redeem(params) }
        })
        .method::<Withdraw, _, _>(move |_, params| {
            let service = of(&withdraws);
            async move { Ok(service.withdraw(params.run_id).await) }
        })
        .method::<Attend, _, _>(move |call, _| {
            let service = of(&attends);
            async move { service.attend(call.connection) }
        })
        .method::<Pending, _, _>(move |_, params| {
            let service = of(&pending);
            async move { Ok(service.pending(&params)) }
        })
        .event::<PermissionRequested>()
        .event::<PermissionAnswered>();
    with_rules(room, &service)
}

/// Adds the methods for stored rules, and the events that remove rules.
fn with_rules(room: Room, service: &Arc<PermissionService>) -> Room {
    let of = |service: &Arc<PermissionService>| Arc::clone(service);
    let (lists, adds, removes) = (of(service), of(service), of(service));
    let (checks, ends, deletes) = (of(service), of(service), of(service));
    room.method::<List, _, _>(move |_, params| {
        let service = of(&lists);
        async move { service.list(params).await }
    })
    .method::<Add, _, _>(move |call, params| {
        let service = of(&adds);
        async move { service.add(&call.caller, params).await }
    })
    .method::<Remove, _, _>(move |call, params| {
        let service = of(&removes);
        async move { service.remove(&call.caller, params).await }
    })
    .method::<Check, _, _>(move |_, params| {
        let service = of(&checks);
        async move { service.check(params).await }
    })
    .on::<RunCompleted, _, _>(move |_, completed| {
        let service = of(&ends);
        async move { service.remove_run_rules(completed.run.run_id).await }
    })
    .on::<SessionDeleted, _, _>(move |_, deleted| {
        let service = of(&deletes);
        async move { service.forget_session_rules(deleted.session_id).await }
    })
}
