//! `hob cron …` as a person types it: changes, mistakes, hooks.

use super::slots;
use crate::loops::{json, teller};
use crate::mind::house_with;
use hob_sim::Gate;
use serde_json::{Value, json};

#[test]
fn a_schedule_is_previewed_and_a_wrong_one_refused() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = ["cron", "preview", "0 9 * * *", "--zone", "UTC", "-n", "2"];
    let shown = house.hob(&line).success();
    assert!(shown.starts_with("every day at 09:00 (UTC)\n"), "{shown}");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let preview = json(&house, &["cron", "preview", "every 10m"]);
    assert_eq!(preview["next"].as_array().map(Vec::len), Some(5));
    let refused = house.hob(&["cron", "preview", "sometimes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(house.hob(&["cron", "list"]).success().contains("no jobs"));
}

#[test]
fn a_job_is_changed_and_what_is_not_named_stays() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob cron add morning --cron '0 9 * * MON-FRI' --zone Europe/Berlin \
                --task 'What is on?' --model sim/sim-small --budget-steps 3 --missed all \
                --window 1h --overlap queue --jitter 30s --hours 08:00-22:00 \
                --description 'The day' --allow 'exec command=date' --notify chat:main";
    let added = house.shell(line).success();
    assert!(added.contains("It may: exec command=date"), "{added}");
    let job = json(&house, &["cron", "show", "morning"]);
    assert_eq!(job["schedule"], "0 9 * * MON-FRI");
    assert_eq!(
        (&job["zone"], &job["missed"]),
        (&json!("Europe/Berlin"), &json!("all"))
    );
    assert_eq!(
        (&job["windowMs"], &job["jitterMs"]),
        (&json!(3_600_000), &json!(30_000))
    );
    assert_eq!(job["work"]["budget"], json!({ "steps": 3 }));
    let line = "hob cron update morning --every 90m --budget-dollars 1 --clear hours,notify,allow";
    house.shell(line).success();
    let job = json(&house, &["cron", "show", "morning"]);
    assert_eq!(job["schedule"], "every 90m");
    assert_eq!(
        job["work"]["budget"],
        json!({ "steps": 3, "microDollars": 1_000_000 })
    );
    assert_eq!(job["work"]["task"], "What is on?");
    assert!(
        job["activeHours"].is_null() && job["notify"].is_null(),
        "{job}"
    );
    let page = house.hob(&["cron", "show", "morning"]).success();
    for words in [
        "morning",
        "every 90m",
        "waits for the one before",
        "What is on?",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    house.hob(&["cron", "disable", "morning"]).success();
    let on = house.hob(&["cron", "enable", "morning"]).success();
    assert!(
        on.contains("morning is enabled.") && on.contains("It is due next:"),
        "{on}"
    );
    let status = house.hob(&["status"]).success();
    assert!(status.contains("1 job, next morning in 1 h"), "{status}");
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let lines = [
        ("cron add x --every 10m", "--task"),
        ("cron add x --task T", "--every"),
        ("cron add x --cron '61 * * * *' --task T", "61"),
        ("cron add x --every soon --task T", "soon"),
        ("cron add x --at 2001-01-01T00:00 --task T", "passed"),
        (
            "cron add x --every 1h --zone Mars/North --task T",
            "Mars/North",
        ),
        (
            "cron add x --every 1h --command true --allow write",
            "only allowed with --task",
        ),
        (
            "cron add x --every 1h --task T --network",
            "only allowed with --command",
        ),
        (
            "cron add x --every 1h --command true --network=lan",
            "[possible values: true, false, host]",
        ),
        (
            "cron add x --every 1h --loop l --model m",
            "only allowed with --task",
        ),
    ];
    for (line, words) in lines {
        let wrong = house.shell(&format!("hob {line}"));
        assert_eq!(wrong.code, Some(2), "{line}: {wrong:?}");
        assert!(wrong.stderr.contains(words), "{line}: {}", wrong.stderr);
    }
    let none = house.hob(&["cron", "list"]).success();
    assert!(none.starts_with("There are no jobs."), "{none}");
    for verb in ["show", "run", "enable", "remove", "secret"] {
        let missing = house.hob(&["cron", verb, "nobody"]);
        assert_eq!(missing.code, Some(5), "{verb}: {missing:?}");
        assert!(
            missing.stderr.contains("hob cron list"),
            "{verb}: {missing:?}"
        );
    }
}

#[test]
fn a_command_has_the_network_that_was_named() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    for (name, flag, network, shown) in [
        ("none", "", json!(false), "true\n"),
        ("proxied", "--network", json!(true), "(with network)"),
        (
            "hosted",
            "--network=host",
            json!("host"),
            "(with this machine's own network)",
        ),
    ] {
        let line = format!("hob cron add {name} --every 1h {flag} --command true");
        house.shell(&line).success();
        let job = house.hob(&["cron", "show", name]).success();
        assert!(job.contains(shown), "{name}: {job}");
        let job = house.hob(&["cron", "show", name, "--json"]).success();
        let job: Value = serde_json::from_str(&job).expect("is JSON");
        let found = job.to_string().contains(&format!("\"network\":{network}"));
        assert!(found, "{name}: {job}");
    }
    house
        .shell("hob cron update hosted --network=false")
        .success();
    let job = house.hob(&["cron", "show", "hosted"]).success();
    assert!(!job.contains("network"), "{job}");
}

#[test]
fn another_system_calls_a_job_as_its_secret_says() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob cron add deploy --webhook --task 'Look at this: {{body.what}}'";
    let added = house.shell(line).success();
    assert!(added.contains("hob cron secret deploy"), "{added}");
    let shown = house.hob(&["cron", "secret", "deploy"]).success();
    let (_, call) = shown.split_once("\n\n").expect("a line to try");
    let call = call.replace("{}", r#"{"what":"the house"}"#);
    let called = house.shell(&format!("{} -s -f", call.trim()));
    assert_eq!(called.code, Some(0), "{called:?} of {call}");
    let done = super::until_slots(&house, "deploy", "ran", 1);
    assert_eq!(done[0]["origin"], "webhook");
    let prompt = crate::loops::prompts(&sim).pop().expect("asked");
    assert!(prompt.contains("the house"), "{prompt}");
    let old = call.clone();
    house
        .hob(&["cron", "secret", "deploy", "--renew"])
        .success();
    let refused = house.shell(&format!("{} -s -f", old.trim()));
    assert_eq!(refused.code, Some(22), "{refused:?}");
    assert_eq!(slots(&house, "deploy").len(), 1);
}
