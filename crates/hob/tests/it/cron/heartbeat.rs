//! The heartbeat: while there is nothing to look after, no model is asked.

use super::slots;
use crate::loops::json;
use crate::support::House;
use hob_sim::{Answer, Dialect, Sim};

#[test]
fn an_empty_page_costs_nothing_and_a_full_one_is_looked_after() {
    let sim = Sim::start(|asked| {
        if asked.last_user().contains("Water") {
            Answer::words("The plants are dry.")
        } else {
            Answer::words("HEARTBEAT_OK")
        }
    });
    let config = "[heartbeat]\nenabled = true\nevery = \"1h\"\nnotify = \"chat:main\"\n";
    let house = House::builder().config(config).start();
    let url = sim.url(Dialect::OpenaiChat);
    let add = ["model", "add", "sim", "--kind", "openai", "--url", &url];
    house.hob(&add).success();
    house
        .hob(&["model", "set", "default", "sim/sim-small"])
        .success();
    house.hob(&["session", "create", "chat:main"]).success();
    let asked = sim.asked_count();

    let job = json(&house, &["cron", "show", "heartbeat"]);
    assert_eq!(job["work"]["kind"], "heartbeat", "{job}");
    for text in [
        None,
        Some(""),
        Some("# Things to do\n\n<!-- none -->\n- \n- [ ]\n"),
    ] {
        if let Some(text) = text {
            std::fs::write(house.home().join("HEARTBEAT.md"), text).expect("a file");
        }
        let skipped = house.hob(&["--json", "cron", "run", "heartbeat", "--wait"]);
        let slot: serde_json::Value = serde_json::from_str(&skipped.stdout).expect("a slot");
        assert_eq!(slot["state"], "skipped", "{text:?}: {slot}");
        assert!(slot["reason"].is_string(), "{slot}");
    }
    assert_eq!(sim.asked_count(), asked, "no model was asked");

    std::fs::write(house.home().join("HEARTBEAT.md"), "- Mind the door\n").expect("a file");
    house.hob(&["cron", "run", "heartbeat", "--wait"]).success();
    assert_eq!(sim.asked_count(), asked + 1);
    std::fs::write(house.home().join("HEARTBEAT.md"), "- Water the plants\n").expect("a file");
    house.hob(&["cron", "run", "heartbeat", "--wait"]).success();
    crate::support::wait_until("the session is told", || {
        let said = house.hob(&["session", "history", "chat:main"]).success();
        said.contains("The plants are dry.")
    });
    let said = house.hob(&["session", "history", "chat:main"]).success();
    assert!(!said.contains("HEARTBEAT_OK"), "{said}");
    assert_eq!(slots(&house, "heartbeat").len(), 5);
}
