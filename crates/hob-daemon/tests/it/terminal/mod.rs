//! Terminals in a real tmux, used through the bus and by a user at the keyboard.

mod analysis;
mod commands;
mod ending;
mod loss;
mod people;
mod restarts;
mod streaming;
mod watching;

use crate::fixture::room_context;
use hob_bus::{Bus, BusLimits, BusParts, Caller, LoggedEvent, Room, publisher};
use hob_daemon::RoomContext;
use hob_daemon::terminal::{KEYS, TerminalRoom, serve};
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreOptions};
use hob_wire::rooms::terminal::{
    Cancel, Capture, Close, Command, Create, Execute, History, Keys, List, TerminalCancelParams,
    TerminalCancelResult, TerminalCaptureParams, TerminalCloseParams, TerminalCloseResult,
    TerminalCommand, TerminalCommandParams, TerminalCreateParams, TerminalCreateResult,
    TerminalExecuteParams, TerminalExecuteResult, TerminalHistoryParams, TerminalInfo,
    TerminalKeysParams, TerminalListParams, TerminalListResult as Listed,
};
use hob_wire::{CommandId, WireError};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
pub(super) const DEADLINE: Duration = Duration::from_mins(1);

/// A home with a terminal room, which can be stopped and started again.
pub(super) struct Rig {
    home: Home,
    folder: tempfile::TempDir,
    house: Option<House>,
}

/// The state of one daemon.
struct House {
    store: Store,
    bus: Bus,
    tasks: TaskGroup,
    terminals: TerminalRoom,
}

