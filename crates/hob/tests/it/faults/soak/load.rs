//! The load of a soak: appends, runs with tools, jobs, commands, terminals, readers, subscribers
//! that come and go, and clients that are killed. Each is a thread that goes on until it is told to
//! stop; what it does next comes from the trial's seed.

use crate::faults::ledger::ClientRecord;
use crate::faults::load::idempotency_key;
use crate::faults::mind::house::House;
use crate::faults::peer::Peer;
use crate::faults::process::Spoken;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use hob_kit::randomness::Randomness;
use serde_json::json;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Appenders, and the sessions each goes round.
const APPENDERS: u64 = 2;
const SESSIONS: u64 = 8;
/// Runners; each has one session for so many runs and then another.
const RUNNERS: u64 = 3;
const RUNS_OF_SESSION: u64 = 12;
/// Sessions of a runner that stay; the one before them is deleted.
const SESSIONS_KEPT: u64 = 20;
/// Jobs that come due every second.
const JOBS: u64 = 2;
/// Runs whose end is looked up afterwards.
const RUNS_REMEMBERED: usize = 500;

/// What was done, and what was promised.
#[derive(Default)]
pub(super) struct Done {
    pub(super) records: Vec<ClientRecord>,
    /// The last acknowledged runs.
    pub(super) runs: Vec<String>,
    counts: Arc<Counts>,
}

/// How often each thing was done.
#[derive(Default)]
struct Counts {
    appends: AtomicU64,
    runs: AtomicU64,
    subscribers: AtomicU64,
    killed_clients: AtomicU64,
    reads: AtomicU64,
    commands: AtomicU64,
    terminal_commands: AtomicU64,
    jobs_changed: AtomicU64,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let all = [
            ("appends", &counts.appends),
            ("runs", &counts.runs),
            ("subscribers", &counts.subscribers),
            ("killed clients", &counts.killed_clients),
            ("reads", &counts.reads),
            ("commands", &counts.commands),
            ("terminal commands", &counts.terminal_commands),
            ("job changes", &counts.jobs_changed),
        ];
        let words = all.map(|(name, count)| format!("{} {name}", count.load(Ordering::Relaxed)));
        write!(f, "{}", words.join(", "))
    }
}

/// What every actor has.
#[derive(Clone)]
struct Stage {
    socket: PathBuf,
    token: String,
    /// What marks the processes of commands.
    mark: String,
    workspace: PathBuf,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
}

impl Stage {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn peer(&self) -> Peer {
        Peer::authenticated(&self.socket, &self.token).expect("the daemon takes its owner's token")
    }
}

/// The threads at work.
pub(super) struct Actors {
    stage: Stage,
    appenders: Vec<JoinHandle<Vec<ClientRecord>>>,
    runners: Vec<JoinHandle<Vec<String>>>,
    others: Vec<JoinHandle<()>>,
}

impl Actors {
    pub(super) fn start(house: &House, trial: &Trial, mark: &str) -> Actors {
        let rig = &house.rig;
        let workspace = rig.scratch().join("work");
        std::fs::create_dir_all(&workspace).expect("a folder");
        let stage = Stage {
            socket: rig.socket().to_owned(),
            token: rig.token(),
            mark: mark.to_owned(),
            workspace,
            counts: Arc::default(),
            stop: Arc::default(),
        };
        let appenders = (0..APPENDERS).map(|number| {
            let stage = stage.clone();
            std::thread::spawn(move || append(&stage, number))
        });
        let runners = (0..RUNNERS).map(|number| {
            let (stage, randomness) = (stage.clone(), randomness(trial));
            std::thread::spawn(move || run(&stage, number, &randomness))
        });
        let mut actors = Actors {
            appenders: appenders.collect(),
            runners: runners.collect(),
            others: Vec::new(),
            stage,
        };
        actors.begin(trial, subscribe);
        actors.begin(trial, subscribe);
        actors.begin(trial, read);
        actors.begin(trial, change_jobs);
        actors.begin(trial, run_commands);
        if tmux_is_here() {
            actors.begin(trial, use_terminals);
        }
        actors.begin_killing(rig, trial);
        actors
    }

