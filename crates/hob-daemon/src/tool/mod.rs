//! `tool.*`: the tools of the house and of services outside, behind one door.
//!
//! - `shelf`: which tools there are
//! - `offer`: what a service outside may put on the shelf
//! - `tiers`: how far tools of services reach, which an admin says and not the service
//! - `undoing`: taking back what a run changed
//! - `own_act`: recording what a person does with their own hands
//! - `bench`: running a call, stopping it, asking whether it happened; `flights` counts them
//! - `masking`: takes secrets out of what tools say; `telling`: what watchers hear of it meanwhile
//!
//! Invariants: a call made for a run is run only with a ticket that the permission room redeems for
//! these very bytes; what a model got wrong is told to the model, never run; names of the house
//! cannot be taken; the tools of a service go when its connection goes; every call has a deadline,
//! and cancelling one takes effect within a second.

mod bench;
mod flights;
pub(crate) mod masking;
mod offer;
mod own_act;
mod shelf;
mod telling;
mod tiers;
mod undoing;

use bench::Bench;
use hob_bus::{Bus, Caller, Emitter, Room};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_kit::settings::{Key, Kind, Settings};
use hob_net::Web;
use hob_store::Store;
use hob_tools::Ground;
pub use hob_tools::web_fetch::KEYS as WEB_KEYS;
pub use hob_tools::{Commands, KEYS as EXEC_KEYS};
use hob_wire::rooms::gateway::ServiceDisconnected;
use hob_wire::rooms::tool::{
    Cancel, Describe, Execute, List, Offer, Preview, Probe, SetTier, ToolFinished, ToolOutput,
    ToolStarted, Undo,
};
use shelf::Shelf;
use std::sync::Arc;
use tokio::sync::watch;

/// Requests handled at once: each call under way holds one, and cancelling must pass beside them.
const CONCURRENCY: usize = 1_024;

pub const KEYS: &[Key] = &[
    Key::new(
        "tool.timeout",
        Kind::Duration {
            min_ms: 1_000,
            max_ms: 240_000,
        },
        "120s",
        "How long a tool call may take, unless the tool itself says less or more.",
    )
    .live(),
    Key::new(
        "tool.return_wait",
        Kind::Duration {
            min_ms: 0,
            max_ms: 60_000,
        },
        "10s",
        "How long an approved call waits for its tool when the service that offers it is away, as after a restart.",
    )
    .live(),
];

/// What the room is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    pub bus: Bus,
    /// Where what runs change is kept.
    pub store: Store,
    pub clock: Clock,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// What no tool is shown.
    pub home: Home,
    /// How programs are run; none are when missing.
    pub commands: Option<Commands>,
    /// The way to the web.
    pub web: Web,
    /// What neither the audit record nor a tool may show.
    pub mask: Mask,
}

/// What the room's files share.
struct Shared {
    /// For `permission.redeem` and the methods of services that offer tools.
    caller: Caller,
    emitter: Emitter,
    clock: Clock,
    settings: watch::Receiver<Arc<Settings>>,
    ground: Ground,
    shelf: Shelf,
    store: Store,
    mask: Mask,
    /// Offers and changes of tiers come one at a time, so that each sees what the one before did.
    tiers: tokio::sync::Mutex<()>,
    /// Undoing is done one at a time: two at once would see each other's halves.
    undo: tokio::sync::Mutex<()>,
    /// When this room was opened: services need a moment to come back after a restart.
    opened_ms: u64,
}

/// The service `tools`.
pub fn room(parts: Parts) -> Room {
    let ground = Ground::new(parts.clock.clone(), parts.home.folders());
    let ground = ground.with_store(parts.store.clone());
    let ground = ground.with_web(parts.web, parts.settings.clone());
    let ground = ground.with_mask(parts.mask.clone());
    let mut ground = ground.with_rooms(parts.bus.caller("tools"));
    if let Some(commands) = parts.commands {
        ground = ground.with_commands(commands);
    }
    let born = format!("{:x}", parts.clock.wall_ms());
    let shelf = Shelf::new(hob_tools::entries(), born);
    let shared = Arc::new(Shared {
        caller: parts.bus.caller("tools"),
        emitter: parts.bus.emitter("tools"),
        opened_ms: parts.clock.monotonic_ms(),
        ground,
        store: parts.store,
        mask: parts.mask,
        tiers: tokio::sync::Mutex::new(()),
        undo: tokio::sync::Mutex::new(()),
        clock: parts.clock,
        settings: parts.settings,
        shelf,
    });
    let bench = Arc::new(Bench::new(Arc::clone(&shared)));
    let (lists, offers, sets) = (
        Arc::clone(&shared),
        Arc::clone(&shared),
        Arc::clone(&shared),
    );
    let (undoes, leaves) = (Arc::clone(&shared), shared);
    let of = |bench: &Arc<Bench>| Arc::clone(bench);
    let (describes, executes, cancels) = (of(&bench), of(&bench), of(&bench));
    let (previews, probes) = (of(&bench), bench);
    Room::new("tools")
        .concurrency(CONCURRENCY)
        .event::<ToolStarted>()
        .event::<ToolOutput>()
        .event::<ToolFinished>()
        .method::<List, _, _>(move |_, params| {
            let tools = lists.shelf.list(params.known.as_deref());
            async move { Ok(tools) }
        })
        .method::<Describe, _, _>(move |_, params| {
            let bench = of(&describes);
            async move { bench.describe(&params).await }
        })
        .method::<Execute, _, _>(move |call, params| {
            let bench = of(&executes);
            async move { bench.execute(&call, params).await }
        })
        .method::<Cancel, _, _>(move |_, params| {
            let bench = of(&cancels);
            async move { Ok(bench.cancel(&params).await) }
        })
        .method::<Probe, _, _>(move |_, params| {
            let bench = of(&probes);
            async move { Ok(bench.probe(params).await) }
        })
        .method::<Preview, _, _>(move |_, params| {
            let bench = of(&previews);
            async move { bench.preview(params).await }
        })
        .method::<Undo, _, _>(move |call, params| {
            let shared = Arc::clone(&undoes);
            async move {
                own_act::record_undo(&shared, &call.caller, params.run_id).await?;
                undoing::undo(&shared, params.run_id).await
            }
        })
        .method::<Offer, _, _>(move |call, params| {
            let shared = Arc::clone(&offers);
            async move { offer::offer(&shared, &call, params).await }
        })
        .method::<SetTier, _, _>(move |call, params| {
            let shared = Arc::clone(&sets);
            async move { tiers::set(&shared, &call.caller, params).await }
        })
        .on::<ServiceDisconnected, _, _>(move |_, named| {
            let shared = Arc::clone(&leaves);
            async move { offer::left(&shared, &named.service).await }
        })
}
