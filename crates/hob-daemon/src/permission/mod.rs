//! `permission.*`: what a model's call needs before it runs. The rules and the book of questions
//! and tickets are `hob_core::permission`; this room gives them time, ids, events, the stored
//! rules and the people who answer.
//!
//! - `desk`: what the files of this room share, and what surrounds a call
//! - `asking`: a call is decided by rule, or a person is asked
//! - `answering`: a question is answered, taken back, or its deadline passes
//! - `tickets`: what an allowed call is run with, once
//! - `storing`: the stored rules are listed, added, removed and tried
//! - `recording`: what the audit record keeps of it all
//! - `settings`: what a person may choose
//!
//! Invariants: a question is announced before anyone can be asked for an answer to it; every
//! ruling is in the audit record, in the transaction of its event and its rule, before the call may
//! run; where nobody attends, nobody waits longer than the deadline; what is not allowed is denied.

mod answering;
mod asking;
mod desk;
mod recording;
mod settings;
mod storing;
mod tickets;

use desk::Desk;
use hob_bus::{Bus, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_store::Store;
use hob_wire::rooms::agent::RunCompleted;
use hob_wire::rooms::permission::{
    Add, Answer, Ask, Attend, Check, List, Pending, PermissionAnswered, PermissionRequested,
    Redeem, Remove, Withdraw,
};
use hob_wire::rooms::session::SessionDeleted;
use hob_wire::{ErrorCode, WireError};
pub use settings::KEYS;
use std::sync::Arc;
use tokio::sync::watch;

/// Requests handled at once: each open question holds one, and answers must pass beside them.
const CONCURRENCY: usize = 2_048;

/// What the room is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where tools are asked what a call would do.
    pub bus: Bus,
    /// Where questions, answers, rules and the record of them are kept.
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// What the record must not show.
    pub mask: Mask,
}

/// The service `permissions`.
pub fn room(parts: Parts) -> Room {
    let desk = Arc::new(Desk::new(parts));
    let of = |desk: &Arc<Desk>| Arc::clone(desk);
    let (asks, answers, redeems) = (of(&desk), of(&desk), of(&desk));
    let (withdraws, attends, pending) = (of(&desk), of(&desk), of(&desk));
    let room = Room::new("permissions")
        .concurrency(CONCURRENCY)
        .method::<Ask, _, _>(move |call, params| {
            let desk = of(&asks);
            async move {
                let run = params.context.run_id;
                tokio::select! {
                    ruling = desk.ask(params) => ruling,
                    // Nobody is left to act on an answer, so nobody is asked for one.
                    () = call.abandoned.cancelled() => {
                        if let Some(run) = run {
                            desk.withdraw_unheard(run).await;
                        }
                        let message = "Nobody waits for this permission any more.";
                        Err(WireError::new(ErrorCode::Cancelled, message))
                    }
                }
            }
        })
        .method::<Answer, _, _>(move |call, params| {
            let desk = of(&answers);
            async move { desk.answer(&call.caller, params).await }
        })
        .method::<Redeem, _, _>(move |_, params| {
            let desk = of(&redeems);
            async move { desk.redeem(params) }
        })
        .method::<Withdraw, _, _>(move |_, params| {
            let desk = of(&withdraws);
            async move { Ok(desk.withdraw(params.run_id).await) }
        })
        .method::<Attend, _, _>(move |call, _| {
            let desk = of(&attends);
            async move { desk.attend(call.connection) }
        })
        .method::<Pending, _, _>(move |_, params| {
            let desk = of(&pending);
            async move { Ok(desk.pending(&params)) }
        })
        .event::<PermissionRequested>()
        .event::<PermissionAnswered>();
    with_rules(room, &desk)
}

/// The methods about stored rules, and the ends that take rules along.
fn with_rules(room: Room, desk: &Arc<Desk>) -> Room {
    let of = |desk: &Arc<Desk>| Arc::clone(desk);
    let (lists, adds, removes) = (of(desk), of(desk), of(desk));
    let (checks, ends, deletes) = (of(desk), of(desk), of(desk));
    room.method::<List, _, _>(move |_, params| {
        let desk = of(&lists);
        async move { desk.list(params).await }
    })
    .method::<Add, _, _>(move |call, params| {
        let desk = of(&adds);
        async move { desk.add(&call.caller, params).await }
    })
    .method::<Remove, _, _>(move |call, params| {
        let desk = of(&removes);
        async move { desk.remove(&call.caller, params).await }
    })
    .method::<Check, _, _>(move |_, params| {
        let desk = of(&checks);
        async move { desk.check(params).await }
    })
    .on::<RunCompleted, _, _>(move |_, completed| {
        let desk = of(&ends);
        async move { desk.run_ended(completed.of.run_id).await }
    })
    .on::<SessionDeleted, _, _>(move |_, deleted| {
        let desk = of(&deletes);
        async move { desk.session_deleted(deleted.session_id).await }
    })
}
