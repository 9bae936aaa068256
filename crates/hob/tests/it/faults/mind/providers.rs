//! Faults 52, 54 and 55: providers that refuse, talk nonsense or say nothing.

use super::house::{DIALECTS, House, accept};
use crate::faults::rig::eventually;
use crate::faults::trial::{Trial, percentile};
use hob_sim::{Answer, Fault, GarbageKind, RetryAfter, Sim};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first wait without a hint, as the settings below have it.
const RETRY_WAIT_MS: u64 = 200;
/// How much later than asked a try may come on a busy machine.
const LATE_MS_MAX: u64 = 5_000;
/// What reading nonsense may cost in memory: the longest line, its copies, and the allocator's.
const MEMORY_KIB_MAX: u64 = 48 * 1024;
const ENDLESS_BYTES: usize = 100 * 1024 * 1024;
const SILENT_RUNS: usize = 40;

/// When each conversation was asked, by its task.
type Times = Arc<Mutex<BTreeMap<String, Vec<Instant>>>>;

#[test]
fn f52_refusals_with_and_without_retry_after() {
    let trial = Trial::begin(52);
    let seconds = Some(RetryAfter::Seconds(1));
    let refusals = [
        (429, seconds, 1_000),
        (429, Some(RetryAfter::Millis(700)), 700),
        // A date has whole seconds: up to one less.
        (429, Some(RetryAfter::DateIn(Duration::from_secs(2))), 1_000),
        (429, Some(RetryAfter::Nonsense), RETRY_WAIT_MS / 2),
        (429, None, RETRY_WAIT_MS / 2),
        (500, None, RETRY_WAIT_MS / 2),
        (503, seconds, 1_000),
        (529, None, RETRY_WAIT_MS / 2),
        (529, seconds, 1_000),
    ];
    let times = Times::default();
    let seen = Arc::clone(&times);
    let sim = Sim::start(move |asked| {
        let task = asked.last_user().to_owned();
        let mut times = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let tries = times.entry(task.clone()).or_default();
        tries.push(Instant::now());
        let case = task
            .rsplit(' ')
            .next()
            .and_then(|at| at.parse::<usize>().ok());
        match case.map(|at| refusals[at]) {
            Some((code, Some(hint), _)) if tries.len() == 1 => Answer::status_retry(code, hint),
            Some((code, None, _)) if tries.len() == 1 => Answer::status(code),
            Some(_) => Answer::words("At last."),
            None => Answer::status(429),
        }
    });
    let settings = format!("[agent]\nretry_wait = \"{RETRY_WAIT_MS}ms\"\nconcurrency = 64\n");
    let house = House::start(&sim, &settings, true);
    let cases: Vec<(String, String)> = DIALECTS
        .iter()
        .flat_map(|dialect| {
            let task = move |at| {
                (
                    format!("{dialect}/sim-small"),
                    format!("{dialect} case {at}"),
                )
            };
            (0..refusals.len()).map(task)
        })
        .collect();
    let mut peer = house.rig.peer();
    let ids: Vec<String> = cases
        .iter()
        .map(|(model, task)| {
            let params = json!({ "sessionKey": task, "task": task, "model": model });
            accept(&mut peer, &params).expect("the daemon lives")
        })
        .collect();
    for id in &ids {
        eventually("a refused call is tried again", || house.person.saw_end(id));
        let view = house.status(id);
        assert_eq!(view["text"], "At last.", "{view}");
    }
    let (mut early, mut worst) = (0, 0);
    for (at, (_, task)) in cases.iter().enumerate() {
        let (_, _, least) = refusals[at % refusals.len()];
        let waited = waited_ms(&times, task);
        early += u64::from(waited < least);
        worst = worst.max(waited.saturating_sub(least));
        assert!(
            waited >= least,
            "{task}: tried after {waited} ms, not {least}"
        );
        assert!(
            waited < least + LATE_MS_MAX,
            "{task}: tried only after {waited} ms"
        );
    }
    // Who never relents is given up, and the person is told why.
    let run = house.run(&json!({ "sessionKey": "never", "task": "never" }));
    assert_eq!(run["cause"], "model-failed", "{run}");
    let tries = times.lock().unwrap_or_else(PoisonError::into_inner)["never"].len();
    assert_eq!(tries, 3, "tries are bounded");
    trial.figure("refusals", cases.len());
    trial.figure("too_early", early);
    trial.figure("wait_error_ms_max", worst);
    trial.figure("tries_of_a_dead_one", tries);
    house.close();
}

fn waited_ms(times: &Times, task: &str) -> u64 {
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    let tries = &times[task];
    assert_eq!(tries.len(), 2, "{task}: refused once, then answered");
    u64::try_from((tries[1] - tries[0]).as_millis()).unwrap_or(u64::MAX)
}

