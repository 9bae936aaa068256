//! A client that loses its connection in the middle of an answer, and one whose daemon is killed
//! in the middle of it: the text so far, then the rest, with no gap and no repeat.

use super::house::{House, accept};
use crate::faults::peer::Peer;
use crate::faults::rig::eventually;
use crate::faults::trial::Trial;
use hob_sim::{Answer, Gate, Sim};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const TOKENS: usize = 300;
const CLIENTS: usize = 24;

#[test]
fn f103_reconnect_in_the_middle_of_an_answer() {
    let trial = Trial::begin(103);
    let sim = Sim::start(|_| Answer::tokens(TOKENS).pace(2, Duration::from_millis(2)));
    let house = House::start(&sim, "[agent]\nconcurrency = 32\n", true);
    let whole = whole();
    let (mut losses, mut in_the_middle) = (0, 0);
    for client in 0..CLIENTS {
        let mut screen = Screen::default();
        let mut peer = watch(&house, client);
        let params = json!({ "sessionKey": session(client), "task": "Count" });
        let run = accept(&mut peer, &params).expect("the daemon lives");
        let mut patience = 1 + trial.randomness.below(40);
        while !screen.over {
            if patience == 0 {
                drop(peer);
                std::thread::sleep(Duration::from_millis(trial.randomness.below(30)));
                peer = watch(&house, client);
                screen.catch_up(&mut peer, &run);
                losses += 1;
                in_the_middle += u64::from(!screen.over && !screen.text.is_empty());
                patience = 1 + trial.randomness.below(60);
                continue;
            }
            patience -= 1;
            screen.see(&peer.frame().expect("an event"), &run);
        }
        assert_eq!(screen.text, whole, "client {client} saw the whole answer");
        assert_eq!(screen.gaps, 0, "client {client}");
    }
    assert!(
        in_the_middle > CLIENTS as u64,
        "connections are lost in the middle: {in_the_middle}"
    );
    trial.figure("clients", CLIENTS);
    trial.figure(
        "reconnects",
        format_args!("{losses} ({in_the_middle} in the middle)"),
    );
    trial.figure("gaps", 0);
    let (printed, kills) = command_line(&trial);
    trial.figure(
        "hob_ask",
        format_args!("{kills} daemons killed under it, {printed} bytes, whole"),
    );
    house.close();
}

/// What a client shows, put together by the wire's rules alone.
#[derive(Default)]
struct Screen {
    attempt: (u64, u64),
    text: String,
    gaps: u64,
    over: bool,
}

impl Screen {
    /// Asks for the text so far. Events may overtake the answer, and are seen after it.
    fn catch_up(&mut self, peer: &mut Peer, run: &str) {
        let asked = peer.send("agent.status", &json!({ "runId": run }));
        let asked = asked.expect("the daemon lives");
        let mut overtaking = Vec::new();
        loop {
            let frame = peer.frame().expect("an answer");
            if frame["id"] == asked.as_str() {
                self.see_status(&frame["payload"]);
                break;
            }
            overtaking.push(frame);
        }
        for frame in overtaking {
            self.see(&frame, run);
        }
    }

    fn see_status(&mut self, view: &Value) {
        self.text = view["text"].as_str().unwrap_or_default().to_owned();
        self.attempt = (number(&view["step"]), number(&view["attempt"]));
        self.over = view["state"] == "done";
    }

    fn see(&mut self, frame: &Value, run: &str) {
        let payload = &frame["payload"];
        if payload["runId"] != run {
            return;
        }
        match frame["event"].as_str() {
            Some("run.completed") => {
                assert_eq!(
                    payload["response"],
                    self.text.as_str(),
                    "the deltas are the answer"
                );
                self.over = true;
            }
            Some("run.delta") if payload["kind"] == "text" => self.see_delta(payload),
            _ => {}
        }
    }

    fn see_delta(&mut self, payload: &Value) {
        let attempt = (number(&payload["step"]), number(&payload["attempt"]));
        if attempt != self.attempt {
            self.attempt = attempt;
            self.text.clear();
        }
        let (offset, length) = (number(&payload["offset"]), self.text.len() as u64);
        let delta = payload["delta"].as_str().unwrap_or_default();
        if offset > length {
            self.gaps += 1;
        } else if offset == length {
            self.text.push_str(delta);
        }
    }
}

fn watch(house: &House, client: usize) -> Peer {
    let mut peer = house.rig.peer();
    let wanted = json!({ "events": ["run.delta", "run.completed"], "sessionKey": session(client) });
    peer.must("gateway.subscribe", &wanted);
    peer
}

fn session(client: usize) -> String {
    format!("watch:{client}")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// `hob ask` while its daemon is killed in the middle of the answer: it prints the answer once.
fn command_line(trial: &Trial) -> (usize, u64) {
    let gates: Arc<Mutex<Vec<Gate>>> = Arc::default();
    let made = Arc::clone(&gates);
    // The first two attempts stand still in the middle; the third goes to its end.
    let sim = Sim::start(move |_| {
        let mut gates = made.lock().unwrap_or_else(PoisonError::into_inner);
        if gates.len() == 2 {
            return Answer::tokens(TOKENS);
        }
        let gate = Gate::new();
        gates.push(gate.clone());
        Answer::tokens(TOKENS).held_after(TOKENS / 2, &gate)
    });
    let mut house = House::start(&sim, "", true);
    let ask = house.rig.begin_hob(&["ask", "Count"]);
    for kill in 1..=2 {
        let waits = || {
            let gates = gates.lock().unwrap_or_else(PoisonError::into_inner);
            gates.len() == kill && gates[kill - 1].waiting() == 1
        };
        eventually("the answer is half said", waits);
        std::thread::sleep(Duration::from_millis(50 + trial.randomness.below(100)));
        house.restart();
    }
    let (code, stdout, stderr) = ask.finish();
    let whole = whole();
    assert_eq!(code, Some(0), "hob ask: {stderr}");
    assert_eq!(
        stdout.trim_end(),
        whole.trim_end(),
        "hob ask printed it once: {stderr}"
    );
    house.close();
    (stdout.len(), 2)
}

/// All the tokens of the answer.
fn whole() -> String {
    let tokens: Vec<String> = (0..TOKENS).map(|at| format!("w{at} ")).collect();
    tokens.concat()
}