impl Rig {
    pub(super) fn new() -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(&folder.path().join("home"));
        home.ensure().expect("makes it");
        std::fs::create_dir(folder.path().join("person")).expect("a person's home");
        let mut rig = Rig {
            home,
            folder,
            house: None,
        };
        rig.begin(false);
        rig
    }

    /// Starts a daemon.
    pub(super) fn begin(&mut self, had_database: bool) {
        let around = EnvVars::capture();
        self.begin_on(had_database, around.text("PATH").expect("a path"));
    }

    /// Starts a daemon with another `PATH`.
    pub(super) fn begin_on(&mut self, had_database: bool, path: &str) {
        let (publisher, inbox) = publisher();
        let store = Store::open(StoreOptions {
            database: self.home.database(),
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
        let env = EnvVars::from_pairs([
            ("PATH", path),
            ("HOME", &self.person().display().to_string()),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
        ]);
        let rig: std::ffi::OsString = env!("CARGO_BIN_EXE_hob-daemon-rig").into();
        let settings = Settings::defaults(Arc::new(SettingsCatalog::new(&[KEYS])));
        let spawner = Spawner::new(SpawnerParts {
            shim: vec![rig.clone()],
            env: env.clone(),
            tasks: tasks.clone(),
            sandbox_support: None,
        });
        let context = RoomContext {
            env,
            settings: watch::channel(Arc::new(settings)).1,
            ..room_context(&self.home, &store, &bus, &tasks)
        };
        let recorder = vec![rig, "record".into()];
        let terminals = serve(&context, spawner, recorder, analysis::echo).expect("is served");
        self.house = Some(House {
            store,
            bus,
            tasks,
            terminals,
        });
    }

    /// Stops the daemon. Its terminals live on.
    pub(super) async fn stop(&mut self) {
        let house = self.house.take().expect("it lives");
        house.terminals.release_waiters();
        assert!(house.bus.drain(DEADLINE).await, "the bus drains");
        assert!(house.tasks.finish(DEADLINE).await, "every task ends");
        house.store.close().await;
    }

    /// Returns the user's home folder.
    pub(super) fn person(&self) -> PathBuf {
        self.folder.path().join("person")
    }

    fn house(&self) -> &House {
        self.house.as_ref().expect("it lives")
    }

    pub(super) fn store(&self) -> &Store {
        &self.house().store
    }

    pub(super) fn figures(&self) -> Vec<hob_kit::metrics::MetricSample> {
        self.house().terminals.figures()
    }

    /// Subscribes to the events of a topic.
    pub(super) fn hear(&self, topic: &'static str) -> mpsc::Receiver<serde_json::Value> {
        let (heard, events) = mpsc::channel(4_096);
        let watcher = Room::new("watcher").subscribe(topic, move |notice| {
            let heard = heard.clone();
            async move {
                let payload = notice.payload.as_deref().expect("a payload");
                let payload = serde_json::from_slice(payload).expect("is JSON");
                let _ = heard.send(payload).await;
            }
        });
        self.house().bus.serve(watcher).expect("is served");
        events
    }

    pub(super) fn caller(&self) -> Caller {
        self.house().bus.caller("test")
    }

    pub(super) async fn create(&self, name: &str) -> TerminalCreateResult {
        let params = TerminalCreateParams {
            name: Some(name.to_owned()),
            ..TerminalCreateParams::default()
        };
        self.caller()
            .call::<Create>(&params)
            .await
            .expect("is made")
    }

    /// Runs one command in `main` to its end.
    pub(super) async fn run(&self, command: &str) -> TerminalCommand {
        let mut commands = self.execute(of(command)).await;
        assert_eq!(commands.len(), 1);
        commands.remove(0)
    }

    pub(super) async fn execute(&self, params: TerminalExecuteParams) -> Vec<TerminalCommand> {
        let executed = self.caller().call::<Execute>(&params).await;
        executed.expect("runs").commands
    }

    /// Requests a command in the background.
    pub(super) fn asks(
        &self,
        command: &str,
    ) -> oneshot::Receiver<Result<TerminalExecuteResult, WireError>> {
        let (caller, params) = (self.caller(), of(command));
        let (answer, answered) = oneshot::channel();
        // Not a task of the house, which would end it.
        TaskGroup::new().spawn("asks", async move {
            let _ = answer.send(caller.call::<Execute>(&params).await);
        });
        answered
    }

    /// Queues a command without waiting for it.
    pub(super) async fn detached(&self, command: &str) -> CommandId {
        let params = TerminalExecuteParams {
            detach: true,
            ..of(command)
        };
        self.execute(params).await.remove(0).id
    }

    pub(super) async fn command(&self, id: CommandId, wait_ms: Option<u64>) -> TerminalCommand {
        let params = TerminalCommandParams { id, wait_ms };
        self.caller()
            .call::<Command>(&params)
            .await
            .expect("is there")
    }

    /// Returns a command after it has ended.
    pub(super) async fn ended(&self, id: CommandId) -> TerminalCommand {
        let command = self.command(id, Some(60_000)).await;
        assert!(command.state.is_final(), "{command:?}");
        command
    }

    pub(super) async fn capture(&self, lines: u32) -> String {
        let params = TerminalCaptureParams {
            name: None,
            lines: Some(lines),
        };
        let captured = self.caller().call::<Capture>(&params).await;
        captured.expect("is captured").text
    }

    pub(super) async fn keys(&self, text: &str, keys: &[&str]) -> Result<(), WireError> {
        let params = TerminalKeysParams {
            name: None,
            text: Some(text.to_owned()).filter(|text| !text.is_empty()),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            run_id: None,
        };
        self.caller().call::<Keys>(&params).await.map(|_| ())
    }

    pub(super) async fn cancel(&self, id: Option<CommandId>) -> TerminalCancelResult {
        let params = TerminalCancelParams { name: None, id };
        self.caller()
            .call::<Cancel>(&params)
            .await
            .expect("is cancelled")
    }

    pub(super) async fn close(&self, name: &str) -> TerminalCloseResult {
        let params = TerminalCloseParams {
            name: Some(name.to_owned()),
            windows_only: false,
        };
        self.caller()
            .call::<Close>(&params)
            .await
            .expect("is closed")
    }

    pub(super) async fn list(&self) -> Listed {
        let listed = self.caller().call::<List>(&TerminalListParams {}).await;
        listed.expect("is listed")
    }

    /// Returns the terminal `main`, if it is alive.
    pub(super) async fn main(&self) -> Option<TerminalInfo> {
        let terminals = self.list().await.terminals;
        terminals.into_iter().find(|one| one.name == "main")
    }

    pub(super) async fn history(&self) -> Vec<TerminalCommand> {
        let (caller, params) = (self.caller(), TerminalHistoryParams::default());
        let page = caller.call::<History>(&params).await;
        page.expect("has a history").commands
    }

    /// Returns the stored events of a topic, in order.
    pub(super) async fn logged(&self, topic: &str) -> Vec<serde_json::Value> {
        let log = self.store().event_log();
        let mut after = 0;
        let mut found = Vec::new();
        loop {
            let page: Vec<LoggedEvent> = log.page(after, 500).await.expect("is read");
            let Some(last) = page.last() else {
                return found;
            };
            after = last.seq;
            let of_topic = page.iter().filter(|event| &*event.topic == topic);
            found.extend(of_topic.map(|event| {
                let payload = event.payload.as_deref().expect("a payload");
                serde_json::from_slice::<serde_json::Value>(payload).expect("is JSON")
            }));
        }
    }

    /// A tmux client of the user, on the same socket.
    pub(super) fn tmux(&self, arguments: &[&str]) -> Output {
        tmux(&self.home.tmux_socket(), arguments)
    }

    /// Types a line as the user does.
    pub(super) fn type_line(&self, line: &str) {
        let typed = self.tmux(&["send-keys", "-t", "=main:", "-l", line]);
        assert!(typed.status.success(), "{typed:?}");
        let entered = self.tmux(&["send-keys", "-t", "=main:", "Enter"]);
        assert!(entered.status.success(), "{entered:?}");
    }

    /// Ends everything. Every test calls it last.
    pub(super) async fn end(mut self) {
        for terminal in self.list().await.terminals {
            self.close(&terminal.name).await;
        }
        self.stop().await;
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // A test that fails leaves no server behind. There is none on this socket otherwise.
        tmux(&self.home.tmux_socket(), &["kill-server"]);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is a person's own tmux, not one of hob's"
)]
fn tmux(socket: &Path, arguments: &[&str]) -> Output {
    let mut tmux = Process::new("tmux");
    tmux.arg("-S").arg(socket).args(arguments);
    tmux.output().expect("tmux is installed; apt install tmux")
}

pub(super) fn of(command: &str) -> TerminalExecuteParams {
    TerminalExecuteParams {
        command: Some(command.to_owned()),
        ..TerminalExecuteParams::default()
    }
}

/// Polls until a condition holds.
pub(super) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waited = tokio::time::timeout(DEADLINE, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}
