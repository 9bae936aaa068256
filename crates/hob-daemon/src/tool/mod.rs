//! `tool.*`: built-in tools and tools of external services, behind one interface.
//!
//! - `registry`: the tools that exist
//! - `offer`: registration of tools by external services
//! - `tiers`: tiers of external tools, set by an admin and not by the service
//! - `undo`: undoes the changes of a run
//! - `own_act`: audit of calls that a person makes directly
//! - `executor`: runs and cancels calls, `service_call` those of external services; `preview`:
//!   previews and probes calls; `in_flight_calls` counts them
//! - `masking`: removes secrets from tool output; `tool_events`: events for watchers
//!
//! Invariants: a call made for a run is executed only with a ticket that the permission room
//! redeems for the same bytes; a mistake of the model is reported to the model and never executed;
//! names of built-in tools cannot be taken; the tools of a service disappear with its connection;
//! every call has a deadline, and a cancel takes effect within a second.

mod executor;
mod in_flight_calls;
pub(crate) mod masking;
mod offer;
mod own_act;
mod preview;
mod registry;
mod service_call;
mod tiers;
mod tool_events;
mod undo;

use crate::RoomContext;
use executor::ToolExecutor;
use hob_bus::{Caller, EventEmitter, Room};
use hob_kit::settings::{SettingKey, SettingKind};
pub use hob_tools::CommandRunner;
use hob_tools::ToolEnv;
use hob_wire::WireError;
use hob_wire::rooms::gateway::ServiceDisconnected;
use hob_wire::rooms::tool::{
    Cancel, Describe, EVENTS, Execute, List, Offer, Preview, Probe, SetTier, Undo,
};
use registry::ToolRegistry;
use std::sync::Arc;

/// Requests handled at once. Each call in progress holds one, and a cancel must still get through.
const CONCURRENCY: usize = 1_024;

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "tool.timeout",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 240_000,
        },
        "120s",
        "How long a tool call may take, unless the tool itself says less or more.",
    )
    .live(),
    SettingKey::new(
        "tool.return_wait",
        SettingKind::Duration {
            min_ms: 0,
            max_ms: 60_000,
        },
        "10s",
        "How long an approved call waits for its tool when the service that offers it is away, as after a restart.",
    )
    .live(),
];

/// Shared state of the tool room.
struct ToolRoomContext {
    deps: RoomContext,
    /// Calls `permission.redeem` and the methods of services that offer tools.
    caller: Caller,
    emitter: EventEmitter,
    tool_env: ToolEnv,
    registry: ToolRegistry,
    /// Held during offers and tier changes, so that each sees the result of the one before.
    tiers_lock: tokio::sync::Mutex<()>,
    /// Held during an undo: two at once would see each other's partial work.
    undo_lock: tokio::sync::Mutex<()>,
    /// Start time of the room: services need a moment to reconnect after a restart.
    opened_ms: u64,
}

/// Serves the room `tools`. `commands` starts programs; without it no program runs.
pub fn serve(context: &RoomContext, commands: Option<CommandRunner>) -> Result<(), WireError> {
    let mut tool_env = ToolEnv::new(context.clock.clone(), context.home.folders())
        .with_store(context.store.clone())
        .with_web(context.web.clone(), context.settings.clone())
        .with_mask(context.mask.clone())
        .with_rooms(context.bus.caller("tools"));
    if let Some(commands) = commands {
        tool_env = tool_env.with_commands(commands);
    }
    let instance = format!("{:x}", context.clock.wall_ms());
    let shared = ToolRoomContext {
        deps: context.clone(),
        caller: context.bus.caller("tools"),
        emitter: context.bus.emitter("tools"),
        tool_env,
        registry: ToolRegistry::new(hob_tools::entries(), instance),
        tiers_lock: tokio::sync::Mutex::new(()),
        undo_lock: tokio::sync::Mutex::new(()),
        opened_ms: context.clock.monotonic_ms(),
    };
    let room = Room::new("tools")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::new(ToolExecutor::new(shared)))
        .method(List, executor::list)
        .method(Describe, ToolExecutor::describe)
        .method(Execute, ToolExecutor::execute)
        .method(Cancel, ToolExecutor::cancel)
        .method(Probe, ToolExecutor::probe)
        .method(Preview, ToolExecutor::preview)
        .method(Undo, undo::undo)
        .method(Offer, offer::offer)
        .method(SetTier, tiers::set_tier)
        .on(ServiceDisconnected, offer::service_left);
    context.bus.serve(room)
}
