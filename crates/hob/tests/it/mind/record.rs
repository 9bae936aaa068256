//! `hob audit`: every decision is listed, the record is whole, and a copy is checked without a
//! daemon.

use super::house_with;
use crate::support::House;
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};

fn json_of(house: &House, line: &str) -> Value {
    let text = house.shell(&format!("hob --json {line}")).success();
    serde_json::from_str(&text).expect("one document")
}

fn house_with_decisions() -> (Sim, House) {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", json!({ "path": "notes.txt", "content": "new\n" })),
        Some(_) => Answer::words("Well."),
    });
    let house = house_with(&sim);
    assert_eq!(house.shell("hob ask -s a 'note it'").code, Some(3));
    let add = "hob permission add --tool write --decision allow --scope folder";
    house.shell(add).success();
    house.shell("hob ask -s b 'note it'").success();
    (sim, house)
}

#[test]
fn decisions_are_listed_by_session_run_and_tool() {
    let (_sim, house) = house_with_decisions();
    let acts = |line: &str| -> Vec<String> {
        let found = json_of(&house, line);
        let entries = found["entries"].as_array().expect("a list").clone();
        let acts = entries.iter().filter_map(|entry| entry["act"].as_str());
        acts.map(str::to_owned).collect()
    };
    let all = acts("audit list");
    for act in ["denied", "rule-added", "allowed"] {
        assert!(all.iter().any(|it| it == act), "{act} in {all:?}");
    }
    assert!(acts("audit list -s a").iter().all(|act| act != "allowed"));
    assert!(acts("audit list --run b").contains(&"allowed".to_owned()));
    assert_eq!(acts("audit list --tool exec"), [""; 0]);
    assert_eq!(acts("audit list --limit 1").len(), 1);
    let table = house.shell("hob audit list").success();
    assert!(
        table.contains("write") && table.contains("unattended"),
        "{table}"
    );
    let wrong = house.shell("hob audit list --limit none");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let unknown = house.shell("hob audit list --run none:such");
    assert_eq!(unknown.code, Some(5), "{unknown:?}");
}

#[test]
fn a_copy_is_checked_without_a_daemon_and_a_changed_one_is_found_out() {
    let (_sim, mut house) = house_with_decisions();
    let checked = house.shell("hob audit verify").success();
    assert!(checked.contains("whole and in order"), "{checked}");
    let head = json_of(&house, "audit verify")["head"].clone();
    let head = head.as_str().expect("a hash").to_owned();
    house.shell("hob audit export --out copy.jsonl").success();
    let streamed = house.shell("hob audit export").success();
    let copy = house.work().join("copy.jsonl");
    let text = std::fs::read_to_string(&copy).expect("readable");
    assert_eq!(text, streamed);
    house.kill();
    let good = format!("hob audit verify --file copy.jsonl --head {head}");
    house.shell(&good).success();
    for (name, changed) in [
        ("a word", text.replacen("notes.txt", "other.txt", 1)),
        (
            "a line taken out",
            text[text.find('\n').expect("lines") + 1..].to_owned(),
        ),
        ("the end cut off", {
            let lines: Vec<&str> = text.lines().collect();
            lines[..lines.len() - 1].join("\n")
        }),
        ("no JSON", text.clone() + "{"),
    ] {
        assert_ne!(changed, text, "{name}");
        std::fs::write(&copy, &changed).expect("writable");
        let found = house.shell(&good);
        assert_eq!(found.code, Some(1), "{name}: {found:?}");
        assert!(found.stdout.contains("not whole"), "{name}: {found:?}");
    }
    let missing = house.shell("hob audit verify --file none.jsonl");
    assert_eq!(missing.code, Some(2), "{missing:?}");
}
