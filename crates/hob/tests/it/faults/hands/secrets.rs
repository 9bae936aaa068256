//! Fault 80: hob's own secrets where a model reads: in prompt files and through links of that
//! name, in what files, commands, processes and outside tools say, and in calls of hooks. Measured
//! by the bytes that the model's server received, and by everything hob wrote on disk.

use super::court::{Court, obedient};
use super::outsider::Outsider;
use crate::faults::http;
use crate::faults::peer::Peer;
use crate::faults::rig::eventually;
use crate::faults::trial::Trial;
use hob_sim::Sim;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread::JoinHandle;

/// The key of a provider that hob knows of itself.
const KEY: &str = "canary-80-a-key-of-a-provider";
/// The key of a provider that a person configured and that is never asked.
const SPARE: &str = "canary-80-a-spare-key";
const SETTINGS: &str =
    "[models.spare]\nkind = \"openai\"\nurl = \"http://127.0.0.1:9\"\nkey_env = \"SPARE_KEY\"\n";

#[test]
fn f80_secrets_in_prompts_and_tool_results() {
    let trial = Trial::begin(80);
    let mut den = Den::open();
    let planted = den.secrets.len();
    den.read_prompt_files();
    den.read_linked_prompt_files();
    den.use_tools();
    den.call_hook();
    let requests = den.sim.asked_count();
    let hits = den.hits();
    assert!(hits.is_empty(), "{hits:#?}");
    trial.figure("planted", planted);
    trial.figure("requests", requests);
    trial.figure("hits", hits.len());
}

/// A house with secrets, and a model that reads whatever it is told to read.
struct Den {
    sim: Sim,
    court: Court,
    outsider: Outsider,
    /// The bearer text of a hook.
    hook: String,
    /// What must be seen nowhere.
    secrets: Vec<String>,
    /// How the secrets stand in what is read.
    planted: Vec<String>,
    /// Everything that watchers are told, until the daemon ends.
    watcher: JoinHandle<Vec<String>>,
}

impl Den {
    fn open() -> Den {
        let sim = Sim::start(obedient);
        let env = [("ANTHROPIC_API_KEY", KEY), ("SPARE_KEY", SPARE)];
        let mut court = Court::open_with(&sim, SETTINGS, &env);
        let mut ears = court.rig.peer();
        ears.must("gateway.subscribe", &json!({ "events": ["*"] }));
        let watcher = std::thread::spawn(move || watch(&mut ears));
        let outsider = Outsider::open(&court.rig, &["read", "service:bell"], "bell");
        let schema = json!({ "type": "object", "properties": { "of": { "type": "string" } } });
        outsider.offer("Rings.", &schema);
        let job = json!({
            "name": "push", "schedule": "webhook", "task": "[]\n{{body.note}} {{body}}",
        });
        court.hand.must("cron.add", &job);
        let hook = court.hand.must("cron.secret", &json!({ "id": "push" }));
        let hook = hook["secret"].as_str().expect("a secret").to_owned();
        let key = fs::read_to_string(court.rig.home().join("hooks.key")).expect("a key");
        let mut planted = vec![KEY.to_owned(), SPARE.to_owned(), hook.clone()];
        planted.extend([court.rig.token(), key.trim().to_owned()]);
        let mut secrets = planted.clone();
        let (_, hidden) = outsider.token.rsplit_once('_').expect("an id before it");
        secrets.push(hidden.to_owned());
        planted.push(outsider.token.clone());
        let den = Den {
            sim,
            court,
            outsider,
            hook,
            secrets,
            planted,
            watcher,
        };
        den.court.write("keys.txt", &den.all());
        den
    }

    /// Every secret, one a line, between words that stay.
    fn all(&self) -> String {
        let lines = self.planted.iter();
        let lines: Vec<String> = lines.map(|it| format!("the secret {it}.\n")).collect();
        lines.concat()
    }

