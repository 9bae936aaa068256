//! The registry of tools: built-in ones permanently, those of services while they are connected.

use hob_core::permission::tool_fingerprint;
use hob_tools::ToolEntry;
use hob_tools::schema::Schema;
use hob_wire::rooms::tool::{OutsideTool, ToolListResult};
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Most names kept of tools whose service disconnected.
const DEPARTED_MAX: usize = 1_024;
/// Smallest similarity for a suggestion of another name.
const SIMILARITY_MIN: f64 = 0.7;

/// A tool that can be run.
#[derive(Debug)]
pub(super) struct RegisteredTool {
    pub(super) spec: ToolSpec,
    pub(super) fingerprint: String,
    pub(super) schema: Schema,
    pub(super) origin: ToolOrigin,
}

#[derive(Debug)]
pub(super) enum ToolOrigin {
    Builtin(ToolEntry),
    Service(ServiceTool),
}

/// The service behind a tool, and what it declares.
#[derive(Clone, Debug)]
pub(super) struct ServiceTool {
    pub(super) service: String,
    /// The connection that offered it.
    pub(super) connection: u64,
    /// The declared tier.
    pub(super) declared_tier: Tier,
    pub(super) declared_effect: Idempotency,
    /// Hash of the whole declaration.
    pub(super) declared_fingerprint: String,
    /// The admin who set the tier in force; without one the tier is `external`.
    pub(super) set_by: Option<String>,
    /// True if the service can cancel a call.
    pub(super) can_cancel: bool,
    pub(super) can_probe: bool,
}

impl ServiceTool {
    /// The tool as shown to people.
    pub(super) fn outside_view(&self, spec: &ToolSpec) -> OutsideTool {
        OutsideTool {
            name: spec.name.clone(),
            service: self.service.clone(),
            declared_tier: self.declared_tier,
            declared_effect: self.declared_effect,
            tier: spec.tier,
            set_by: self.set_by.clone(),
        }
    }
}

impl RegisteredTool {
    /// Creates a tool with a compiled schema.
    pub(super) fn new(spec: ToolSpec, schema: Schema, origin: ToolOrigin) -> Self {
        RegisteredTool {
            fingerprint: tool_fingerprint(&spec),
            schema,
            spec,
            origin,
        }
    }
}

pub(super) struct ToolRegistry {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<RegistryState>,
    /// Counts changes, for callers that wait for a tool.
    changes: watch::Sender<u64>,
    /// Distinguishes this registry from that of another daemon process.
    instance: String,
}

#[derive(Default)]
struct RegistryState {
    tools: BTreeMap<String, Arc<RegisteredTool>>,
    /// Tools that disappeared, with the time.
    departed: VecDeque<(String, u64)>,
}

impl ToolRegistry {
    pub(super) fn new(entries: &[ToolEntry], instance: String) -> Self {
        let mut tools = BTreeMap::new();
        for entry in entries {
            let spec = (entry.spec)();
            match Schema::of_arguments(&spec.parameters) {
                Ok(schema) => {
                    let tool = RegisteredTool::new(spec, schema, ToolOrigin::Builtin(*entry));
                    tools.insert(tool.spec.name.clone(), Arc::new(tool));
                }
                // A test of the registry covers every built-in schema.
                Err(mismatch) => tracing::error!(tool = spec.name, "a tool is unsound: {mismatch}"),
            }
        }
        let (changes, _) = watch::channel(0);
        ToolRegistry {
            state: Mutex::new(RegistryState {
                tools,
                departed: VecDeque::new(),
            }),
            changes,
            instance,
        }
    }

    /// All tools, or none for a caller that knows this revision of the list.
    pub(super) fn list(&self, known: Option<&str>) -> ToolListResult {
        let state = self.state();
        // The counter starts at zero in each process, so the instance is part of the revision.
        let revision = format!("{}-{}", self.instance, *self.changes.borrow());
        if known == Some(&revision) {
            return ToolListResult {
                tools: Vec::new(),
                outside: Vec::new(),
                revision,
            };
        }
        let tools = || state.tools.values();
        let outside = tools().filter_map(|tool| match &tool.origin {
            ToolOrigin::Service(service) => Some(service.outside_view(&tool.spec)),
            ToolOrigin::Builtin(_) => None,
        });
        ToolListResult {
            tools: tools().map(|tool| tool.spec.clone()).collect(),
            outside: outside.collect(),
            revision,
        }
    }

