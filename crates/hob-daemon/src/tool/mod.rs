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

use executor::ToolExecutor;
use hob_bus::{Bus, Caller, EventEmitter, Room};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_net::WebClient;
use hob_store::Store;
pub use hob_tools::CommandRunner;
use hob_tools::ToolEnv;
use hob_wire::rooms::gateway::ServiceDisconnected;
use hob_wire::rooms::tool::{
    Cancel, Describe, Execute, List, Offer, Preview, Probe, SetTier, ToolFinished, ToolOutput,
    ToolStarted, Undo,
};
use registry::ToolRegistry;
use std::sync::Arc;
use tokio::sync::watch;

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

/// Dependencies of the tool room.
#[derive(Clone, Debug)]
pub struct ToolRoomDeps {
    pub bus: Bus,
    /// Stores the changes of runs.
    pub store: Store,
    pub clock: Clock,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// hob's own folders, hidden from every tool.
    pub home: Home,
    /// Starts programs; without it no program runs.
    pub commands: Option<CommandRunner>,
    /// Access to the web.
    pub web: WebClient,
    /// Secrets that neither the audit record nor a tool may show.
    pub mask: SecretMask,
}

/// Shared state of the tool room.
struct ToolRoomContext {
    /// Calls `permission.redeem` and the methods of services that offer tools.
    caller: Caller,
    emitter: EventEmitter,
    clock: Clock,
    settings: watch::Receiver<Arc<Settings>>,
    tool_env: ToolEnv,
    registry: ToolRegistry,
    store: Store,
    mask: SecretMask,
    /// Held during offers and tier changes, so that each sees the result of the one before.
    tiers_lock: tokio::sync::Mutex<()>,
    /// Held during an undo: two at once would see each other's partial work.
    undo_lock: tokio::sync::Mutex<()>,
    /// Start time of the room: services need a moment to reconnect after a restart.
    opened_ms: u64,
}

/// The service `tools`.
pub fn room(deps: ToolRoomDeps) -> Room {
    let tool_env = ToolEnv::new(deps.clock.clone(), deps.home.folders());
    let tool_env = tool_env.with_store(deps.store.clone());
    let tool_env = tool_env.with_web(deps.web, deps.settings.clone());
    let tool_env = tool_env.with_mask(deps.mask.clone());
    let mut tool_env = tool_env.with_rooms(deps.bus.caller("tools"));
    if let Some(commands) = deps.commands {
        tool_env = tool_env.with_commands(commands);
    }
    let instance = format!("{:x}", deps.clock.wall_ms());
    let registry = ToolRegistry::new(hob_tools::entries(), instance);
    let shared = Arc::new(ToolRoomContext {
        caller: deps.bus.caller("tools"),
        emitter: deps.bus.emitter("tools"),
        opened_ms: deps.clock.monotonic_ms(),
        tool_env,
        store: deps.store,
        mask: deps.mask,
        tiers_lock: tokio::sync::Mutex::new(()),
        undo_lock: tokio::sync::Mutex::new(()),
        clock: deps.clock,
        settings: deps.settings,
        registry,
    });
    let executor = Arc::new(ToolExecutor::new(Arc::clone(&shared)));
    let (lists, offers, sets) = (
        Arc::clone(&shared),
        Arc::clone(&shared),
        Arc::clone(&shared),
    );
    let (undoes, leaves) = (Arc::clone(&shared), shared);
    let of = |executor: &Arc<ToolExecutor>| Arc::clone(executor);
    let (describes, executes, cancels) = (of(&executor), of(&executor), of(&executor));
    let (previews, probes) = (of(&executor), executor);
    Room::new("tools")
        .concurrency(CONCURRENCY)
        .event::<ToolStarted>()
        .event::<ToolOutput>()
        .event::<ToolFinished>()
        .method::<List, _, _>(move |_, params| {
            let tools = lists.registry.list(params.known.as_deref());
            async move { Ok(tools) }
        })
        .method::<Describe, _, _>(move |_, params| {
            let executor = of(&describes);
            async move { executor.describe(&params).await }
        })
        .method::<Execute, _, _>(move |call, params| {
            let executor = of(&executes);
            async move { executor.execute(&call, params).await }
        })
        .method::<Cancel, _, _>(move |_, params| {
            let executor = of(&cancels);
            async move { Ok(executor.cancel(&params).await) }
        })
        .method::<Probe, _, _>(move |_, params| {
            let executor = of(&probes);
            async move { Ok(executor.probe(params).await) }
        })
        .method::<Preview, _, _>(move |_, params| {
            let executor = of(&previews);
            async move { executor.preview(params).await }
        })
        .method::<Undo, _, _>(move |call, params| {
            let shared = Arc::clone(&undoes);
            async move {
                own_act::record_undo(&shared, &call.caller, params.run_id).await?;
                undo::undo_run(&shared, params.run_id).await
            }
        })
        .method::<Offer, _, _>(move |call, params| {
            let shared = Arc::clone(&offers);
            async move { offer::offer(&shared, &call, params).await }
        })
        .method::<SetTier, _, _>(move |call, params| {
            let shared = Arc::clone(&sets);
            async move { tiers::set_tier(&shared, &call.caller, params).await }
        })
        .on::<ServiceDisconnected, _, _>(move |_, named| {
            let shared = Arc::clone(&leaves);
            async move { offer::service_left(&shared, &named.service).await }
        })
}
