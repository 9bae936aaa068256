//! A home with a store and a bus, and a watcher that keeps every event it hears.

use hob_bus::{Bus, BusLimits, BusParts, Caller, ReceivedEvent, Room, publisher};
use hob_daemon::RoomContext;
use hob_daemon::model_library::ModelLibrary;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{SettingKey, Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_models::EnvKeys;
use hob_net::{HttpClient, HttpOptions, WebClient};
use hob_store::{Store, StoreOptions};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) struct Fixture {
    pub(crate) home: Home,
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    pub(crate) tasks: TaskGroup,
    /// What the rooms of a test get. A test replaces what it must know or control.
    pub(crate) context: RoomContext,
    events: tokio::sync::Mutex<mpsc::Receiver<ReceivedEvent>>,
    _directory: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let home = Home::at(directory.path());
        home.ensure().expect("makes it");
        let (publisher, inbox) = publisher();
        let store = Store::open(StoreOptions {
            database: home.database(),
            clock: Clock::system(),
            randomness: Randomness::seeded(7),
            publisher,
            had_database: false,
        })
        .expect("opens");
        let tasks = TaskGroup::new();
        let bus = Bus::new(BusParts {
            log: store.event_log(),
            inbox,
            clock: Clock::system(),
            randomness: Randomness::seeded(8),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: "0.0.0".to_owned(),
        });
        let (heard, events) = mpsc::channel(1_024);
        let watcher = Room::new("watcher").subscribe("*", move |notice| {
            let heard = heard.clone();
            async move {
                let _ = heard.send(notice).await;
            }
        });
        bus.serve(watcher).expect("is served");
        let context = room_context(&home, &store, &bus, &tasks);
        Fixture {
            home,
            store,
            bus,
            tasks,
            context,
            events: tokio::sync::Mutex::new(events),
            _directory: directory,
        }
    }

    pub(crate) fn caller(&self) -> Caller {
        self.bus.caller("test")
    }

    /// The next event of this topic and its payload.
    pub(crate) async fn heard(&self, topic: &str) -> (ReceivedEvent, Value) {
        let mut events = self.events.lock().await;
        let wait = async {
            loop {
                let notice = events.recv().await.expect("the watcher lives");
                if &*notice.topic == topic {
                    return notice;
                }
            }
        };
        let notice = tokio::time::timeout(DEADLINE, wait).await;
        let notice = notice.unwrap_or_else(|_| panic!("no {topic} was heard"));
        let payload = notice.payload.as_deref().unwrap_or(b"null");
        let payload = serde_json::from_slice(payload).expect("is JSON");
        (notice, payload)
    }

    /// Stops everything; every test ends with it, so that a hanging task fails the test.
    pub(crate) async fn close(self) {
        let drained = self.bus.drain(DEADLINE).await;
        assert!(drained, "the bus drains");
        assert!(self.tasks.finish(DEADLINE).await, "every task ends");
        self.store.close().await;
    }
}

/// A context with the machine's clock and network, an empty environment and no settings.
pub(crate) fn room_context(
    home: &Home,
    store: &Store,
    bus: &Bus,
    tasks: &TaskGroup,
) -> RoomContext {
    let settings = Settings::defaults(Arc::new(SettingsCatalog::new(&[])));
    RoomContext {
        bus: bus.clone(),
        store: store.clone(),
        clock: Clock::system(),
        randomness: Randomness::system(),
        env: EnvVars::default(),
        home: home.clone(),
        settings: watch::channel(Arc::new(settings)).1,
        mask: SecretMask::new(),
        tasks: tasks.clone(),
        http: HttpClient::new(HttpOptions::new(Clock::system())).expect("a client"),
        web: WebClient::new(Clock::system()),
    }
}

/// Serves settings and models over this config file.
pub(crate) fn serve_models(
    context: &RoomContext,
    env: EnvVars,
    keys: &[&'static [SettingKey]],
    text: &str,
) {
    std::fs::write(context.home.config_file(), text).expect("writes");
    let catalog = Arc::new(SettingsCatalog::new(keys));
    let settings = Settings::load_home(&catalog, &context.home, &env).expect("loads");
    let (effective, settings) = watch::channel(Arc::new(settings));
    let env_keys = EnvKeys::new(env.clone(), context.mask.clone());
    let (keys, _) = hob_models::HomeKeys::open(env_keys, context.home.clone());
    let library = ModelLibrary {
        keys: Arc::new(keys.clone()),
        services: Arc::new(hob_models::NoServices),
        served: watch::channel(Arc::default()).1,
    };
    let context = RoomContext {
        env,
        settings,
        ..context.clone()
    };
    hob_daemon::config::serve(&context, effective, Box::new(|_| {})).expect("is served");
    hob_daemon::model::serve(&context, &library, keys).expect("is served");
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, WireError>) -> ErrorCode {
    result.expect_err("is refused").code
}
