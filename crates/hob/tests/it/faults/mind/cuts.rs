//! Fault 53: the provider's stream is cut after every number of bytes, in every dialect.

use super::house::{DIALECTS, House, accept};
use crate::faults::rig::eventually;
use crate::faults::trial::{Trial, number_from_env};
use hob_sim::{Answer, Fault, Sim, SimRequest};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tries of one run; each but the last meets a cut one byte later. Waits double from try to try.
const TRIES: usize = CUTS + 1;
const CUTS: usize = 8;
const RUNS_AT_ONCE: usize = 32;
/// Cuts are this many bytes apart, from a random first; the tests of hob-models visit each byte
/// without a daemon, and `HOB_FAULT_KILLS` asks for each byte here too.
const STRIDE: usize = 12;
/// More than any of these streams has.
const BYTES_MAX: usize = 20_000;
const WORDS: &str = "It rang.";

/// How many cuts each run has met.
type Cuts = Arc<Mutex<BTreeMap<String, usize>>>;

#[test]
fn f53_stream_cut_at_every_byte() {
    let trial = Trial::begin(53);
    let stride = number_from_env("HOB_FAULT_KILLS").map_or(STRIDE, |_| 1);
    let offset = usize::try_from(trial.randomness.below(stride as u64)).unwrap_or(0);
    let cuts = Cuts::default();
    let seen = Arc::clone(&cuts);
    let sim = Sim::start(move |asked| cut(asked, &seen, stride));
    let settings = format!(
        "[agent]\nretry_tries = {TRIES}\nretry_wait = \"1ms\"\nconcurrency = {RUNS_AT_ONCE}\n"
    );
    let house = House::start(&sim, &settings, true);
    let mut runs = 0;
    let mut lengths = BTreeMap::new();
    for dialect in DIALECTS {
        let mut first = offset;
        while !lengths.contains_key(dialect) {
            assert!(first < BYTES_MAX, "the stream of {dialect} ends");
            let wave: Vec<usize> = (0..RUNS_AT_ONCE)
                .map(|at| first + at * CUTS * stride)
                .collect();
            ring_each(&house, dialect, &wave);
            runs += wave.len();
            first = wave[wave.len() - 1] + CUTS * stride;
            let cuts = cuts.lock().unwrap_or_else(PoisonError::into_inner);
            let uncut = wave.iter().find_map(|from| {
                let met = cuts[&format!("{dialect}-{from}")];
                (met < CUTS).then_some(from + (met - 1) * stride)
            });
            lengths.extend(uncut.map(|length| (dialect, length)));
        }
    }
    let whole: Vec<String> = house
        .workshop
        .world
        .all()
        .into_keys()
        .map(|(_, of)| of)
        .collect();
    let half_calls = whole.iter().filter(|of| !of.contains('-')).count();
    assert_eq!(
        whole.len(),
        runs,
        "nothing ran but the whole calls: {whole:?}"
    );
    assert_eq!(sim.refused(), Vec::<String>::new());
    // A run whose every try is cut ends with what was said, and says that it was cut.
    let run = house.run(&json!({ "sessionKey": "always", "task": "Ring always" }));
    assert_eq!(run["cause"], "model-failed", "{run}");
    let told = house.rig.peer().export("always");
    let last = told.last().expect("a message")["content"].to_string();
    assert!(
        last.contains("Wait.") && last.contains("stopped here"),
        "the partial text is kept and marked: {last}"
    );
    assert_eq!(house.workshop.world.deed("ring", "always").requests, 0);
    let apart = format!("every {stride} bytes from {offset}");
    trial.figure("stream_bytes", format_args!("{lengths:?}, cut {apart}"));
    trial.figure("runs", runs + 1);
    trial.figure("half_calls_run", half_calls);
    house.close();
}

/// Runs of one dialect at the same time, each with the cuts that begin at its number.
fn ring_each(house: &House, dialect: &str, wave: &[usize]) {
    let mut peer = house.rig.peer();
    let name = |from: &usize| format!("{dialect}-{from}");
    let begin = |from: &usize| {
        let params = json!({
            "sessionKey": name(from), "task": format!("Ring {}", name(from)),
            "model": format!("{dialect}/sim-small"),
        });
        accept(&mut peer, &params).expect("the daemon lives")
    };
    let ids: Vec<String> = wave.iter().map(begin).collect();
    for (from, id) in wave.iter().zip(&ids) {
        eventually("a run whose streams are cut ends", || {
            house.person.saw_end(id)
        });
        let view = house.status(id);
        assert_eq!(view["text"], WORDS, "{}: {view}", name(from));
        let deed = house.workshop.world.deed("ring", &name(from));
        assert_eq!(
            deed.effects,
            1,
            "{}: the whole call ran once: {deed:?}",
            name(from)
        );
    }
}

/// Cuts the first answer of a task one byte later at each try; the last try is whole.
fn cut(asked: &SimRequest, cuts: &Cuts, stride: usize) -> Answer {
    let name = asked
        .last_user()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    if !asked.results_of_task().is_empty() {
        return Answer::words(WORDS);
    }
    let answer = Answer::words("Wait. ").call("ring", json!({ "of": name }));
    let Some(first) = name
        .rsplit('-')
        .next()
        .and_then(|at| at.parse::<usize>().ok())
    else {
        return answer.fault(Fault::CutAt(600));
    };
    let mut cuts = cuts.lock().unwrap_or_else(PoisonError::into_inner);
    let met = cuts.entry(name).or_default();
    if *met == CUTS {
        return answer;
    }
    *met += 1;
    answer.fault(Fault::CutAt(first + (*met - 1) * stride))
}
