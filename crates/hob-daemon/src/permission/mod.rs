//! `permission.*`: what a model's call needs before it runs. The rules and the book of questions
//! and tickets are `hob_core::permission`; this room gives them time, ids, events and the people
//! who answer.
//!
//! - `desk`: a call is asked for, answered, redeemed
//!
//! Invariants: a question is announced before anyone can be asked for an answer to it, and its
//! answer is logged before the call may run; nobody waits longer than the deadline; what is not
//! allowed is denied.

mod desk;

use desk::Desk;
use hob_bus::{Bus, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::settings::{Key, Kind, Settings};
use hob_store::Store;
use hob_wire::rooms::permission::{
    Answer, Ask, Pending, PermissionAnswered, PermissionRequested, Redeem, Withdraw,
};
use std::sync::Arc;
use tokio::sync::watch;

/// Requests handled at once: each open question holds one, and answers must pass beside them.
const CONCURRENCY: usize = 2_048;

pub const KEYS: &[Key] = &[Key::new(
    "permission.deadline",
    Kind::Duration {
        min_ms: 1_000,
        max_ms: 240_000,
    },
    "120s",
    "How long a question waits for an answer before it counts as a no.",
)
.live()];

/// What the room is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where tools are asked what a call would do.
    pub bus: Bus,
    /// Where questions and answers are logged.
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub settings: watch::Receiver<Arc<Settings>>,
}

/// The service `permissions`.
pub fn room(parts: Parts) -> Room {
    let desk = Arc::new(Desk::new(parts));
    let of = |desk: &Arc<Desk>| Arc::clone(desk);
    let (asks, answers, redeems) = (of(&desk), of(&desk), of(&desk));
    let (withdraws, pending) = (of(&desk), desk);
    Room::new("permissions")
        .concurrency(CONCURRENCY)
        .method::<Ask, _, _>(move |_, params| {
            let desk = of(&asks);
            async move { desk.ask(params).await }
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
        .method::<Pending, _, _>(move |_, params| {
            let desk = of(&pending);
            async move { Ok(desk.pending(&params)) }
        })
        .event::<PermissionRequested>()
        .event::<PermissionAnswered>()
}