    /// The tool of this name or alias.
    pub(super) fn find(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let state = self.state();
        let aliased = || {
            let mut tools = state.tools.values();
            tools.find(|tool| tool.spec.aliases.iter().any(|alias| alias == name))
        };
        state.tools.get(name).or_else(aliased).cloned()
    }

    /// Notified at each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The time when a tool of this name disappeared.
    pub(super) fn departed_at_ms(&self, name: &str) -> Option<u64> {
        let state = self.state();
        let mut departed = state.departed.iter().rev();
        departed
            .find(|(departed, _)| departed == name)
            .map(|(_, at_ms)| *at_ms)
    }

    /// The registered name most similar to `name`, if one is similar enough.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let state = self.state();
        let similarity = |known: &String| (strsim::jaro_winkler(known, name), known.clone());
        let best = state.tools.keys().map(similarity);
        best.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, known)| known)
    }

    /// Replaces the tools of a service. Fails if another tool has one of the names.
    pub(super) fn replace_service_tools(
        &self,
        service: &str,
        tools: Vec<RegisteredTool>,
        max: usize,
    ) -> Result<(), RegistryError> {
        let mut state = self.state();
        let others = state
            .tools
            .values()
            .filter(|tool| !tool.is_from_service(service));
        let others: Vec<&Arc<RegisteredTool>> = others.collect();
        if others.len() + tools.len() > max {
            return Err(RegistryError::Full);
        }
        for tool in &tools {
            let taken = tool.names().find(|name| {
                let holds = |other: &&Arc<RegisteredTool>| other.names().any(|held| held == *name);
                others.iter().any(holds)
            });
            if let Some(name) = taken {
                return Err(RegistryError::NameTaken(name.to_owned()));
            }
        }
        // All checks come before the first change, so that a refused offer changes nothing.
        state.tools.retain(|_, tool| !tool.is_from_service(service));
        for tool in tools {
            state
                .departed
                .retain(|(departed, _)| *departed != tool.spec.name);
            state.tools.insert(tool.spec.name.clone(), Arc::new(tool));
        }
        // Waiters look the tool up as soon as they wake, so the lock is released first.
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Replaces `former` if it is still registered.
    pub(super) fn replace(&self, former: &Arc<RegisteredTool>, tool: RegisteredTool) -> bool {
        let mut state = self.state();
        let held = state.tools.get_mut(&former.spec.name);
        // Compared by pointer: a tool that was offered again in the meantime is a different one.
        let Some(held) = held.filter(|held| Arc::ptr_eq(held, former)) else {
            return false;
        };
        *held = Arc::new(tool);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// Removes the tools that a service offered over any connection other than `connection`.
    pub(super) fn remove_service_tools(&self, service: &str, connection: Option<u64>, now_ms: u64) {
        let mut state = self.state();
        let RegistryState { tools, departed } = &mut *state;
        tools.retain(|name, tool| {
            // A service that reconnected may have offered its tools over the new connection
            // already.
            let left = match &tool.origin {
                ToolOrigin::Service(of) => {
                    of.service == service && Some(of.connection) != connection
                }
                ToolOrigin::Builtin(_) => false,
            };
            if left {
                departed.push_back((name.clone(), now_ms));
            }
            !left
        });
        // Oldest first: calls wait only for a tool that disappeared recently.
        while departed.len() > DEPARTED_MAX {
            departed.pop_front();
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Errors of registering tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RegistryError {
    Full,
    NameTaken(String),
}

impl RegisteredTool {
    fn is_from_service(&self, service: &str) -> bool {
        matches!(&self.origin, ToolOrigin::Service(of) if of.service == service)
    }

    /// Its name and aliases.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.spec.aliases.iter().map(String::as_str);
        std::iter::once(self.spec.name.as_str()).chain(aliases)
    }
}
