//! State and dependencies that every part of the agent room shares.

use super::live_runs::LiveRuns;
use super::settings;
use super::tool_list_cache::ToolListCache;
use crate::RoomContext;
use crate::model_library::ModelLibrary;
use hob_bus::EventEmitter;
use hob_core::child_runs::DEPTH_MAX;
use hob_core::failover::RetryPolicy;
use hob_kit::settings::Settings;
use hob_models::ModelCatalog;
use hob_store::SpendingCeilings;
use hob_wire::RunId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Dependencies and shared state of the room.
pub(crate) struct AgentContext {
    pub(crate) deps: RoomContext,
    library: ModelLibrary,
    pub(crate) live: LiveRuns,
    /// One permit for each active run, by generation. A run waits for its children, so they must
    /// never wait for its slot.
    slots: Vec<Arc<Semaphore>>,
    pub(crate) emitter: EventEmitter,
    pub(crate) tools: Arc<ToolListCache>,
    /// Stop tokens of the chats in progress, which are stored nowhere. A std mutex, because it is
    /// held for one lookup.
    pub(crate) chats: Mutex<HashMap<RunId, CancellationToken>>,
}

impl AgentContext {
    pub(crate) fn new(context: &RoomContext, library: &ModelLibrary) -> Self {
        let slots = context.settings().usize("agent.concurrency");
        AgentContext {
            live: LiveRuns::default(),
            slots: (0..=DEPTH_MAX)
                .map(|_| Arc::new(Semaphore::new(slots)))
                .collect(),
            emitter: context.bus.emitter("agent"),
            tools: Arc::default(),
            chats: Mutex::default(),
            deps: context.clone(),
            library: library.clone(),
        }
    }

    /// The slots of a generation. Generations beyond the last share its slots.
    pub(crate) fn slots(&self, depth: usize) -> Arc<Semaphore> {
        Arc::clone(&self.slots[depth.min(DEPTH_MAX)])
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.deps.clock.wall_ms()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.deps.settings()
    }

    /// The models as configured now.
    pub(crate) fn models(&self) -> ModelCatalog {
        self.library.models(&self.deps)
    }

    pub(crate) fn ceilings(&self) -> SpendingCeilings {
        settings::ceilings(&self.settings())
    }

    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        settings::retry_policy(&self.settings())
    }

    pub(crate) fn new_run_id(&self) -> RunId {
        RunId(self.deps.randomness.uuid(self.now_ms()))
    }

    /// A new id for a tool call: nine letters and digits, a form that every provider accepts.
    pub(crate) fn new_call_id(&self) -> String {
        const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut bytes = [0; 9];
        self.deps.randomness.fill(&mut bytes);
        let digit = |byte: &u8| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]);
        bytes.iter().map(digit).collect()
    }
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentContext").finish_non_exhaustive()
    }
}
