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

use crate::RoomContext;
use hob_bus::Room;
use hob_wire::WireError;
use hob_wire::rooms::agent::RunCompleted;
use hob_wire::rooms::permission::{
    Add, Answer, Ask, Attend, Check, EVENTS, List, Pending, Redeem, Remove, Withdraw,
};
use hob_wire::rooms::session::SessionDeleted;
use service::PermissionService;
pub use settings::KEYS;
use std::sync::Arc;

/// Requests handled at once. Each open question holds one, and answers must still get through.
const CONCURRENCY: usize = 2_048;

/// Serves the room `permissions`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("permissions")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::new(PermissionService::new(context)))
        .method(Ask, PermissionService::ask)
        .method(Answer, PermissionService::answer)
        .method(Redeem, tickets::redeem)
        .method(Withdraw, PermissionService::withdraw)
        .method(Attend, answering::attend)
        .method(Pending, answering::pending)
        .method(List, PermissionService::list)
        .method(Add, PermissionService::add)
        .method(Remove, PermissionService::remove)
        .method(Check, PermissionService::check)
        .on(RunCompleted, PermissionService::remove_run_rules)
        .on(SessionDeleted, PermissionService::forget_session_rules);
    context.bus.serve(room)
}
