//! The ordinary story: made, started, told something once, stopped in the middle of a prompt,
//! started again, its daemon killed, and on it goes.

use super::{HOLD, assert_whole, history, prompts, show, teller, until_answered, until_ended};
use crate::mind::house_with;
use crate::support::wait_until;
use hob_sim::Gate;
use std::time::{Duration, Instant};

const TITLE: &str = "## Working Memory (this iteration only)";

#[test]
fn a_loop_lives_through_a_stop_and_the_death_of_its_daemon() {
    let gate = Gate::new();
    let sim = teller(&gate);
    let mut house = house_with(&sim);
    let made = house.shell("hob loop create build --task 'Say where you are.' --every 1s");
    assert!(made.success().contains("hob loop start build"));
    let shown = show(&house, "build");
    let folder = house.work().canonicalize().expect("it is there");
    assert_eq!(shown["config"]["workspace"], folder.display().to_string());
    assert_eq!(shown["state"]["running"], false);

    let started = house.hob(&["loop", "start", "build"]).success();
    assert!(started.starts_with("build runs.\n"), "{started}");
    let again = house.hob(&["loop", "start", "build"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("hob loop watch build"), "{again:?}");
    until_answered(&house, "build", 1);

    // What is said once is shown once.
    house.hob(&["loop", "working", "build", HOLD]).success();
    wait_until("the prompt with it", || gate.waiting() == 1);
    let held = show(&house, "build");
    assert_eq!(held["state"]["phase"], "prompt", "{held}");
    let number = held["state"]["iteration"].as_u64().expect("a number");
    let last = prompts(&sim).pop().expect("asked");
    assert!(last.contains(&format!("{TITLE}\n\n{HOLD}\n")), "{last}");
    assert!(
        last.contains("## Previous Response\n\nThis is answer"),
        "{last}"
    );

    // A stop ends the prompt in flight.
    let began = Instant::now();
    let stopped = house.hob(&["loop", "stop", "build"]).success();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    assert_eq!(
        stopped,
        format!("build is stopped at iteration {number}.\n")
    );
    wait_until("the model is left", || gate.waiting() == 0);
    let last = history(&house, "build").pop().expect("one");
    assert_eq!(
        (&last["iteration"], &last["success"]),
        (&number.into(), &false.into())
    );

    // It goes on with the next number, and what was said once is not said again after an answer.
    house.hob(&["loop", "working", "build", ""]).success();
    house.hob(&["loop", "start", "build"]).success();
    until_answered(&house, "build", usize::try_from(number).expect("small"));
    let later = prompts(&sim).pop().expect("asked");
    assert!(!later.contains(TITLE), "{later}");

    // The daemon dies in the middle of a prompt: the same iteration is answered by the next one.
    house.hob(&["loop", "working", "build", HOLD]).success();
    wait_until("the prompt with it", || gate.waiting() == 1);
    let before = show(&house, "build")["state"].clone();
    house.kill();
    gate.open();
    house.start_daemon();
    let number = before["iteration"].as_u64().expect("a number");
    until_answered(&house, "build", usize::try_from(number).expect("small") + 1);
    let after = show(&house, "build")["state"].clone();
    assert_eq!(after["running"], true);
    let grown = after["iteration"]
        .as_u64()
        .zip(after["sinceStart"].as_u64());
    let was = before["iteration"]
        .as_u64()
        .zip(before["sinceStart"].as_u64());
    let ((now, since), (then, since_then)) = grown.zip(was).expect("numbers");
    assert_eq!(now - then, since - since_then, "{before} {after}");

    house.hob(&["loop", "stop", "build"]).success();
    until_ended(&house, "build");
    let all = history(&house, "build");
    assert_whole(&all);
    let resumed = &all[usize::try_from(number).expect("small") - 1];
    assert_eq!(resumed["response"], format!("This is answer {number}."));
    assert!(
        resumed["prompt"]
            .as_str()
            .is_some_and(|it| it.contains(HOLD))
    );
    let asked = prompts(&sim);
    let with_memory = asked.iter().filter(|it| it.contains(HOLD));
    let mut numbers: Vec<&str> = with_memory
        .filter_map(|it| it.rsplit("Iteration: ").next())
        .collect();
    numbers.dedup();
    assert_eq!(
        numbers.len(),
        2,
        "each was shown to one iteration: {numbers:?}"
    );
}

#[test]
fn a_loop_ends_at_its_last_iteration_and_counts_anew_when_it_is_started_again() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob loop create two --task Count --every 1s --max 2 --start";
    house.shell(line).success();
    let ended = until_ended(&house, "two");
    assert_eq!(ended["state"]["stopped"], "max-iterations", "{ended}");
    assert_eq!(history(&house, "two").len(), 2);
    let listed = house.hob(&["loop", "list"]).success();
    let row = listed
        .lines()
        .find(|line| line.starts_with("two "))
        .expect("a row");
    assert!(row.contains("done") && row.contains("2/2"), "{row}");
    house.hob(&["loop", "start", "two"]).success();
    until_answered(&house, "two", 4);
    until_ended(&house, "two");
    assert_whole(&history(&house, "two"));
    assert_eq!(history(&house, "two").len(), 4);
    let once = house.hob(&["loop", "once", "two"]).success();
    assert!(once.starts_with("two begins iteration 5."), "{once}");
    until_answered(&house, "two", 5);
    until_ended(&house, "two");
    let gone = house.hob(&["loop", "delete", "two"]).success();
    assert_eq!(gone, "Deleted two with its history.\n");
    let missing = house.hob(&["loop", "show", "two"]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("hob loop list"), "{missing:?}");
}