    fn begin(&mut self, trial: &Trial, act: fn(&Stage, &Randomness)) {
        let (stage, randomness) = (self.stage.clone(), randomness(trial));
        let thread = std::thread::spawn(move || act(&stage, &randomness));
        self.others.push(thread);
    }

    /// Clients are processes of their own, so that they can be killed.
    fn begin_killing(&mut self, rig: &Rig, trial: &Trial) {
        let (stage, randomness) = (self.stage.clone(), randomness(trial));
        let starter = rig.starter();
        let thread = std::thread::spawn(move || {
            while stage.goes_on() {
                let arguments: &[&str] = match randomness.below(3) {
                    0 => &["logs", "--follow"],
                    1 => &["ask", "Use look, and say it at length."],
                    _ => &["session", "list"],
                };
                let client = Spoken::start(starter().args(arguments)).expect("a client");
                pause(200 + randomness.below(600));
                drop(client);
                count(&stage.counts.killed_clients);
            }
        });
        self.others.push(thread);
    }

    /// Lets every thread come to its end.
    pub(super) fn stop(self) -> Done {
        self.stage.stop.store(true, Ordering::Relaxed);
        let mut done = Done {
            counts: Arc::clone(&self.stage.counts),
            ..Done::default()
        };
        for appender in self.appenders {
            done.records.extend(appender.join().expect("an appender"));
        }
        for runner in self.runners {
            done.runs.extend(runner.join().expect("a runner"));
        }
        for other in self.others {
            other.join().expect("every actor");
        }
        done
    }
}

/// Adds messages to some sessions in turn.
fn append(stage: &Stage, number: u64) -> Vec<ClientRecord> {
    let mut peer = stage.peer();
    let key = |session: u64| format!("soak:append:{number}:{session}");
    let mut records: Vec<ClientRecord> = (0..SESSIONS)
        .map(|session| ClientRecord::new(&key(session)))
        .collect();
    for record in &records {
        peer.must("session.create", &json!({ "sessionKey": record.session }));
    }
    for at in 0_u64.. {
        if !stage.goes_on() {
            break;
        }
        let record = &mut records[usize::try_from(at % SESSIONS).expect("fits")];
        let text = format!("appender {number} message {at} {}", "word ".repeat(40));
        let params = json!({
            "sessionKey": record.session, "content": text,
            "idempotencyKey": idempotency_key(&text),
        });
        let sent = peer.must("session.send", &params);
        record.acknowledged(&text, &sent);
        count(&stage.counts.appends);
        pause(15);
    }
    records
}

/// Runs tasks, most of them with a tool, on sessions that come and go.
fn run(stage: &Stage, number: u64, randomness: &Randomness) -> Vec<String> {
    let mut peer = stage.peer();
    let mut runs = Vec::new();
    for at in 0_u64.. {
        if !stage.goes_on() {
            break;
        }
        let session = at / RUNS_OF_SESSION;
        let key = |session: u64| format!("soak:run:{number}:{session}");
        let task = match randomness.below(4) {
            0 => format!("Say something, {number} {at}."),
            1 => format!("Use post for {number} {at}."),
            _ => format!("Use look for {number} {at}."),
        };
        let params = json!({ "sessionKey": key(session), "task": task, "wait": true });
        let reply = peer.must("agent.run", &params);
        runs.push(reply["runId"].as_str().expect("an id").to_owned());
        count(&stage.counts.runs);
        if runs.len() > RUNS_REMEMBERED {
            runs.remove(0);
        }
        if at % RUNS_OF_SESSION == 0 && session >= SESSIONS_KEPT {
            let gone = json!({ "sessionKey": key(session - SESSIONS_KEPT) });
            peer.must("session.delete", &gone);
        }
        pause(10 + randomness.below(30));
    }
    // Runs of deleted sessions are gone with them; only the last are sure to be there.
    let recent = usize::try_from(RUNS_OF_SESSION).expect("fits");
    let from = runs.len().saturating_sub(recent);
    runs.split_off(from)
}