#[test]
fn f54_garbage_in_the_stream() {
    let trial = Trial::begin(54);
    let kinds = [
        GarbageKind::Binary,
        GarbageKind::WrongOrder,
        GarbageKind::DuplicateIds,
        GarbageKind::CrlfMix,
        GarbageKind::BadJson,
        GarbageKind::Html,
        GarbageKind::EndlessLine {
            bytes: ENDLESS_BYTES,
        },
    ];
    let sim = Sim::start(move |asked| {
        let kind = asked
            .last_user()
            .rsplit(' ')
            .next()
            .and_then(|at| at.parse::<usize>().ok());
        let answer = match asked.results_of_task().len() {
            0 => Answer::words("Let me ring. ").call("ring", json!({ "of": "garbage" })),
            _ => Answer::words("It rang."),
        };
        answer.fault(Fault::Garbage(kinds[kind.unwrap_or(0)]))
    });
    let settings = "[agent]\nretry_tries = 1\n";
    let house = House::start(&sim, settings, true);
    house.run(&json!({ "sessionKey": "warm", "task": "Understand 3" }));
    house.rig.reset_peak_memory();
    let before = house.rig.memory_kib("VmRSS");
    let mut typed = 0;
    for dialect in DIALECTS {
        for (at, kind) in kinds.iter().enumerate() {
            let name = format!("garbage:{dialect}:{at}");
            let params = json!({
                "sessionKey": name, "task": format!("Understand {at}"),
                "model": format!("{dialect}/sim-small"), "budget": { "steps": 4 },
            });
            let run = house.run(&params);
            if *kind == GarbageKind::CrlfMix {
                assert_eq!(
                    run["response"], "It rang.",
                    "{dialect}: line ends of any kind are legal: {run}"
                );
            } else if *kind != GarbageKind::DuplicateIds && *kind != GarbageKind::WrongOrder {
                assert_eq!(run["cause"], "model-failed", "{dialect} {kind:?}: {run}");
                typed += 1;
            }
            let view = house
                .rig
                .peer()
                .must("agent.status", &json!({ "sessionKey": name }));
            assert_eq!(view["state"], "done", "{view}");
        }
    }
    let grown = house.rig.memory_kib("VmHWM").saturating_sub(before);
    assert!(grown < MEMORY_KIB_MAX, "reading nonsense took {grown} KiB");
    trial.figure("streams", DIALECTS.len() * kinds.len());
    trial.figure("typed_errors", typed);
    trial.figure(
        "peak_rss_growth_kib",
        format_args!("{grown} (100 MiB without a line end)"),
    );
    house.close();
}

#[test]
fn f55_silence() {
    let trial = Trial::begin(55);
    let sim = Sim::start(|asked| {
        let headers = asked.last_user().contains("headers");
        Answer::words("Never said.").fault(Fault::Silence { headers })
    });
    let settings = "[agent]\nretry_tries = 1\nconcurrency = 64\n";
    let house = House::start(&sim, settings, true);
    let mut peer = house.rig.peer();
    peer.must(
        "config.set",
        &json!({ "key": "model.silence_timeout", "value": "1s" }),
    );
    let mut idle_ms = Vec::new();
    for task in ["Say nothing", "Say nothing after the headers"] {
        let begun = Instant::now();
        let run = house.run(&json!({ "sessionKey": task, "task": task }));
        assert_eq!(run["cause"], "model-failed", "{run}");
        idle_ms.push(begun.elapsed().as_millis());
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "silence ends a call"
        );
    }
    peer.must(
        "config.set",
        &json!({ "key": "model.silence_timeout", "value": "5m" }),
    );
    let mut cancels_ms: Vec<f64> = (0..SILENT_RUNS)
        .map(|at| cancel_ms(&house, &sim, at))
        .collect();
    let p99 = percentile(&mut cancels_ms, 99);
    assert!(p99 < 1_000.0, "stopping takes {p99:.0} ms");
    trial.figure("idle_timeout_ms", format_args!("{idle_ms:?} of 1000"));
    trial.figure("cancels", SILENT_RUNS);
    trial.figure("cancel_p99_ms", format_args!("{p99:.1}"));
    house.close();
}

/// How long it takes from a stop to a closed connection and a run that is over.
fn cancel_ms(house: &House, sim: &Sim, at: usize) -> f64 {
    let mut peer = house.rig.peer();
    let task = ["Say nothing", "Say nothing after the headers"][at % 2];
    let params = json!({ "sessionKey": format!("silent:{at}"), "task": task });
    let id = accept(&mut peer, &params).expect("the daemon lives");
    eventually("the model is asked", || sim.open_streams() == 1);
    let begun = Instant::now();
    let stopped: Value = peer.must("agent.abort", &json!({ "runId": id }));
    assert_eq!(stopped["runs"][0]["cause"], "aborted", "{stopped}");
    while sim.open_streams() > 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the connection is closed"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed().as_secs_f64() * 1000.0
}
