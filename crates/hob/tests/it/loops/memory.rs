//! The persistent memory: a person's, the loop's own, and back again.

use super::{json, prompts, show, teller, until_ended};
use crate::mind::house_with;
use crate::support::{House, Tty};
use hob_sim::{Answer, Gate, Sim};
use serde_json::json;

#[test]
fn it_is_set_shown_and_taken_back() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    house
        .shell("hob loop create m --task T --persistent 'Be brief.' --max 1")
        .success();
    assert_eq!(
        house.hob(&["loop", "persistent", "m"]).success(),
        "Be brief.\n"
    );
    let set = house.hob_with_input(&["loop", "persistent", "m", "-"], "Be kind.\nAlways.\n");
    let set = set.success();
    assert!(
        set.starts_with("The persistent memory is at revision"),
        "{set}"
    );
    house.hob(&["loop", "start", "m"]).success();
    until_ended(&house, "m");
    let prompt = prompts(&sim).pop().expect("asked");
    assert!(
        prompt.starts_with("## Persistent Memory\n\nBe kind.\nAlways.\n"),
        "{prompt}"
    );
    house.hob(&["loop", "persistent", "m", "--undo"]).success();
    assert_eq!(
        house.hob(&["loop", "persistent", "m"]).success(),
        "Be brief.\n"
    );
    let all = house
        .hob(&["loop", "persistent", "m", "--revisions"])
        .success();
    for words in ["Be brief.", "Be kind.", "by "] {
        assert!(all.contains(words), "{words}: {all}");
    }
    house.hob(&["loop", "working", "m", "for once"]).success();
    assert_eq!(house.hob(&["loop", "working", "m"]).success(), "for once\n");
}

#[test]
fn the_loop_itself_writes_it_without_a_grant_and_a_person_takes_it_back() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None if !asked.last_user().contains("Learned") => {
            let args = json!({ "action": "set", "text": "Learned: the door is red." });
            Answer::asks("loop_memory", args)
        }
        _ => Answer::words("Noted."),
    });
    let house = house_with(&sim);
    let line = "hob loop create m --task Learn --persistent Begin --every 1s --max 2 --start";
    house.shell(line).success();
    until_ended(&house, "m");
    let memory = show(&house, "m")["persistent"].clone();
    assert_eq!(memory["text"], "Learned: the door is red.", "{memory}");
    assert_eq!(memory["by"], "loop:m:1");
    let second = prompts(&sim).pop().expect("asked");
    assert!(
        second.contains("## Persistent Memory\n\nLearned: the door is red."),
        "{second}"
    );
    house.hob(&["loop", "persistent", "m", "--undo"]).success();
    let memory = json(&house, &["loop", "persistent", "m"]);
    assert_eq!(memory["text"], "Begin", "{memory}");
}

#[test]
fn an_editor_changes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let editor = folder.path().join("editor");
    std::fs::write(&editor, "sed -i s/one/two/ \"$1\"\n").expect("a file");
    let editor = format!("sh {}", editor.display());
    let house = House::builder().env("EDITOR", &editor).start();
    house
        .shell("hob loop create m --task T --persistent one")
        .success();
    let plain = house.hob(&["loop", "persistent", "m", "--edit"]);
    assert_eq!(plain.code, Some(2), "{plain:?}");
    for expected in ["revision", "Nothing was changed."] {
        let (code, seen) = Tty::start(&house, "loop persistent m --edit").end();
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains(expected), "{seen}");
    }
    assert_eq!(house.hob(&["loop", "persistent", "m"]).success(), "two\n");
}
