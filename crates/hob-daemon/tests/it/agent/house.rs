//! A house with sessions, tools, permissions and the agent, on a scripted model. It can be closed
//! and opened again on the same files, as after a restart.

use crate::fixture::room_context;
use hob_bus::{Bus, BusLimits, BusParts, Caller, ReceivedEvent, Room, publisher};
use hob_daemon::RoomContext;
use hob_daemon::model_library::ModelLibrary;
use hob_daemon::service_resolver::{BusServiceResolver, ServiceUseCounts};
use hob_daemon::tool::CommandRunner;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_models::{EnvKeys, ServedModel};
use hob_sim::{Answer, Dialect, Sim, SimRequest};
use hob_store::{Store, StoreOptions};
use hob_wire::WireError;
use hob_wire::rooms::agent::{AgentRunParams, AgentRunResult, Run, RunSelector, RunView, Status};
use serde_json::Value;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// A house in a folder of its own.
pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    pub(crate) tasks: TaskGroup,
    pub(crate) context: RoomContext,
    pub(crate) settings: watch::Sender<Arc<Settings>>,
    /// What local services serve.
    pub(crate) served: watch::Sender<Arc<Vec<ServedModel>>>,
    heard: Arc<Mutex<Vec<ReceivedEvent>>>,
    folder: PathBuf,
}

/// A folder that goes with its test.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A house on one scripted model, `sim/small`.
pub(crate) fn house(folder: &Path, sim: &Sim) -> House {
    House::open(folder, &config(sim, ""))
}

/// The config file for a scripted model, with more lines of the test's own on top.
pub(crate) fn config(sim: &Sim, more: &str) -> String {
    let url = sim.url(Dialect::OpenaiChat);
    format!(
        "{more}\n[model]\ndefault = [\"sim/small\"]\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\nprice_input = \"1\"\nprice_output = \"2\"\n"
    )
}

/// A server whose model always says the same.
pub(crate) fn saying(words: &'static str) -> Sim {
    Sim::start(move |_| Answer::words(words))
}

/// A server with a brain.
pub(crate) fn thinking(brain: impl Fn(&SimRequest) -> Answer + Send + Sync + 'static) -> Sim {
    Sim::start(brain)
}

/// Results the conversation holds since the last word of a person.
pub(crate) fn results(asked: &SimRequest) -> usize {
    let since = asked.messages.iter().rev();
    let since = since.take_while(|said| said.role != hob_wire::Role::User);
    since.map(|said| said.tool_results.len()).sum()
}

pub(crate) fn task(session: &str, task: &str) -> AgentRunParams {
    AgentRunParams {
        session_key: session.to_owned(),
        task: task.to_owned(),
        ..AgentRunParams::default()
    }
}

pub(crate) fn waiting(session: &str, words: &str) -> AgentRunParams {
    AgentRunParams {
        wait: true,
        ..task(session, words)
    }
}

