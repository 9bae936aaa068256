//! Fake loops and models. The test publishes the loops' events.

use crate::house::House;
use hob_bus::{EventLog, NewEvent, Room};
use hob_kit::randomness::Randomness;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{
    self, DEFAULT_LOOP, IterationRecord, Loop, LoopConfig, LoopConfiguredPayload, LoopDeleteResult,
    LoopEnd, LoopErrorPayload, LoopHistoryResult, LoopIterationPayload, LoopListResult as Listed,
    LoopMemory, LoopPersistentResult, LoopPhase, LoopPromptPayload, LoopResponsePayload, LoopState,
    LoopStatePayload, LoopStoppedPayload, MonitorConfigView, MonitorOutput,
};
use hob_wire::rooms::model;
use hob_wire::rooms::model::ProviderKind;
use hob_wire::{ErrorCode, EventTopic, Method, WireError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub(crate) struct Loops {
    log: Arc<dyn EventLog>,
    emitter: hob_bus::EventEmitter,
    pub(crate) known: Mutex<BTreeMap<String, Loop>>,
    pub(crate) iterations: Mutex<Vec<IterationRecord>>,
    /// The methods that changed something, as they were called.
    pub(crate) calls: Mutex<Vec<&'static str>>,
}

impl Loops {
    pub(crate) fn move_in(house: &House) -> Arc<Loops> {
        let loops = Arc::new(Loops {
            log: house.store.event_log(),
            emitter: house.bus.emitter("loops"),
            known: Mutex::default(),
            iterations: Mutex::default(),
            calls: Mutex::default(),
        });
        house.bus.serve(loops.room()).unwrap();
        house.bus.serve(models()).unwrap();
        loops
    }

    fn room(self: &Arc<Loops>) -> Room {
        let room = Room::new("loops")
            .event::<loops::LoopIteration>()
            .event::<loops::LoopMonitor>()
            .event::<loops::LoopPrompt>()
            .event::<loops::LoopResponse>()
            .event::<loops::LoopError>()
            .event::<loops::LoopConfigured>()
            .event::<loops::LoopStateChanged>()
            .event::<loops::LoopStopped>()
            .event::<loops::LoopDeleted>();
        let room = self.answer::<loops::Create>(room, |loops, params| {
            loops.note::<loops::Create>();
            let mut known = loops.known.lock().unwrap();
            if params.name.contains(' ') {
                return Err(error(ErrorCode::InvalidParams, "That is no name."));
            }
            if known.contains_key(&params.name) {
                return Err(error(ErrorCode::Conflict, "There is such a loop already."));
            }
            let mut made = blank(&params.name);
            change(&mut made.config, params.config);
            made.persistent.text = params.persistent.unwrap_or_default();
            made.working.text = params.working.unwrap_or_default();
            known.insert(params.name, made.clone());
            Ok(made)
        });
        let room = self.answer::<loops::Get>(room, |loops, params| loops.get(&params.name));
        let room = self.answer::<loops::List>(room, |loops, _| {
            let known = loops.known.lock().unwrap();
            let loops = known.values().cloned().collect();
            Ok(Listed { loops })
        });
        let room = self.answer::<loops::Update>(room, |loops, params| {
            loops.note::<loops::Update>();
            loops.alter(&params.name, |one| change(&mut one.config, params.config))
        });
        let room = self.answer::<loops::Start>(room, |loops, params| {
            loops.note::<loops::Start>();
            if loops.get(&params.name)?.state.running {
                return Err(error(ErrorCode::Conflict, "The loop runs already."));
            }
            loops.alter(&params.name, |one| one.state.running = true)
        });
        let room = self.answer::<loops::Stop>(room, |loops, params| {
            loops.note::<loops::Stop>();
            loops.alter(&params.name, |one| one.state.running = false)
        });
        let room = self.answer::<loops::Delete>(room, |loops, params| {
            loops.note::<loops::Delete>();
            loops.get(&params.name)?;
            loops.known.lock().unwrap().remove(&params.name);
            Ok(LoopDeleteResult { name: params.name })
        });
        let room = self.answer::<loops::Working>(room, |loops, params| {
            loops.note::<loops::Working>();
            let one = loops.alter(&params.name, |one| write(&mut one.working, params.text))?;
            Ok(one.working)
        });
        let room = self.answer::<loops::Persistent>(room, |loops, params| {
            loops.note::<loops::Persistent>();
            let text = params.text.unwrap_or_default();
            let one = loops.alter(&params.name, |one| write(&mut one.persistent, text))?;
            let memory = one.persistent;
            Ok(LoopPersistentResult {
                memory,
                earlier: Vec::new(),
            })
        });
        self.answer::<loops::History>(room, |loops, params| {
            loops.get(&params.name)?;
            let all = loops.iterations.lock().unwrap();
            let wanted = all
                .iter()
                .rev()
                .filter(|one| params.before.is_none_or(|before| one.iteration < before));
            // Pages are smaller than asked for, as they are when texts are long.
            let limit = params.limit.unwrap_or(50).min(30) as usize;
            let more = wanted.clone().count() > limit;
            Ok(LoopHistoryResult {
                iterations: wanted.take(limit).cloned().collect(),
                more,
            })
        })
    }

    fn answer<M: Method>(
        self: &Arc<Loops>,
        room: Room,
        work: impl Fn(&Loops, M::Params) -> Result<M::Result, WireError> + Send + Sync + 'static,
    ) -> Room {
        let loops = Arc::clone(self);
        room.method::<M, _, _>(move |_, params| {
            let done = work(&loops, params);
            async move { done }
        })
    }

    fn note<M: Method>(&self) {
        self.calls.lock().unwrap().push(M::SPEC.name);
    }

    pub(crate) fn get(&self, name: &str) -> Result<Loop, WireError> {
        let known = self.known.lock().unwrap();
        let missing = || error(ErrorCode::NotFound, "There is no such loop.");
        // The default one is there before anybody makes it.
        let unmade = || (name == DEFAULT_LOOP).then(|| blank(name));
        known.get(name).cloned().or_else(unmade).ok_or_else(missing)
    }

    fn alter(&self, name: &str, work: impl FnOnce(&mut Loop)) -> Result<Loop, WireError> {
        let mut known = self.known.lock().unwrap();
        let missing = || error(ErrorCode::NotFound, "There is no such loop.");
        if name == DEFAULT_LOOP {
            let made = || blank(name);
            known.entry(name.to_owned()).or_insert_with(made);
        }
        let one = known.get_mut(name).ok_or_else(missing)?;
        work(one);
        Ok(one.clone())
    }

    /// Logs an event, as the loops' own transactions do.
    pub(crate) async fn tell<T: EventTopic>(&self, payload: &T::Payload) -> u64 {
        let payload = serde_json::to_vec(payload).unwrap();
        let event = NewEvent {
            source: "loops".into(),
            topic: T::SPEC.topic.into(),
            session: None,
            payload: Some(payload.into()),
        };
        self.log.append(event).await.unwrap()
    }

    /// Tells a whole iteration with a monitor; answers the number of its first event.
    pub(crate) async fn iterate(&self, name: &str, iteration: u32) -> u64 {
        let (name, run_id) = (name.to_owned(), RunId(Randomness::system().uuid(0)));
        let begun = LoopIterationPayload {
            name: name.clone(),
            iteration,
            session_key: format!("loop:{name}:{iteration}"),
        };
        let first = self.tell::<loops::LoopIteration>(&begun).await;
        let prompt = LoopPromptPayload {
            name: name.clone(),
            iteration,
            run_id,
            prompt: format!("prompt {iteration}"),
        };
        self.tell::<loops::LoopPrompt>(&prompt).await;
        let response = LoopResponsePayload {
            name: name.clone(),
            iteration,
            run_id,
            response: format!("response {iteration}"),
        };
        self.tell::<loops::LoopResponse>(&response).await;
        self.tell::<loops::LoopStateChanged>(&state_of(&name, iteration))
            .await;
        first
    }

    pub(crate) fn monitored(&self, name: &str, stdout: &str) {
        let output = MonitorOutput {
            stdout: stdout.to_owned(),
            ..MonitorOutput::default()
        };
        let payload = loops::LoopMonitorPayload {
            name: name.to_owned(),
            output,
        };
        self.emitter.emit::<loops::LoopMonitor>(None, &payload);
    }

    pub(crate) async fn configured(&self, name: &str) -> u64 {
        let payload = LoopConfiguredPayload {
            name: name.to_owned(),
            config: LoopConfig::default(),
            persistent: 1,
            working: 1,
        };
        self.tell::<loops::LoopConfigured>(&payload).await
    }

    pub(crate) async fn failed(&self, name: &str, message: &str) -> u64 {
        let payload = LoopErrorPayload {
            name: name.to_owned(),
            iteration: None,
            message: message.to_owned(),
        };
        self.tell::<loops::LoopError>(&payload).await
    }

    pub(crate) async fn stopped(&self, name: &str, iteration: u32) -> u64 {
        let payload = LoopStoppedPayload {
            name: name.to_owned(),
            iteration,
            end: LoopEnd::Stopped,
            message: "It was stopped.".to_owned(),
        };
        self.tell::<loops::LoopStopped>(&payload).await
    }
}

fn state_of(name: &str, iteration: u32) -> LoopStatePayload {
    LoopStatePayload {
        name: name.to_owned(),
        running: true,
        phase: LoopPhase::Sleep,
        iteration,
        next_at: None,
        errors: 0,
        outcome: None,
        message: None,
        cost: Cost::default(),
    }
}

pub(crate) fn blank(name: &str) -> Loop {
    Loop {
        name: name.to_owned(),
        config: LoopConfig::default(),
        state: LoopState::default(),
        persistent: LoopMemory::default(),
        working: LoopMemory::default(),
        created_at: 1,
        updated_at: 2,
    }
}

fn write(memory: &mut LoopMemory, text: String) {
    memory.revision += 1;
    memory.text = text;
}

fn change(config: &mut LoopConfig, asked: loops::LoopChange) {
    if let Some(model) = asked.model {
        config.model = model;
    }
    if let Some(monitor) = asked.monitor {
        config.monitor = monitor.map(MonitorConfigView::from);
    }
    config.system = asked.system.unwrap_or(std::mem::take(&mut config.system));
    config.user = asked.user.unwrap_or(std::mem::take(&mut config.user));
    config.interval_ms = asked.interval_ms.unwrap_or(config.interval_ms);
    config.max_iterations = asked.max_iterations.unwrap_or(config.max_iterations);
    config.metadata.extend(asked.metadata);
}

fn error(code: ErrorCode, message: &str) -> WireError {
    WireError::new(code, message)
}

/// Two models of one provider, one of which has a slash in its name, and a provider that is away.
fn models() -> Room {
    Room::new("models").method::<model::List, _, _>(|_, params| async move {
        let one = |id: &str| model::ModelInfo {
            id: format!("lab/{id}"),
            provider: "lab".to_owned(),
            name: id.to_uppercase(),
            context_tokens: None,
            price: None,
        };
        let provider = |name: &str, ready| model::ProviderInfo {
            name: name.to_owned(),
            kind: ProviderKind::Openai,
            url: String::new(),
            key_env: None,
            ready,
            message: None,
            service: None,
        };
        let mut providers = vec![provider("lab", true), provider("away", false)];
        if let Some(wanted) = params.provider {
            providers.retain(|provider| provider.name == wanted);
            if providers.is_empty() {
                let message =
                    format!("No provider is called '{wanted}'. Configured are: lab, away.");
                return Err(error(ErrorCode::NotFound, &message));
            }
        }
        let listed = providers.iter().any(|it| it.name == "lab") && !params.names_only;
        Ok(model::ModelListResult {
            models: if listed {
                vec![one("small"), one("big/one")]
            } else {
                Vec::new()
            },
            providers,
            aliases: vec![model::ModelAlias {
                alias: "default".to_owned(),
                models: vec!["lab/small".to_owned()],
            }],
        })
    })
}