    /// Runs these calls; what the model was told of each.
    fn results(&mut self, calls: &[(&str, Value)]) -> Vec<String> {
        let ran = self.court.run(&json!({}), calls, |_, _| Some(true));
        assert_eq!(ran.view["cause"], "answered", "{:?}", ran.view);
        let asked = self.sim.asked();
        let last = asked.last().expect("a request");
        let results = last.results_of_task().into_iter();
        results.map(|result| result.text.clone()).collect()
    }

    /// The system text of a run, and its notes.
    fn system(&mut self) -> (String, Vec<Value>) {
        let ran = self.court.run(&json!({}), &[], |_, _| Some(true));
        let asked = self.sim.asked();
        let system = asked.last().expect("a request").system.clone();
        let notes = ran.view["notes"].as_array().cloned();
        (system, notes.unwrap_or_default())
    }

    /// Files that say something are read, and secrets in them masked.
    fn read_prompt_files(&mut self) {
        let checksum = "0123456789abcdef".repeat(4);
        let all = self.all();
        let home = self.court.rig.home().to_owned();
        fs::write(home.join("persona.md"), format!("Speak plainly. {KEY}")).expect("a file");
        let guide = format!("Checksum {checksum}\n{all}");
        self.court.write("AGENTS.md", &guide);
        let (system, notes) = self.system();
        for part in ["Speak plainly. [masked]", "the secret [masked].", &checksum] {
            assert!(system.contains(part), "{part} in {system}");
        }
        assert!(notes.is_empty(), "nothing is refused: {notes:?}");
        fs::remove_file(home.join("persona.md")).expect("removed");
    }

    /// Links of every kind are refused, and the person is told.
    fn read_linked_prompt_files(&mut self) {
        let home = self.court.rig.home().to_owned();
        let outside = self.court.rig.scratch().join("outside");
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(outside.join("id_rsa"), &self.secrets[3]).expect("a file");
        fs::write(outside.join("plain"), "UNMASKED CANARY").expect("a file");
        let place = self.court.workspace.join("AGENTS.md");
        let link = |target: &Path| {
            let _ = fs::remove_file(&place);
            symlink(target, &place).expect("a link");
        };
        let second = |target: &Path| {
            let _ = fs::remove_file(&place);
            fs::hard_link(target, &place).expect("a second name");
        };
        link(&outside.join("id_rsa"));
        self.refused("AGENTS.md is a link and was not read");
        link(&outside.join("plain"));
        self.refused("AGENTS.md is a link and was not read");
        link(Path::new("../outside/plain"));
        self.refused("AGENTS.md is a link and was not read");
        link(&home.join("owner.token"));
        self.refused("AGENTS.md is a link and was not read");
        link(Path::new("/proc/self/environ"));
        self.refused("AGENTS.md is a link and was not read");
        second(&outside.join("plain"));
        self.refused("AGENTS.md has a second name");
        second(&home.join("owner.token"));
        self.refused("AGENTS.md has a second name");
        fs::remove_file(&place).expect("removed");
        fs::create_dir(&place).expect("a folder");
        self.refused("AGENTS.md is a folder");
        fs::remove_dir(&place).expect("removed");
        let (system, notes) = self.system();
        assert!(!system.contains("says of itself") && notes.is_empty());
        // A workspace that is hob's home, or in it.
        fs::write(home.join("AGENTS.md"), "UNMASKED CANARY").expect("a file");
        let workspace = std::mem::replace(&mut self.court.workspace, home.clone());
        self.refused("AGENTS.md belongs to hob itself");
        fs::remove_file(home.join("AGENTS.md")).expect("removed");
        self.court.workspace = workspace;
        symlink(outside.join("plain"), home.join("persona.md")).expect("a link");
        self.refused("persona.md is a link and was not read");
        fs::remove_file(home.join("persona.md")).expect("removed");
    }

    fn refused(&mut self, why: &str) {
        let (system, notes) = self.system();
        assert!(!system.contains("UNMASKED CANARY"), "{why}: {system}");
        assert!(!system.contains("[masked]"), "{why}: {system}");
        assert!(json!(notes).to_string().contains(why), "{why} in {notes:?}");
    }

