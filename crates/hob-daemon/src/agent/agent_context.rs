//! State and dependencies that every part of the agent room shares.

use super::live_runs::LiveRuns;
use super::settings;
use super::tool_list_cache::ToolListCache;
use crate::model_library::ModelLibrary;
use hob_bus::{Bus, EventEmitter};
use hob_core::child_runs::DEPTH_MAX;
use hob_core::failover::RetryPolicy;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_models::ModelCatalog;
use hob_store::{SpendingCeilings, Store};
use hob_wire::RunId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Dependencies of the agent room.
pub struct AgentDeps {
    pub store: Store,
    pub bus: Bus,
    pub tasks: TaskGroup,
    pub library: ModelLibrary,
    pub home: Home,
    /// Secrets that no prompt may contain.
    pub mask: SecretMask,
    pub clock: Clock,
    pub randomness: Randomness,
}

impl fmt::Debug for AgentDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentDeps").finish_non_exhaustive()
    }
}

/// Dependencies and shared state of the room.
pub(crate) struct AgentContext {
    pub(crate) deps: AgentDeps,
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
    pub(crate) fn new(deps: AgentDeps) -> Self {
        let slots = deps.library.settings().usize("agent.concurrency");
        AgentContext {
            live: LiveRuns::default(),
            slots: (0..=DEPTH_MAX)
                .map(|_| Arc::new(Semaphore::new(slots)))
                .collect(),
            emitter: deps.bus.emitter("agent"),
            tools: Arc::default(),
            chats: Mutex::default(),
            deps,
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
        self.deps.library.settings()
    }

    /// The models as configured now.
    pub(crate) fn models(&self) -> ModelCatalog {
        self.deps.library.models()
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
