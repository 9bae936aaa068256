//! Which tools there are: those of the house, for ever, and those of services, as long as they
//! stay.

use hob_core::permission::fingerprint;
use hob_tools::Entry;
use hob_tools::schema::Schema;
use hob_wire::rooms::tool::{OutsideTool, Tools};
use hob_wire::work::{Effect, Tier, ToolSpec};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Names remembered of tools that went with their service.
const GONE_MAX: usize = 1_024;
/// A name counts as meant when it is at least this like what was written.
const LIKENESS_MIN: f64 = 0.7;

/// A tool that can be run.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) spec: ToolSpec,
    pub(super) fingerprint: String,
    pub(super) schema: Schema,
    pub(super) maker: Maker,
}

#[derive(Debug)]
pub(super) enum Maker {
    House(Entry),
    Service(ServiceTool),
}

/// A service that answers for a tool.
#[derive(Clone, Debug)]
pub(super) struct ServiceTool {
    pub(super) service: String,
    /// The connection that offered it.
    pub(super) connection: u64,
    /// The tier it declares.
    pub(super) declared_tier: Tier,
    pub(super) declared_effect: Effect,
    /// The hash of all it declares.
    pub(super) declared_fingerprint: String,
    /// Who set the tier that counts; nobody, and then it is `external`.
    pub(super) set_by: Option<String>,
    /// Whether it wants to be told when a call must stop.
    pub(super) can_cancel: bool,
    pub(super) can_probe: bool,
}

impl ServiceTool {
    /// The tool for people.
    pub(super) fn shown(&self, spec: &ToolSpec) -> OutsideTool {
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

impl Tool {
    /// A tool whose schema is known to be sound.
    pub(super) fn new(spec: ToolSpec, schema: Schema, maker: Maker) -> Self {
        Tool {
            fingerprint: fingerprint(&spec),
            schema,
            spec,
            maker,
        }
    }
}

pub(super) struct Shelf {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
    /// Counts changes, for those who wait for a tool.
    changes: watch::Sender<u64>,
    /// Tells this shelf from that of another daemon.
    born: String,
}

#[derive(Default)]
struct State {
    tools: BTreeMap<String, Arc<Tool>>,
    /// Tools that went, and when.
    gone: VecDeque<(String, u64)>,
}

impl Shelf {
    pub(super) fn new(entries: &[Entry], born: String) -> Self {
        let mut tools = BTreeMap::new();
        for entry in entries {
            let spec = (entry.spec)();
            match Schema::of_arguments(&spec.parameters) {
                Ok(schema) => {
                    let tool = Tool::new(spec, schema, Maker::House(*entry));
                    tools.insert(tool.spec.name.clone(), Arc::new(tool));
                }
                // A test of the shelf keeps this from happening.
                Err(unfit) => tracing::error!(tool = spec.name, "a tool is unsound: {unfit}"),
            }
        }
        let (changes, _) = watch::channel(0);
        Shelf {
            state: Mutex::new(State {
                tools,
                gone: VecDeque::new(),
            }),
            changes,
            born,
        }
    }

    /// The tools there are; none of them for a caller who knows this revision of the list.
    pub(super) fn list(&self, known: Option<&str>) -> Tools {
        let state = self.state();
        // A number alone would begin anew with each daemon.
        let revision = format!("{}-{}", self.born, *self.changes.borrow());
        if known == Some(&revision) {
            return Tools {
                tools: Vec::new(),
                outside: Vec::new(),
                revision,
            };
        }
        let tools = || state.tools.values();
        let outside = tools().filter_map(|tool| match &tool.maker {
            Maker::Service(service) => Some(service.shown(&tool.spec)),
            Maker::House(_) => None,
        });
        Tools {
            tools: tools().map(|tool| tool.spec.clone()).collect(),
            outside: outside.collect(),
            revision,
        }
    }

    /// The tool of this name or alias.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Tool>> {
        let state = self.state();
        let aliased = || {
            let mut tools = state.tools.values();
            tools.find(|tool| tool.spec.aliases.iter().any(|alias| alias == name))
        };
        state.tools.get(name).or_else(aliased).cloned()
    }

    /// Heard at each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// When a tool of this name went away.
    pub(super) fn gone_at_ms(&self, name: &str) -> Option<u64> {
        let state = self.state();
        let mut gone = state.gone.iter().rev();
        gone.find(|(gone, _)| gone == name).map(|(_, at_ms)| *at_ms)
    }

    /// The name most like `name`, if one is near enough to be what was meant.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let state = self.state();
        let likeness = |known: &String| (strsim::jaro_winkler(known, name), known.clone());
        let best = state.tools.keys().map(likeness);
        best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, known)| known)
    }

    /// Puts the tools of a service in the place of those it had; answers the name that is taken by
    /// somebody else, if one is.
    pub(super) fn put(&self, service: &str, tools: Vec<Tool>, max: usize) -> Result<(), Taken> {
        let mut state = self.state();
        let others = state.tools.values().filter(|tool| !tool.is_of(service));
        let others: Vec<&Arc<Tool>> = others.collect();
        if others.len() + tools.len() > max {
            return Err(Taken::Full);
        }
        for tool in &tools {
            let taken = tool.names().find(|name| {
                let holds = |other: &&Arc<Tool>| other.names().any(|held| held == *name);
                others.iter().any(holds)
            });
            if let Some(name) = taken {
                return Err(Taken::Name(name.to_owned()));
            }
        }
        state.tools.retain(|_, tool| !tool.is_of(service));
        for tool in tools {
            state.gone.retain(|(gone, _)| *gone != tool.spec.name);
            state.tools.insert(tool.spec.name.clone(), Arc::new(tool));
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Puts a tool in the place of `former`, if that is still there.
    pub(super) fn replace(&self, former: &Arc<Tool>, tool: Tool) -> bool {
        let mut state = self.state();
        let held = state.tools.get_mut(&former.spec.name);
        let Some(held) = held.filter(|held| Arc::ptr_eq(held, former)) else {
            return false;
        };
        *held = Arc::new(tool);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        true
    }

    /// Takes away what a service offered over a connection other than `connection`.
    pub(super) fn take_away(&self, service: &str, connection: Option<u64>, now_ms: u64) {
        let mut state = self.state();
        let State { tools, gone } = &mut *state;
        tools.retain(|name, tool| {
            let left = match &tool.maker {
                Maker::Service(of) => of.service == service && Some(of.connection) != connection,
                Maker::House(_) => false,
            };
            if left {
                gone.push_back((name.clone(), now_ms));
            }
            !left
        });
        while gone.len() > GONE_MAX {
            gone.pop_front();
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why tools cannot be put on the shelf.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Full,
    Name(String),
}

impl Tool {
    fn is_of(&self, service: &str) -> bool {
        matches!(&self.maker, Maker::Service(of) if of.service == service)
    }

    /// Its name and its aliases.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.spec.aliases.iter().map(String::as_str);
        std::iter::once(self.spec.name.as_str()).chain(aliases)
    }
}
