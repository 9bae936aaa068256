//! What became of killed runs: their sessions, their events, their money and the world compared.

use super::house::House;
use super::killed_runs::{CALLS, CUTS_MAX, Run, final_words, is_text, task};
use super::workshop::said;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// All zero and empty but the counts when nothing is wrong.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) calls: u64,
    pub(super) cuts: u64,
    pub(super) doubts: u64,
    /// Runs that were given up after too many cuts without progress.
    pub(super) parked: u64,
    /// Effects that happened more than once, or under another key.
    pub(super) repeats: u64,
    /// Runs, steps, messages or events that are missing.
    pub(super) lost: u64,
    /// What is wrong, in words.
    wrong: Vec<String>,
}

impl Verdict {
    pub(super) fn is_clean(&self) -> bool {
        self.repeats + self.lost == 0 && self.wrong.is_empty()
    }

    pub(super) fn reach(house: &House, runs: &[Run]) -> Verdict {
        let mut verdict = Verdict {
            cuts: runs.iter().map(|run| run.cuts).sum(),
            doubts: house.person.heard().doubts.len() as u64,
            ..Verdict::default()
        };
        let mut micro_dollars = 0;
        let mut model_calls = 0;
        for run in runs {
            let Some(id) = &run.id else {
                verdict.lose(format!("{} was never acknowledged", run.name));
                continue;
            };
            let view = house.status(id);
            if view["cause"] == "parked" && run.cuts >= CUTS_MAX {
                // Cut off again and again before it could finish a step, it was rightly given up.
                verdict.parked += 1;
                micro_dollars += view["cost"]["microDollars"].as_u64().unwrap_or(0);
                model_calls += view["cost"]["calls"].as_u64().unwrap_or(0);
                continue;
            }
            if view["state"] != "done"
                || view["cause"] != "answered"
                || view["text"] != final_words(&run.name)
            {
                verdict.wrong.push(format!("{}: {view}", run.name));
            }
            micro_dollars += view["cost"]["microDollars"].as_u64().unwrap_or(0);
            model_calls += view["cost"]["calls"].as_u64().unwrap_or(0);
            verdict.read_session(house, run);
            verdict.read_world(house, run);
        }
        verdict.read_events(house, runs);
        let costs = house.rig.peer().must("cost.summary", &json!({}));
        let total = &costs["total"];
        if total["microDollars"] != micro_dollars || total["calls"] != model_calls {
            verdict.wrong.push(format!(
                "the ledger holds {total}, the runs {model_calls} calls for {micro_dollars}"
            ));
        }
        verdict
    }

    fn lose(&mut self, what: String) {
        self.lost += 1;
        self.wrong.push(what);
    }

    /// User, then calls and results in order and each once, then the answer.
    fn read_session(&mut self, house: &House, run: &Run) {
        let messages = house.rig.peer().export(&format!("kill:{}", run.name));
        let mut told = Vec::new();
        let mut ids: BTreeMap<String, String> = BTreeMap::new();
        for message in &messages {
            let content = &message["content"];
            if is_text(content, &task(&run.name)) && message["role"] == "user" {
                told.push("task".to_owned());
            } else if is_text(content, &final_words(&run.name)) && message["role"] == "assistant" {
                told.push("answer".to_owned());
            }
            for part in content.as_array().into_iter().flatten() {
                told.extend(self.read_part(part, &run.name, &mut ids));
            }
        }
        let expected = [
            "task",
            "call look",
            "result look",
            "call post",
            "call put",
            "result post",
            "result put",
            "call ring",
            "result ring",
            "call time",
            "result time",
            "answer",
        ];
        // The results of parallel calls come in the order in which they ended.
        if told.get(5).is_some_and(|it| it == "result put") {
            told.swap(5, 6);
        }
        if told != expected {
            self.lose(format!("the session of {} holds {told:?}", run.name));
        }
        let holes = messages
            .iter()
            .enumerate()
            .filter(|(at, message)| message["seq"] != *at as u64 + 1);
        if holes.count() > 0 {
            self.lose(format!("the session of {} has holes", run.name));
        }
    }

    fn read_part(
        &mut self,
        part: &Value,
        name: &str,
        ids: &mut BTreeMap<String, String>,
    ) -> Option<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match part["type"].as_str()? {
            "toolCall" => {
                self.calls += 1;
                let tool = text(&part["name"]);
                ids.insert(text(&part["id"]), tool.clone());
                Some(format!("call {tool}"))
            }
            "toolResult" => {
                let tool = ids
                    .remove(&text(&part["id"]))
                    .unwrap_or_else(|| "of nothing".to_owned());
                let right = tool == "time"
                    || part["content"]
                        .to_string()
                        .contains(&said(&tool, &format!("{name}-{tool}")));
                (right && part["isError"] != true).then(|| format!("result {tool}"))
            }
            _ => None,
        }
    }

    /// What a run wanted done happened once, unless a person said otherwise.
    fn read_world(&mut self, house: &House, run: &Run) {
        for tool in CALLS.into_iter().filter(|tool| *tool != "time") {
            let deed = house
                .workshop
                .world
                .deed(tool, &format!("{}-{tool}", run.name));
            let wanted = u64::from(tool != "look");
            if deed.requests == 0 || deed.effects < wanted {
                self.lose(format!("{tool} of {} did not happen: {deed:?}", run.name));
            }
            if deed.effects > wanted || deed.keys.len() != 1 {
                self.repeats += 1;
                self.wrong.push(format!("{tool} of {}: {deed:?}", run.name));
            }
        }
    }

    /// The log of events has each run's end once.
    fn read_events(&mut self, house: &House, runs: &[Run]) {
        let heard = house.person.heard().completed.clone();
        let mut log = house.rig.peer();
        log.must(
            "gateway.subscribe",
            &json!({ "events": ["run.completed"], "since": 0 }),
        );
        let mut logged: BTreeMap<String, u64> = BTreeMap::new();
        for _ in runs {
            let frame = log.frame().expect("an end of each run");
            let id = frame["payload"]["runId"]
                .as_str()
                .expect("an id")
                .to_owned();
            *logged.entry(id).or_default() += 1;
        }
        for run in runs {
            let id = run.id.as_deref().unwrap_or_default();
            let counts = (heard.get(id), logged.get(id));
            if counts != (Some(&1), Some(&1)) {
                self.lose(format!(
                    "the end of {} was heard {counts:?} times",
                    run.name
                ));
            }
        }
    }
}
