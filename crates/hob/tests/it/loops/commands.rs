//! `hob loop …` as a person types it: texts from files, changes, mistakes.

use super::{json, show, teller, until_answered, until_ended};
use crate::mind::house_with;
use hob_sim::Gate;
use serde_json::json;

#[test]
fn texts_come_from_files_and_stdin_and_what_is_not_named_stays() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let work = house.work();
    std::fs::write(work.join("task.md"), "Look at *everything*.\n").expect("a file");
    let line = "echo 'You are calm.' | hob loop create calm --task @task.md --system - \
                --monitor 'echo ok' --budget-steps 3 --budget-dollars 0.5 --max 3 \
                --notify chat:main --allow 'exec command=git status *' --allow write";
    let made = house.shell(line).success();
    assert!(
        made.contains("It may: exec command='git status *'"),
        "{made}"
    );
    let config = show(&house, "calm")["config"].clone();
    assert_eq!(config["user"], "Look at *everything*.");
    assert_eq!(config["system"], "You are calm.");
    let folder = work.canonicalize().expect("it is there");
    assert_eq!(config["grants"][1]["path"], folder.display().to_string());

    let line = "hob loop update calm --monitor-every 10s --budget-steps 5 --allow move \
                --notify-failures";
    house.shell(line).success();
    let config = show(&house, "calm")["config"].clone();
    assert_eq!(config["monitor"]["command"], "echo ok");
    assert_eq!(config["monitor"]["intervalMs"], 10_000);
    assert_eq!(
        config["budget"],
        json!({ "steps": 5, "microDollars": 500_000 })
    );
    assert_eq!(config["grants"].as_array().map(Vec::len), Some(3));
    let tells = json!({ "sessionKey": "chat:main", "failuresOnly": true });
    assert_eq!(config["notify"], tells);
    let line = ["loop", "update", "calm", "--clear", "monitor,allow,notify"];
    house.hob(&line).success();
    let config = show(&house, "calm")["config"].clone();
    let cleared = (&config["monitor"], &config["grants"], &config["notify"]);
    assert_eq!(cleared, (&json!(null), &json!([]), &json!(null)));
    assert_eq!(config["maxIterations"], 3);
}

#[test]
fn mistakes_are_named_with_what_to_do_and_nothing_is_made() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let lines = [
        ("loop create x --task T --every 10ms", "between 1s and 7d"),
        ("loop create x --task @nowhere.md", "nowhere.md"),
        ("loop create x --task T --allow 'exec cargo'", "ARG=PATTERN"),
        ("loop create x --task T --monitor-every 5s", "no monitor"),
        ("loop create x --task - --system - < /dev/null", "stdin"),
        ("loop create 'Not A Name' --task T", "name"),
        ("loop create x --task T --model nobody/knows-it", "nobody"),
    ];
    for (line, words) in lines {
        let wrong = house.shell(&format!("hob {line}"));
        assert_eq!(wrong.code, Some(2), "{line}: {wrong:?}");
        assert!(wrong.stderr.contains(words), "{line}: {}", wrong.stderr);
    }
    let none = house.hob(&["loop", "list"]).success();
    assert!(none.starts_with("There are no loops."), "{none}");
    house.shell("hob loop create x --task T").success();
    let twice = house.shell("hob loop create x --task T");
    assert_eq!(twice.code, Some(1), "{twice:?}");
    assert!(twice.stderr.contains("hob loop update x"), "{twice:?}");
    let nothing = house.hob(&["loop", "update", "x"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[test]
fn a_loop_is_seen_in_history_status_and_doctor() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob loop create seen --task 'Be seen.' --every 1h --start";
    house.shell(line).success();
    until_answered(&house, "seen", 1);
    let status = house.hob(&["status"]).success();
    assert!(status.contains("1 running loop"), "{status}");
    assert_eq!(json(&house, &["status"])["loopsRunning"], 1);
    let table = house.hob(&["loop", "history", "seen"]).success();
    assert!(
        table.contains("answered") && table.contains("This is answer 1."),
        "{table}"
    );
    let whole = house.hob(&["loop", "history", "seen", "1"]).success();
    assert!(
        whole.contains("Be seen.") && whole.contains("Iteration: 1"),
        "{whole}"
    );
    let beyond = house.hob(&["loop", "history", "seen", "9"]);
    assert_eq!(beyond.code, Some(5), "{beyond:?}");
    let running = house.hob(&["loop", "delete", "seen"]);
    assert_eq!(running.code, Some(1), "{running:?}");
    assert!(running.stderr.contains("hob loop stop seen"), "{running:?}");
    house.hob(&["loop", "stop", "seen"]).success();
    until_ended(&house, "seen");
}
