//! Runs of five tool calls, one of each effect class among them, under a daemon that is killed
//! again and again: at random moments, and at the named places of a run's life.

use super::house::{House, accept};
use super::verdict::Verdict;
use super::workshop::said;
use crate::faults::fault_build::fault_binary;
use crate::faults::rig::PATIENCE;
use crate::faults::trial::{Trial, number_from_env, percentile};
use hob_kit::failpoint::RUN_POINTS;
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Enough for CI; `HOB_FAULT_KILLS` asks for more.
const KILLS: u64 = 200;
/// Runs under way at once.
const RUNS_AT_ONCE: usize = 10;
const LIFE_MS_MAX: u64 = 200;
/// One life of so many ends at a named place instead of a random moment.
const NAMED_EVERY: u64 = 3;
/// A run may be cut off this often before it must be let finish: one more without progress, and
/// hob rightly parks it.
pub(super) const CUTS_MAX: u64 = 3;

/// A run as the test follows it.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) cuts: u64,
}

#[test]
fn f101_runs_killed_at_random_points() {
    let trial = Trial::begin(101);
    let kills = number_from_env("HOB_FAULT_KILLS").unwrap_or(KILLS);
    let sim = Sim::start(five_calls);
    let settings = format!("[agent]\nconcurrency = {RUNS_AT_ONCE}\n");
    let mut house = House::start(&sim, &settings, true);
    let world = std::sync::Arc::clone(&house.workshop.world);
    let mut runs: Vec<Run> = Vec::new();
    let mut restarts_ms = Vec::new();
    let mut named = 0;
    for kill in 0..kills {
        world
            .work_us
            .store(trial.randomness.below(3_000), Ordering::Relaxed);
        top_up(&house, &mut runs);
        let life = Duration::from_millis(trial.randomness.below(LIFE_MS_MAX));
        let ended = live(&mut house, life, &runs);
        named += u64::from(ended);
        let open = runs.iter_mut().filter(|run| !is_over(&house, run));
        open.for_each(|run| run.cuts += 1);
        house.rig.without_env("HOB_FAILPOINT");
        if fault_binary().is_some() && kill % NAMED_EVERY == 0 {
            let point = RUN_POINTS
                [usize::try_from(trial.randomness.u64() % RUN_POINTS.len() as u64).unwrap_or(0)];
            let visit = 1 + trial.randomness.below(40);
            let plan = format!("{point}={visit}*abort");
            house.rig.env("HOB_FAILPOINT", &plan);
        }
        restarts_ms.push(restart(&mut house));
    }
    house.rig.without_env("HOB_FAILPOINT");
    restart(&mut house);
    top_up(&house, &mut runs);
    let begun = Instant::now();
    while !runs.iter().all(|run| is_over(&house, run)) {
        assert!(begun.elapsed() < PATIENCE, "{}", stuck(&house, &runs));
        std::thread::sleep(Duration::from_millis(5));
    }
    let verdict = Verdict::reach(&house, &runs);
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert!(verdict.parked * 50 <= runs.len() as u64, "{verdict:#?}");
    assert_eq!(sim.refused(), Vec::<String>::new());
    assert!(
        runs.len() as u64 * 4 >= kills,
        "runs came to their end between kills: {}",
        runs.len()
    );
    trial.figure("kills", format_args!("{kills} ({named} at named steps)"));
    trial.figure("runs", runs.len());
    trial.figure("calls", verdict.calls);
    trial.figure("cut", verdict.cuts);
    trial.figure("doubts", verdict.doubts);
    trial.figure("parked", verdict.parked);
    trial.figure("repeats", verdict.repeats);
    trial.figure("lost", verdict.lost);
    trial.figure(
        "restart_p99_ms",
        format_args!("{:.0}", percentile(&mut restarts_ms, 99)),
    );
    house.close();
}