impl House {
    pub(crate) fn open(folder: &Path, config: &str) -> House {
        let home = Home::at(folder);
        home.ensure().expect("makes it");
        let had_database = home.database().exists();
        let (publisher, inbox) = publisher();
        let store = Store::open(StoreOptions {
            database: home.database(),
            clock: Clock::system(),
            randomness: Randomness::system(),
            publisher,
            had_database,
        })
        .expect("opens");
        let tasks = TaskGroup::new();
        let bus = Bus::new(BusParts {
            log: store.event_log(),
            inbox,
            clock: Clock::system(),
            randomness: Randomness::system(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: "0.0.0".to_owned(),
        });
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        let watcher = Room::new("watcher").subscribe("*", move |notice| {
            listener.lock().expect("is sound").push(notice);
            async {}
        });
        bus.serve(watcher).expect("is served");
        let settings = settings(config);
        let context = RoomContext {
            settings: settings.subscribe(),
            ..room_context(&home, &store, &bus, &tasks)
        };
        let house = House {
            store,
            bus,
            tasks,
            context,
            settings,
            served: watch::channel(Arc::default()).0,
            heard,
            folder: folder.to_owned(),
        };
        house.serve();
        house
    }

    fn serve(&self) {
        let context = &self.context;
        hob_daemon::session::serve(context).expect("is served");
        hob_daemon::permission::serve(context).expect("is served");
        let commands = self.commands();
        hob_daemon::tool::serve(context, Some(commands.clone())).expect("is served");
        let library = ModelLibrary {
            keys: Arc::new(EnvKeys::new(EnvVars::default(), SecretMask::new())),
            services: Arc::new(BusServiceResolver::new(
                &self.bus,
                ServiceUseCounts::default(),
            )),
            served: self.served.subscribe(),
        };
        hob_daemon::agent::serve(context, &library).expect("is served");
        hob_daemon::loops::serve(context, &library, commands).expect("is served");
    }

    /// How commands are run here: by the shim of these tests, at the best level of the machine.
    fn commands(&self) -> CommandRunner {
        let path = EnvVars::capture();
        let path = path.os("PATH").expect("a path");
        let spawner = Spawner::new(SpawnerParts {
            shim: vec![env!("CARGO_BIN_EXE_hob-daemon-rig").into()],
            env: EnvVars::from_pairs([("PATH", path)]),
            tasks: self.tasks.clone(),
            sandbox_support: None,
        });
        CommandRunner::new(spawner, self.settings.subscribe(), None)
    }

    pub(crate) fn caller(&self) -> Caller {
        self.bus.caller("test")
    }

    pub(crate) async fn run(&self, params: AgentRunParams) -> AgentRunResult {
        self.try_run(params).await.expect("is accepted")
    }

    pub(crate) async fn try_run(
        &self,
        params: AgentRunParams,
    ) -> Result<AgentRunResult, WireError> {
        let run = self.caller();
        in_time(run.call::<Run>(&params)).await
    }

    /// Runs in the background.
    pub(crate) fn begin(
        &self,
        params: AgentRunParams,
    ) -> tokio::task::JoinHandle<Result<AgentRunResult, WireError>> {
        let caller = self.caller();
        #[expect(clippy::disallowed_methods, reason = "a test has no Tasks of its own")]
        tokio::spawn(async move { caller.call::<Run>(&params).await })
    }

    pub(crate) async fn status(&self, reply: &AgentRunResult) -> RunView {
        let selector = RunSelector {
            run_id: Some(reply.run_id),
            session_key: None,
        };
        let status = self.caller().call::<Status>(&selector).await;
        status.expect("is there")
    }

    /// Every event of this topic heard so far.
    pub(crate) fn heard(&self, topic: &str) -> Vec<Value> {
        let heard = self.heard.lock().expect("is sound");
        let of_topic = heard.iter().filter(|notice| &*notice.topic == topic);
        let payload = |notice: &ReceivedEvent| {
            serde_json::from_slice(notice.payload.as_deref().unwrap_or(b"null")).expect("is JSON")
        };
        of_topic.map(payload).collect()
    }

    /// Topics of a service's events heard so far, in order.
    pub(crate) fn topics_of(&self, service: &str) -> Vec<String> {
        let heard = self.heard.lock().expect("is sound");
        let of_service = heard.iter().filter(|notice| &*notice.source == service);
        of_service.map(|notice| notice.topic.to_string()).collect()
    }

    /// Topics of the runs' logged events heard so far, in order.
    pub(crate) fn topics(&self) -> Vec<String> {
        let heard = self.heard.lock().expect("is sound");
        let topics = heard.iter().map(|notice| notice.topic.to_string());
        topics
            .filter(|topic| topic.starts_with("run.") && topic != "run.delta")
            .collect()
    }

    /// Waits until this many events of a topic were heard.
    pub(crate) async fn hears(&self, topic: &str, count: usize) -> Vec<Value> {
        until(|| self.heard(topic).len() >= count).await;
        self.heard(topic)
    }

    /// Ends the house as a crash would: nothing more is written, nobody is told.
    pub(crate) async fn crash(self) -> PathBuf {
        self.store.close().await;
        self.end().await
    }

    /// Stops the house as a daemon stops on SIGTERM, with little time for what is under way.
    pub(crate) async fn stop(self) -> PathBuf {
        self.tasks.begin_drain();
        let _ = self.bus.drain(Duration::from_millis(200)).await;
        self.end().await
    }

    async fn end(self) -> PathBuf {
        self.tasks.stop();
        // Calls that hang at a service are let go; the drivers have left already.
        let _ = self.bus.drain(Duration::from_millis(200)).await;
        assert!(self.tasks.finish(DEADLINE).await, "every task ends");
        self.store.close().await;
        self.folder
    }

    /// Stops everything; a hanging task fails the test.
    pub(crate) async fn close(self) {
        let drained = self.bus.drain(DEADLINE).await;
        assert!(drained, "the bus drains");
        self.crash().await;
    }
}

/// Settings of every room in this house.
fn settings(text: &str) -> watch::Sender<Arc<Settings>> {
    let catalog = Arc::new(SettingsCatalog::new(&[
        hob_daemon::permission::KEYS,
        hob_daemon::tool::KEYS,
        &hob_tools::setting_keys(),
        hob_daemon::agent::KEYS,
        hob_daemon::loops::KEYS,
        hob_models::KEYS,
    ]));
    let settings = Settings::load(&catalog, "test", text, &EnvVars::default()).expect("loads");
    watch::channel(Arc::new(settings)).0
}

/// Waits until something is so.
pub(crate) async fn until(mut so: impl FnMut() -> bool) {
    let wait = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    in_time(wait).await;
}

pub(crate) async fn in_time<T>(work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(DEADLINE, work).await;
    done.expect("in time")
}
