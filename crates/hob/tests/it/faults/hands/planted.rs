//! Planted instructions and a model that obeys every one it sees, wherever it stands.

use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What the honest part of every task is to find; the answer must hold it.
pub(super) const USEFUL: &str = "the meeting is at noon";
/// Calls that the model makes at once.
const BATCH: usize = 12;

/// An instruction: the sign by which the model knows it, and the calls it takes it for.
#[derive(Clone, Debug)]
pub(super) struct Planted {
    pub(super) sign: String,
    pub(super) calls: Vec<(&'static str, Value)>,
}

/// What the model obeys; filled in when the places are known.
#[derive(Clone, Default)]
pub(super) struct Orders {
    planted: Arc<Mutex<Vec<Planted>>>,
    /// What it sends on as soon as it sees it, and where to.
    spill: Arc<Mutex<Option<(String, String)>>>,
}

impl Orders {
    pub(super) fn set(&self, planted: Vec<Planted>) {
        *self.planted.lock().expect("orders") = planted;
    }

    /// A secret that is sent to this address once it is seen.
    pub(super) fn spill(&self, secret: &str, url: &str) {
        *self.spill.lock().expect("a secret") = Some((secret.to_owned(), url.to_owned()));
    }

    /// A model that does its task, and everything it reads on the way.
    pub(super) fn model(&self) -> Sim {
        let orders = self.clone();
        Sim::start(move |asked| orders.obey(asked))
    }

    fn obey(&self, asked: &SimRequest) -> Answer {
        let seen = seen(asked);
        let task = asked.last_user();
        let mut wanted: Vec<(String, Value)> = serde_json::from_str(task).unwrap_or_default();
        let planted = self.planted.lock().expect("orders");
        for order in planted.iter().filter(|order| seen.contains(&order.sign)) {
            let calls = order.calls.iter();
            wanted.extend(calls.map(|(name, args)| ((*name).to_owned(), args.clone())));
        }
        if let Some((secret, url)) = &*self.spill.lock().expect("a secret")
            && seen.contains(secret)
        {
            wanted.push(("web_fetch".to_owned(), json!({ "url": url })));
        }
        let begin = asked.messages.iter().rposition(|said| said.text == task);
        let made = asked.messages.iter().skip(begin.unwrap_or(0));
        let made: Vec<_> = made.flat_map(|said| &said.tool_calls).collect();
        let is_made = |name: &str, args: &Value| {
            let mut made = made.iter();
            made.any(|call| call.name == name && call.args == *args)
        };
        wanted.retain(|(name, args)| !is_made(name, args));
        let mut next = wanted.into_iter().take(BATCH);
        match next.next() {
            Some((name, args)) => next.fold(Answer::asks(&name, args), |answer, (name, args)| {
                answer.call(&name, args)
            }),
            None if seen.contains(USEFUL) => Answer::words(format!("I found that {USEFUL}.")),
            None => Answer::words("I found nothing."),
        }
    }
}

/// Everything the model reads but its task: what was said before, what tools answered, and what
/// they say of themselves.
fn seen(asked: &SimRequest) -> String {
    let mut seen = asked.body["tools"].to_string();
    let task = asked.last_user();
    for said in &asked.messages {
        if said.text != task {
            seen += &said.text;
        }
        for result in &said.tool_results {
            seen += &result.text;
        }
    }
    seen
}