/// The model of these runs: it looks only at the conversation.
pub(super) fn five_calls(asked: &SimRequest) -> Answer {
    let name = asked.last_user().rsplit(' ').next().unwrap_or_default();
    let thing = |tool: &str| format!("{name}-{tool}");
    let call = |tool: &str| (tool.to_owned(), json!({ "of": thing(tool) }));
    let results = asked.results_of_task();
    let calls = match results.len() {
        0 => vec![call("look")],
        1 => vec![call("post"), call("put")],
        3 => vec![call("ring")],
        4 => vec![("time".to_owned(), json!({}))],
        5 => {
            let tools = ["look", "post", "put", "ring"];
            let right = |tool: &&str| {
                results
                    .iter()
                    .any(|result| result.text.contains(&said(tool, &thing(tool))))
            };
            let wrong: Vec<&str> = tools.into_iter().filter(|tool| !right(tool)).collect();
            return match wrong[..] {
                [] => Answer::words(final_words(name)),
                _ => Answer::words(format!("The results of {wrong:?} are wrong: {results:?}")),
            };
        }
        count => return Answer::words(format!("What are {count} results? {results:?}")),
    };
    let calls = calls
        .iter()
        .map(|(tool, args)| (tool.as_str(), args.clone()));
    Answer::words("One moment, I shall see to the next thing. ")
        .calls(calls)
        .pace(2, Duration::from_millis(1))
}

pub(super) fn final_words(name: &str) -> String {
    format!("All five things of {name} are done, and each of them once.")
}

/// Starts runs until enough are under way. What the daemon did not acknowledge is sent again, with
/// the same key.
fn top_up(house: &House, runs: &mut Vec<Run>) {
    let open = runs.iter().filter(|run| !is_over(house, run)).count();
    for _ in open..RUNS_AT_ONCE {
        let name = format!("k{}", runs.len());
        runs.push(Run {
            name,
            id: None,
            cuts: 0,
        });
    }
    let Ok(mut peer) =
        crate::faults::peer::Peer::authenticated(house.rig.socket(), &house.rig.token())
    else {
        return;
    };
    for run in runs.iter_mut().filter(|run| run.id.is_none()) {
        let params = json!({
            "sessionKey": format!("kill:{}", run.name), "task": task(&run.name),
            "idempotencyKey": run.name,
        });
        run.id = accept(&mut peer, &params);
        if run.id.is_none() {
            return;
        }
    }
}

pub(super) fn task(name: &str) -> String {
    format!("Do the five things of {name}")
}

pub(super) fn is_over(house: &House, run: &Run) -> bool {
    run.id.as_ref().is_some_and(|id| house.person.saw_end(id))
}

/// Lets the daemon live for a while, and longer while a run was cut off too often to be cut again.
/// Answers whether it ended by itself, at its failpoint.
fn live(house: &mut House, life: Duration, runs: &[Run]) -> bool {
    let begun = Instant::now();
    loop {
        let tired = runs
            .iter()
            .any(|run| run.cuts >= CUTS_MAX && !is_over(house, run));
        if !house.rig.lives() {
            return true;
        }
        if begun.elapsed() >= life && !tired {
            return false;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", stuck(house, runs));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What there is to say of runs that neither end nor ask.
pub(super) fn stuck(house: &House, runs: &[Run]) -> String {
    let world = &house.workshop.world;
    let (served, life) = (&world.served, &world.life);
    let mut text = format!("runs neither end nor ask; daemon {life:?}, tools at {served:?}:\n");
    for run in runs.iter().filter(|run| !is_over(house, run)) {
        let view = run.id.as_ref().map(|id| house.status(id).to_string());
        let told = format!("{} {view:?}\n", run.name);
        text += &told;
    }
    let questions = house.rig.peer().must("permission.pending", &json!({}));
    format!("{text}open questions: {questions}")
}

/// The next daemon. One whose failpoint lies in its own start is started once more without.
fn restart(house: &mut House) -> f64 {
    house.rig.kill();
    house.workshop.world.life.fetch_add(1, Ordering::SeqCst);
    let took = house.rig.try_start().or_else(|_| {
        house.rig.without_env("HOB_FAILPOINT");
        house.rig.try_start()
    });
    let took = took.unwrap_or_else(|ended| panic!("the daemon did not start: {ended:?}"));
    took.as_secs_f64() * 1000.0
}

/// The calls of one run in the order in which its session must hold them.
pub(super) const CALLS: [&str; 5] = ["look", "post", "put", "ring", "time"];

pub(super) fn is_text(value: &Value, text: &str) -> bool {
    value.as_str() == Some(text) || value[0]["text"].as_str() == Some(text)
}