    /// Everything that can be read of the file with the secrets.
    fn use_tools(&mut self) {
        self.outsider.says(&self.all());
        let lock = include_str!("../../../../../../Cargo.lock");
        let lock: String = lock.split_inclusive('\n').take(400).collect();
        self.court.write("Cargo.lock", &lock);
        let pieces = "while read -rN1 letter; do printf %s \"$letter\"; \
                      [ $((n++ % 40)) = 0 ] && sleep 0.01; done < keys.txt";
        let long = "for n in $(seq 3000); do cat keys.txt; done";
        let told = self.results(&[
            ("read", json!({ "path": "keys.txt" })),
            ("grep", json!({ "pattern": "secret|token" })),
            (
                "exec",
                json!({ "command": "cat keys.txt; cat keys.txt >&2" }),
            ),
            ("exec", json!({ "command": pieces })),
            ("exec", json!({ "command": long })),
            ("output", json!({ "id": "o1", "line": 9_000, "lines": 50 })),
            ("process", json!({ "action": "start", "command": pieces })),
            ("exec", json!({ "command": "sleep 2" })),
            (
                "process",
                json!({ "action": "poll", "id": 1, "waitMs": 5_000 }),
            ),
            ("ring", json!({ "of": "the door" })),
            ("read", json!({ "path": "Cargo.lock" })),
        ]);
        for (number, text) in told.iter().enumerate() {
            let is_read = ![6, 7, 10].contains(&number);
            assert_eq!(text.contains("[masked]"), is_read, "{number}: {text}");
        }
        assert!(told[5].contains("the secret [masked].\n"), "{}", told[5]);
        assert_eq!(told[10], lock, "byte for byte");
    }

    fn call_hook(&mut self) {
        let body = json!({ "note": self.all(), "list": self.planted }).to_string();
        let bearer = format!("Authorization: Bearer {}", self.hook);
        let (port, before) = (self.court.rig.port(), self.sim.asked_count());
        let answered = http::post(port, "/hooks/push", &[&bearer], &body).expect("an answer");
        assert_eq!(answered.status, 202, "{answered:?}");
        eventually("the hook's run is asked", || {
            self.sim.asked_count() > before
        });
        let asked = self.sim.asked();
        let task = asked.last().expect("a request").last_user();
        assert!(task.contains("the secret [masked]."), "{task}");
    }

    /// Where a secret was seen: what the model's server received, what watchers were told, and
    /// every file of the home but those that are the secrets themselves.
    fn hits(mut self) -> Vec<String> {
        let mut hits = Vec::new();
        for (number, asked) in self.sim.asked().iter().enumerate() {
            let body = asked.body.to_string();
            look(
                &self.secrets,
                &format!("request {number}"),
                body.as_bytes(),
                &mut hits,
            );
        }
        self.court.rig.stop();
        let heard = self.watcher.join().expect("a watcher");
        assert!(heard.iter().any(|frame| frame.contains("tool.output")));
        for frame in heard {
            look(&self.secrets, "an event", frame.as_bytes(), &mut hits);
        }
        let mut open = vec![self.court.rig.home().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = entry.file_name();
                if path.is_dir() {
                    open.push(path);
                } else if name != "owner.token" && name != "hooks.key" {
                    let bytes = fs::read(&path).unwrap_or_default();
                    look(
                        &self.secrets,
                        &path.display().to_string(),
                        &bytes,
                        &mut hits,
                    );
                }
            }
        }
        hits
    }
}

fn look(secrets: &[String], place: &str, bytes: &[u8], hits: &mut Vec<String>) {
    for secret in secrets {
        let mut parts = bytes.windows(secret.len());
        if parts.any(|part| part == secret.as_bytes()) {
            hits.push(format!("{secret} in {place}"));
        }
    }
}

/// Hears events until the daemon ends.
fn watch(ears: &mut Peer) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        match ears.frame() {
            Ok(frame) => heard.push(frame.to_string()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return heard,
        }
    }
}
