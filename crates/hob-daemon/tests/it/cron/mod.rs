//! Jobs over a real bus and store, with an agent that only records its requests.

mod calls;
mod clocks;
mod grants;
mod jobs;
mod outcomes;
mod previews;
mod restarts;

use crate::fixture::Fixture;
use hob_bus::{Caller, Room};
use hob_daemon::cron::serve;
use hob_daemon::tool::CommandRunner;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_store::Store;
use hob_wire::rooms::agent::{
    Abort, AgentAbortResult, AgentRunParams, AgentRunResult, AgentStats, CallView, Cost, Run,
    RunState, RunView, Stats, Wait,
};
use hob_wire::rooms::cron::{CronAddParams, CronHistoryParams, History, JobSlot, SlotState};
use hob_wire::work::RunEndCause;
use hob_wire::{ErrorCode, RunId, WireError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Generous, because test machines are noisy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An agent whose runs end at once, or when a test ends them.
#[derive(Default)]
pub(crate) struct Agent {
    state: Mutex<AgentState>,
    changed: tokio::sync::Notify,
}

#[derive(Default)]
struct AgentState {
    runs: Vec<(RunId, AgentRunParams, Option<RunEndCause>)>,
    by_key: BTreeMap<String, RunId>,
    /// Runs answer by themselves.
    prompt: bool,
    /// Active runs wait for a person to say whether a call happened.
    doubt: bool,
    /// Active runs wait for a person to allow more money.
    paused: bool,
    /// The end and the cause of runs that end by themselves without an answer.
    ends: Option<(RunEndCause, String)>,
    /// The tool calls of each run.
    calls: Vec<CallView>,
    busy: u64,
    waiting: u64,
}

impl Agent {
    pub(crate) fn tasks(&self) -> Vec<AgentRunParams> {
        let state = self.state.lock().unwrap();
        state
            .runs
            .iter()
            .map(|(_, params, _)| params.clone())
            .collect()
    }

    /// Ends the active runs.
    pub(crate) fn end(&self, cause: RunEndCause) {
        for (_, _, ended) in &mut self.state.lock().unwrap().runs {
            ended.get_or_insert(cause);
        }
        self.changed.notify_waiters();
    }

    /// Makes active runs wait for a person, or not.
    pub(crate) fn set_doubt(&self, doubt: bool) {
        self.state.lock().unwrap().doubt = doubt;
        self.changed.notify_waiters();
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.state.lock().unwrap().paused = paused;
        self.changed.notify_waiters();
    }

    /// Makes later runs end by themselves in this way.
    pub(crate) fn answer_with(&self, cause: RunEndCause, why: &str) {
        self.state.lock().unwrap().ends = Some((cause, why.to_owned()));
    }

    /// Sets the tool calls of runs.
    pub(crate) fn set_calls(&self, calls: Vec<CallView>) {
        self.state.lock().unwrap().calls = calls;
    }

    pub(crate) fn set_waiting(&self, waiting: u64) {
        self.state.lock().unwrap().waiting = waiting;
    }

    pub(crate) fn set_busy(&self, busy: u64) {
        self.state.lock().unwrap().busy = busy;
    }

    fn accept(&self, params: AgentRunParams) -> AgentRunResult {
        let mut state = self.state.lock().unwrap();
        let key = params.idempotency_key.clone().unwrap();
        let fresh = Randomness::system().uuid(1);
        let run_id = *state.by_key.entry(key).or_insert(RunId(fresh));
        if run_id.0 == fresh {
            let ends = state.ends.as_ref().map(|(cause, _)| *cause);
            let ended = ends.or(state.prompt.then_some(RunEndCause::Answered));
            state.runs.push((run_id, params.clone(), ended));
        }
        AgentRunResult {
            run_id,
            session_key: params.session_key,
            state: RunState::Queued,
            response: None,
            success: None,
            cause: None,
            cost: None,
            model: None,
        }
    }

    fn view(&self, run: RunId) -> Result<RunView, WireError> {
        let state = self.state.lock().unwrap();
        let found = state.runs.iter().find(|(id, _, _)| *id == run);
        let gone = || WireError::new(ErrorCode::NotFound, "there is no such run");
        let (_, params, cause) = found.ok_or_else(gone)?;
        Ok(RunView {
            run_id: run,
            parent: None,
            session_key: params.session_key.clone(),
            state: match cause {
                Some(_) => RunState::Done,
                None if state.doubt => RunState::InDoubt,
                None if state.paused => RunState::Paused,
                None => RunState::Running,
            },
            running: cause.is_none(),
            task: params.task.clone(),
            model: None,
            step: 0,
            attempt: 0,
            text: format!("did {}", params.task),
            cost: Cost::default(),
            cause: *cause,
            message: state.ends.as_ref().map(|(_, why)| why.clone()),
            notes: Vec::new(),
            calls: state.calls.clone(),
            queued_at: 0,
            started_at: None,
            ended_at: None,
        })
    }

    fn room(self: &Arc<Self>) -> Room {
        let (runs, waits, aborts, stats) = (
            Arc::clone(self),
            Arc::clone(self),
            Arc::clone(self),
            Arc::clone(self),
        );
        Room::new("agent")
            .concurrency(4_096)
            .method::<Run, _, _>(move |_, params| {
                let reply = runs.accept(params);
                async move { Ok(reply) }
            })
            .method::<Wait, _, _>(move |_, params| {
                let agent = Arc::clone(&waits);
                async move {
                    loop {
                        let changed = agent.changed.notified();
                        let view = agent.view(params.run_id)?;
                        if view.state != RunState::Running {
                            return Ok(view);
                        }
                        let _ = tokio::time::timeout(Duration::from_millis(200), changed).await;
                    }
                }
            })
            .method::<Abort, _, _>(move |_, params| {
                let agent = Arc::clone(&aborts);
                async move {
                    for (id, _, ended) in &mut agent.state.lock().unwrap().runs {
                        if Some(*id) == params.run_id {
                            ended.get_or_insert(RunEndCause::Aborted);
                        }
                    }
                    agent.changed.notify_waiters();
                    Ok(AgentAbortResult { runs: Vec::new() })
                }
            })
            .method::<Stats, _, _>(move |_, _| {
                let (active, waiting) = {
                    let now = stats.state.lock().unwrap();
                    (now.busy, now.waiting)
                };
                async move {
                    Ok(AgentStats {
                        active,
                        waiting,
                        ..AgentStats::default()
                    })
                }
            })
    }
}

/// A cron room with its bus, store and agent.
pub(crate) struct House {
    pub(crate) fixture: Fixture,
    pub(crate) agent: Arc<Agent>,
    pub(crate) clock: Clock,
    pub(crate) settings: watch::Sender<Arc<Settings>>,
}

pub(crate) fn settings(text: &str) -> Arc<Settings> {
    let catalog = Arc::new(SettingsCatalog::new(&[
        hob_daemon::cron::KEYS,
        hob_daemon::permission::KEYS,
        &hob_tools::setting_keys(),
    ]));
    Arc::new(Settings::load(&catalog, "test", text, &EnvVars::default()).expect("loads"))
}

impl House {
    /// With the machine's clock and an agent that answers at once.
    pub(crate) fn new() -> House {
        let house = House::with(Clock::system(), "");
        house.agent.state.lock().unwrap().prompt = true;
        house
    }

    pub(crate) fn with(clock: Clock, text: &str) -> House {
        House::over(Fixture::new(), clock, text)
    }

    /// Starts over a store that a previous daemon left behind.
    pub(crate) async fn before(clock: Clock, prepare: impl AsyncFnOnce(&Store)) -> House {
        let fixture = Fixture::new();
        prepare(&fixture.store).await;
        House::over(fixture, clock, "")
    }

    fn over(mut fixture: Fixture, clock: Clock, text: &str) -> House {
        let settings = watch::channel(settings(text)).0;
        fixture.context.clock = clock.clone();
        fixture.context.settings = settings.subscribe();
        hob_daemon::session::serve(&fixture.context).expect("is served");
        hob_daemon::permission::serve(&fixture.context).expect("is served");
        let house = House {
            fixture,
            agent: Arc::new(Agent::default()),
            clock,
            settings,
        };
        let context = &house.fixture.context;
        serve(context, house.commands()).expect("is served");
        context.bus.serve(house.agent.room()).expect("is served");
        house
    }

    fn commands(&self) -> CommandRunner {
        let path = EnvVars::capture().os("PATH").expect("a path").to_owned();
        let spawner = Spawner::new(SpawnerParts {
            shim: vec![env!("CARGO_BIN_EXE_hob-daemon-rig").into()],
            env: EnvVars::from_pairs([("PATH", path)]),
            tasks: self.fixture.tasks.clone(),
            sandbox_support: None,
        });
        CommandRunner::new(spawner, self.settings.subscribe(), None)
    }

    pub(crate) fn caller(&self) -> Caller {
        self.fixture.caller()
    }

    /// Returns the slots, the oldest first.
    pub(crate) async fn slots(&self) -> Vec<JobSlot> {
        let params = CronHistoryParams {
            limit: Some(500),
            ..CronHistoryParams::default()
        };
        let mut page = self
            .caller()
            .call::<History>(&params)
            .await
            .expect("is read")
            .slots;
        page.reverse();
        page
    }

    /// Returns the slots once `count` of them have this state.
    pub(crate) async fn slots_when(&self, state: SlotState, count: usize) -> Vec<JobSlot> {
        let begun = Instant::now();
        loop {
            let slots = self.slots().await;
            if slots.iter().filter(|slot| slot.state == state).count() >= count {
                return slots;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "not {count} {state:?}: {slots:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(crate) fn job(name: &str, schedule: &str) -> CronAddParams {
    CronAddParams {
        name: name.to_owned(),
        schedule: schedule.to_owned(),
        task: Some(format!("task of {name}")),
        ..CronAddParams::default()
    }
}