/// Subscribes, hears a little, and leaves: sometimes with events on the way.
fn subscribe(stage: &Stage, randomness: &Randomness) {
    while stage.goes_on() {
        let mut peer = stage.peer();
        let mut params = json!({ "events": ["*"] });
        if randomness.below(3) == 0 {
            params["since"] = 0.into();
        }
        peer.must("gateway.subscribe", &params);
        for _ in 0..randomness.below(200) {
            if !stage.goes_on() || peer.frame().is_err() {
                break;
            }
        }
        count(&stage.counts.subscribers);
        pause(randomness.below(100));
    }
}

/// Reads what lists and pages there are.
fn read(stage: &Stage, randomness: &Randomness) {
    let mut peer = stage.peer();
    while stage.goes_on() {
        let session = format!("soak:append:0:{}", randomness.below(SESSIONS));
        let (method, params) = match randomness.below(5) {
            0 => ("session.list", json!({})),
            1 => ("session.history", json!({ "sessionKey": session })),
            2 => ("agent.list", json!({})),
            3 => ("cron.history", json!({})),
            _ => ("daemon.status", json!({})),
        };
        // A session of the appenders may not be there yet.
        let _ = peer.call(method, &params).expect("an answer");
        count(&stage.counts.reads);
        pause(20);
    }
}

/// Keeps some jobs that come due every second, and changes one of them.
fn change_jobs(stage: &Stage, randomness: &Randomness) {
    let mut peer = stage.peer();
    let job = |name: String| json!({ "name": name, "schedule": "every 1s", "task": "Use look." });
    for number in 0..JOBS {
        peer.must("cron.add", &job(format!("soak-{number}")));
    }
    while stage.goes_on() {
        peer.must("cron.add", &job("soak-changing".to_owned()));
        pause(500 + randomness.below(1_500));
        peer.must("cron.remove", &json!({ "id": "soak-changing" }));
        count(&stage.counts.jobs_changed);
    }
    for number in 0..JOBS {
        peer.must("cron.remove", &json!({ "id": format!("soak-{number}") }));
    }
}

/// Runs commands that leave processes behind; the shim ends those.
fn run_commands(stage: &Stage, randomness: &Randomness) {
    let mut peer = stage.peer();
    while stage.goes_on() {
        let command = format!("sleep {} & echo {}", stage.mark, randomness.u64());
        let params = json!({
            "name": "exec", "args": { "command": command },
            "context": { "workspace": stage.workspace },
        });
        let answer = peer.must("tool.execute", &params);
        assert_ne!(answer["isError"], true, "{answer}");
        count(&stage.counts.commands);
        pause(200 + randomness.below(300));
    }
}

/// Runs commands in a terminal, and another terminal now and then.
fn use_terminals(stage: &Stage, randomness: &Randomness) {
    let mut peer = stage.peer();
    for at in 0_u64.. {
        if !stage.goes_on() {
            break;
        }
        let terminal = if at % 20 == 19 { "passing" } else { "main" };
        let command = json!({
            "name": terminal, "command": format!("echo {}", randomness.u64()),
        });
        // A terminal that is being closed takes nothing; only the daemon's end would be an error.
        let _ = peer.call("terminal.execute", &command).expect("an answer");
        if terminal == "passing" {
            let closed = peer.call("terminal.close", &json!({ "name": terminal }));
            let _ = closed.expect("an answer");
        }
        count(&stage.counts.terminal_commands);
        pause(100 + randomness.below(200));
    }
}

/// Ends the terminals, which would outlive the daemon.
pub(super) fn end_terminals(rig: &Rig) {
    if tmux_is_here() {
        tmux(&rig.home().join("run/tmux.sock"), &["kill-server"]);
    }
}

fn tmux(socket: &Path, arguments: &[&str]) {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(arguments);
    let quiet = command.stdin(Stdio::null()).stderr(Stdio::null());
    // A server that never started cannot be ended.
    let _ = quiet.env_remove("TMUX").status();
}

fn tmux_is_here() -> bool {
    let mut command = Command::new("tmux");
    let quiet = command.arg("-V").stdin(Stdio::null()).stdout(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The randomness of an actor's own.
fn randomness(trial: &Trial) -> Randomness {
    Randomness::seeded(trial.randomness.u64())
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The pace of the load.
fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
