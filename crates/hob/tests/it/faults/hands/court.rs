//! A model that does what it is told, a person who is asked, and a workspace between them. The
//! test is the person: it hears each question and says what it says.

use super::tools::without_bubblewrap;
use crate::faults::mind::house::configure;
use crate::faults::peer::Peer;
use crate::faults::rig::{PATIENCE, Rig};
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a model says when it has done all it was told.
pub(super) const DONE: &str = "That is all.";

pub(super) struct Court {
    pub(super) rig: Rig,
    pub(super) workspace: PathBuf,
    /// The person's own home, outside the workspace.
    pub(super) person: PathBuf,
    /// Hears questions and ends of runs.
    ears: Peer,
    /// Asks and answers.
    pub(super) hand: Peer,
    runs: u64,
    /// A folder of programs, removed with the court.
    programs: Option<tempfile::TempDir>,
}

/// How a run ended, and what a person was asked on the way.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) view: Value,
    pub(super) questions: Vec<Value>,
}

impl Court {
    /// A daemon with this model and these settings. The person's home is a folder of the test's.
    pub(super) fn open(sim: &Sim, settings: &str) -> Court {
        Court::open_with(sim, settings, &[])
    }

    /// The same with these variables in the daemon's environment.
    pub(super) fn open_with(sim: &Sim, settings: &str, env: &[(&str, &str)]) -> Court {
        let mut rig = Rig::new();
        for (name, value) in env {
            rig.env(name, value);
        }
        configure(&rig, sim, settings);
        let person = rig.scratch().join("person");
        let workspace = rig.scratch().join("work");
        for folder in [&person, &workspace] {
            fs::create_dir_all(folder).expect("a folder");
        }
        rig.env("HOME", &person.display().to_string());
        rig.start();
        let mut ears = rig.peer();
        let topics = ["permission.requested", "run.completed"];
        ears.must("gateway.subscribe", &json!({ "events": topics }));
        let hand = rig.peer();
        Court {
            rig,
            workspace,
            person,
            ears,
            hand,
            runs: 0,
            programs: None,
        }
    }

    /// The same where commands run at this level of the sandbox.
    pub(super) fn open_at(sim: &Sim, level: &str) -> Court {
        if level != "landlock" {
            return Court::open(sim, "");
        }
        // Not in /tmp, of which every command has its own.
        let programs = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let path = without_bubblewrap(programs.path());
        let mut court = Court::open_with(sim, "", &[("PATH", &path)]);
        court.programs = Some(programs);
        court
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.workspace.join(path);
        let folder = path.parent().expect("a folder");
        fs::create_dir_all(folder).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace.join(path)).ok()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.workspace.join(path)).is_ok()
    }

    /// Lets the model make these calls, one after the other. `judge` says yes or no to each
    /// question, or nothing when it answered in its own way.
    pub(super) fn run(
        &mut self,
        more: &Value,
        calls: &[(&str, Value)],
        judge: impl FnMut(&mut Peer, &Value) -> Option<bool>,
    ) -> Ran {
        self.task(more, &json!(calls).to_string(), judge)
    }

    /// Gives the model a task in words.
    pub(super) fn task(
        &mut self,
        more: &Value,
        task: &str,
        mut judge: impl FnMut(&mut Peer, &Value) -> Option<bool>,
    ) -> Ran {
        let run = self.begin(more, task);
        let mut questions = Vec::new();
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "the run does not end");
            let frame = self.ears.frame().expect("the daemon speaks");
            let payload = &frame["payload"];
            if payload["runId"] != run.as_str() {
                continue;
            }
            if frame["event"] == "run.completed" {
                let view = self.hand.must("agent.status", &json!({ "runId": run }));
                return Ran { view, questions };
            }
            if let Some(yes) = judge(&mut self.hand, payload) {
                answer(&mut self.hand, payload, yes);
            }
            questions.push(payload.clone());
        }
    }

    /// Begins a run in a session of its own, unless `more` names one.
    pub(super) fn begin(&mut self, more: &Value, task: &str) -> String {
        self.runs += 1;
        let mut params = json!({
            "sessionKey": format!("court-{}", self.runs),
            "task": task, "workspace": self.workspace,
        });
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        let begun = self.hand.must("agent.run", &params);
        begun["runId"].as_str().expect("an id").to_owned()
    }

    /// Waits for the end of a run.
    pub(super) fn ended(&mut self, run: &str) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "the run does not end");
            let frame = self.ears.frame().expect("the daemon speaks");
            if frame["event"] == "run.completed" && frame["payload"]["runId"] == run {
                return self.hand.must("agent.status", &json!({ "runId": run }));
            }
        }
    }

    /// The next question of a run.
    pub(super) fn question(&mut self, run: &str) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "nobody is asked");
            let frame = self.ears.frame().expect("the daemon speaks");
            if frame["payload"]["runId"] != run {
                continue;
            }
            if frame["event"] == "permission.requested" {
                return frame["payload"].clone();
            }
            assert_ne!(frame["event"], "run.completed", "nobody was asked: {frame}");
        }
    }

    /// Where a call of the test's own is made, as if by a run.
    pub(super) fn context(&mut self, workspace: &Path) -> Value {
        self.runs += 1;
        let run = format!("00000000-0000-7000-8000-{:012}", self.runs);
        json!({
            "sessionKey": "court", "runId": run, "callId": "c1",
            "key": format!("{run}:c1"), "workspace": workspace,
        })
    }

    /// Asks for a call as a run does, with a person who says yes; the ticket.
    pub(super) fn ticket(&mut self, name: &str, args: &Value, context: &Value) -> String {
        let tool = self.hand.must("tool.describe", &json!({ "name": name }));
        let mut other = self.rig.peer();
        let ask = json!({ "tool": tool, "args": args, "context": context });
        let request = other.send("permission.ask", &ask).expect("a request");
        let question = self.question(context["runId"].as_str().expect("an id"));
        answer(&mut self.hand, &question, true);
        loop {
            let frame = other.frame().expect("an answer");
            if frame["id"] == request.as_str() {
                let ticket = &frame["payload"]["ticket"];
                return ticket.as_str().expect("a ticket").to_owned();
            }
        }
    }
}

/// Says yes or no to exactly what was shown.
pub(super) fn answer(peer: &mut Peer, question: &Value, yes: bool) {
    let decision = if yes { "allow" } else { "deny" };
    let said = json!({ "id": question["id"], "decision": decision, "digest": question["digest"] });
    peer.must("permission.answer", &said);
}

/// A brain that makes the calls its task lists, in their order, whatever comes of them.
pub(super) fn obedient(asked: &SimRequest) -> Answer {
    let calls: Vec<(String, Value)> = serde_json::from_str(asked.last_user()).unwrap_or_default();
    match calls.into_iter().nth(asked.results_of_task().len()) {
        Some((name, args)) => Answer::asks(&name, args),
        None => Answer::words(DONE),
    }
}
