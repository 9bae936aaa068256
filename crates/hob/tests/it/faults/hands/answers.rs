//! Fault 72: answers and tickets that come again, too late, from the wrong hand, or for something
//! else. A yes counts once, for what it was given for, from who may give it.

use super::court::{Court, obedient};
use super::outsider::Outsider;
use crate::faults::peer::{Answer, Peer};
use crate::faults::trial::Trial;
use hob_sim::Sim;
use serde_json::{Value, json};
use std::thread;

/// The shortest deadline there is, for answers that come after it.
const SETTINGS: &str = "[permission]\ndeadline = \"1s\"\n";
/// Who answers at once.
const ANSWERERS: usize = 8;
const ROUNDS: usize = 6;

/// What was tried, and what was taken that must not be.
#[derive(Default)]
struct Tally {
    tries: usize,
    accepts: Vec<String>,
}

impl Tally {
    /// Nothing was taken so far.
    fn check(&self) {
        assert!(self.accepts.is_empty(), "taken: {:#?}", self.accepts);
    }

    /// Counts a try that must be refused.
    fn refused(&mut self, what: &str, answer: &Answer) {
        self.tries += 1;
        if let Ok(payload) = answer {
            self.accepts.push(format!("{what}: {payload}"));
        }
    }
}

/// What a thief changes in a call, and how.
type Change = (&'static str, fn(&mut Value));

#[test]
fn f72_answers_again_late_and_from_the_wrong_hand() {
    let trial = Trial::begin(72);
    let sim = Sim::start(obedient);
    let mut tally = Tally::default();
    let mut court = Court::open(&sim, "");
    other_hands(&mut court, &mut tally);
    again(&mut court, &mut tally);
    at_once(&mut court, &mut tally);
    tickets(&mut court, &mut tally);
    late(&sim, &mut tally);
    tally.check();
    trial.figure("tries", tally.tries);
    trial.figure("accepts", tally.accepts.len());
}

/// Begins a run that wants to write `path`; its question.
fn wanted(court: &mut Court, path: &str) -> (String, Value) {
    let calls = json!([["write", { "path": path, "content": "mine" }]]);
    let run = court.begin(&json!({}), &calls.to_string());
    let question = court.question(&run);
    (run, question)
}

fn yes(question: &Value) -> Value {
    json!({ "id": question["id"], "decision": "allow", "digest": question["digest"] })
}

fn say(peer: &mut Peer, params: &Value) -> Answer {
    peer.call("permission.answer", params).expect("an answer")
}

/// Who may not answer, and answers to something else; the question stays open for who may.
fn other_hands(court: &mut Court, tally: &mut Tally) {
    let outsider = Outsider::open(&court.rig, &["read", "service:bell"], "bell");
    let mut tokens = vec![("the tool's own service".to_owned(), outsider.token.clone())];
    for scopes in [
        &["read"][..],
        &["chat"],
        &["control"],
        &["control", "service:permissions"],
    ] {
        let name = scopes.join(" and ");
        let made = json!({ "name": name, "scopes": scopes });
        let made = court.hand.must("token.create", &made);
        tokens.push((name, made["token"].as_str().expect("a token").to_owned()));
    }
    let (run, question) = wanted(court, "by-hand.txt");
    let rule = json!({ "tool": "write", "decision": "allow", "scope": "always" });
    for (who, token) in &tokens {
        let mut peer = Peer::authenticated(court.rig.socket(), token).expect("its token");
        tally.refused(who, &say(&mut peer, &yes(&question)));
        let ask = json!({ "tool": {}, "args": {}, "context": {} });
        for (method, params) in [
            ("permission.add", &rule),
            ("permission.ask", &ask),
            ("permission.withdraw", &json!({ "runId": run })),
        ] {
            let answer = peer.call(method, params).expect("an answer");
            tally.refused(&format!("{method} by {who}"), &answer);
        }
    }
    let mut nobody = Peer::open(court.rig.socket()).expect("the socket");
    let answer = nobody.call("permission.answer", &yes(&question));
    tally.refused("nobody", &answer.unwrap_or_else(|_| Err(Value::Null)));
    let (_, other) = wanted(court, "other.txt");
    for (what, digest) in [
        ("another question's digest", other["digest"].clone()),
        ("no digest at all", json!("")),
        ("a made-up digest", json!("0".repeat(64))),
    ] {
        let mut wrong = yes(&question);
        wrong["digest"] = digest;
        tally.refused(what, &say(&mut court.hand, &wrong));
    }
    for id in ["", "x", "00000000-0000-7000-8000-000000000000"] {
        let mut wrong = yes(&question);
        wrong["id"] = json!(id);
        tally.refused("an id that was never given", &say(&mut court.hand, &wrong));
    }
    tally.check();
    assert!(say(&mut court.hand, &yes(&question)).is_ok(), "the owner");
    let no = json!({ "id": other["id"], "decision": "deny" });
    assert!(say(&mut court.hand, &no).is_ok(), "the owner says no");
    court.ended(&run);
    assert!(court.has("by-hand.txt"), "the owner's yes counts");
    assert!(!court.has("other.txt"), "the owner's no counts");
}

/// An answer that counted is said again, after the question, the run and the daemon are over.
fn again(court: &mut Court, tally: &mut Tally) {
    let (run, question) = wanted(court, "again.txt");
    let no = json!({ "id": question["id"], "decision": "deny" });
    assert!(say(&mut court.hand, &no).is_ok(), "the first counts");
    for scope in ["once", "session", "always"] {
        let mut again = yes(&question);
        again["scope"] = json!(scope);
        tally.refused("after a no", &say(&mut court.hand, &again));
    }
    court.ended(&run);
    tally.refused("after the run", &say(&mut court.hand, &yes(&question)));
    let (run, open) = wanted(court, "again.txt");
    tally.refused("for the next run", &say(&mut court.hand, &yes(&question)));
    let aborted = court.hand.must("agent.abort", &json!({ "runId": run }));
    assert_eq!(aborted["runs"][0]["runId"], run.as_str(), "{aborted}");
    court.ended(&run);
    tally.refused("after an abort", &say(&mut court.hand, &yes(&open)));
    assert!(!court.has("again.txt"), "nothing was written");
    let rules = court.hand.must("permission.list", &json!({}));
    assert_eq!(rules["rules"], json!([]), "no rule was stored");
}

/// Many say yes and no to one question at the same moment: one counts.
fn at_once(court: &mut Court, tally: &mut Tally) {
    for round in 0..ROUNDS {
        let path = format!("at-once-{round}.txt");
        let (run, question) = wanted(court, &path);
        let mut peers: Vec<Peer> = (0..ANSWERERS).map(|_| court.rig.peer()).collect();
        let taken: Vec<bool> = thread::scope(|scope| {
            let said = peers.iter_mut().enumerate().map(|(number, peer)| {
                let mut params = yes(&question);
                if number % 2 == 1 {
                    params["decision"] = json!("deny");
                }
                scope.spawn(move || (number % 2 == 0, say(peer, &params)))
            });
            let said: Vec<_> = said.collect();
            let ended = said.into_iter().map(|it| it.join().expect("an answerer"));
            let counted = ended.filter(|(_, answer)| answer.is_ok());
            counted.map(|(allows, _)| allows).collect()
        });
        tally.tries += ANSWERERS - 1;
        assert!(!taken.is_empty(), "one of them counts");
        if taken.len() > 1 {
            tally.accepts.push(format!("{} at once", taken.len()));
        }
        court.ended(&run);
        assert_eq!(court.has(&path), taken[0], "the one that counted decided");
    }
}

/// A ticket is of one call, of one run, for one time.
fn tickets(court: &mut Court, tally: &mut Tally) {
    let workspace = court.workspace.clone();
    let args = json!({ "path": "ticket.txt", "content": "mine" });
    let changes: [Change; 8] = [
        ("other content", |call| {
            call["args"]["content"] = json!("other");
        }),
        ("another path", |call| {
            call["args"]["path"] = json!("stolen.txt");
        }),
        ("another tool", |call| {
            call["name"] = json!("exec");
            call["args"] = json!({ "command": "touch stolen.txt" });
        }),
        ("another run", |call| {
            call["context"]["runId"] = json!("00000000-0000-7000-8000-999999999999");
        }),
        ("another call of the run", |call| {
            call["context"]["callId"] = json!("c2");
        }),
        ("another session", |call| {
            call["context"]["sessionKey"] = json!("other");
        }),
        ("another key", |call| call["context"]["key"] = json!("k")),
        ("another workspace", |call| {
            let folder = call["context"]["workspace"].as_str().expect("a folder");
            call["context"]["workspace"] = json!(format!("{folder}/below"));
        }),
    ];
    court.write("below/x", "");
    for (what, change) in changes {
        let context = court.context(&workspace);
        let ticket = court.ticket("write", &args, &context);
        let call = json!({ "name": "write", "args": args, "context": context, "ticket": ticket });
        let mut stolen = call.clone();
        change(&mut stolen);
        let answer = court.hand.call("tool.execute", &stolen);
        tally.refused(what, &answer.expect("an answer"));
        // A wrong try burns it.
        let answer = court.hand.call("tool.execute", &call);
        tally.refused("a burnt ticket", &answer.expect("an answer"));
    }
    for path in ["ticket.txt", "stolen.txt", "below/ticket.txt"] {
        assert!(!court.has(path), "{path} was written");
    }
    let context = court.context(&workspace);
    let ticket = court.ticket("write", &args, &context);
    let call = json!({ "name": "write", "args": args, "context": context, "ticket": ticket });
    let mut without = call.clone();
    without.as_object_mut().expect("an object").remove("ticket");
    let answer = court.hand.call("tool.execute", &without);
    tally.refused("a run's call without", &answer.expect("an answer"));
    let made = json!({ "name": "reader", "scopes": ["chat"] });
    let made = court.hand.must("token.create", &made);
    let token = made["token"].as_str().expect("a token");
    let mut chat = Peer::authenticated(court.rig.socket(), token).expect("its token");
    let answer = chat.call("tool.execute", &call).expect("an answer");
    tally.refused("a ticket in a weak hand", &answer);
    let done = court.hand.must("tool.execute", &call);
    assert!(done["isError"] != true && court.has("ticket.txt"), "{done}");
    std::fs::remove_file(workspace.join("ticket.txt")).expect("the file");
    let answer = court.hand.call("tool.execute", &call);
    tally.refused("a ticket twice", &answer.expect("an answer"));
    assert!(!court.has("ticket.txt"), "a ticket counted twice");
}

/// The deadline passes; then somebody says yes.
fn late(sim: &Sim, tally: &mut Tally) {
    let mut court = Court::open(sim, SETTINGS);
    let (run, question) = wanted(&mut court, "late.txt");
    let ended = court.ended(&run);
    assert!(ended.to_string().contains("deadline"), "{ended}");
    for scope in ["once", "run", "session", "folder", "always"] {
        let mut late = yes(&question);
        late["scope"] = json!(scope);
        tally.refused("after the deadline", &say(&mut court.hand, &late));
    }
    assert!(!court.has("late.txt"), "a late yes counted");
    let rules = court.hand.must("permission.list", &json!({}));
    assert_eq!(rules["rules"], json!([]), "a late yes stored a rule");
}
