//! The ordinary story in a real terminal: ask for a change, see it, allow it, see it done, undo
//! it; say no; say yes for the folder, and not be asked again.

use super::house_with;
use crate::support::{House, Pane};
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};
use std::fs;

/// A model that makes the call its task names, then says what came of it.
fn obedient() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => {
            let (name, args) = ordered(asked);
            Answer::asks(&name, args)
        }
        Some(result) if result.text.contains("denied this call") => Answer::words("Then not."),
        Some(_) => Answer::words("It is done."),
    })
}

/// `write:TEXT`, `exec:COMMAND`, or `sessions_spawn:` and one of these.
fn ordered(asked: &SimRequest) -> (String, Value) {
    let task = asked.last_user();
    let (tool, rest) = task.split_once(':').expect("an order");
    let args = match tool {
        "write" => json!({ "path": "notes.txt", "content": format!("{rest}\n") }),
        "sessions_spawn" => json!({ "task": rest }),
        _ => json!({ "command": rest }),
    };
    (tool.to_owned(), args)
}

fn notes(house: &House) -> String {
    fs::read_to_string(house.work().join("notes.txt")).expect("readable")
}

fn begin(sim: &Sim) -> House {
    let house = house_with(sim);
    fs::write(house.work().join("notes.txt"), "old\n").expect("writable");
    house
}

#[test]
fn a_change_is_seen_allowed_done_and_undone() {
    let sim = obedient();
    let house = begin(&sim);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob ask --session w 'write:new'");
    let screen = pane.wait_for("[y] yes, once");
    for part in ["Allow this? Write \"notes.txt\".", "-old", "+new"] {
        assert!(screen.contains(part), "{part} on:\n{screen}");
    }
    // A person is there, so it waits for them.
    assert!(!screen.contains("Denied automatically"), "{screen}");
    assert!(
        pane.colours().contains("\u{1b}[32m+new"),
        "what is added is green"
    );
    assert_eq!(notes(&house), "old\n", "nothing happens before the yes");
    pane.press("y");
    pane.wait_for("It is done.");
    assert_eq!(notes(&house), "new\n");
    pane.run("hob undo w");
    pane.wait_for("restored");
    assert_eq!(notes(&house), "old\n");
}

#[test]
fn a_no_changes_nothing_and_small_screens_show_all_keys() {
    let sim = obedient();
    let house = begin(&sim);
    for (columns, rows) in [(40, 15), (160, 50)] {
        let pane = Pane::open(&house, columns, rows);
        pane.run("hob ask 'write:new'");
        let screen = pane.wait_for("[a] always  (write anywhere)");
        for part in ["Allow this?", "-old", "[y] yes, once", "[?] details"] {
            assert!(screen.contains(part), "{part} on:\n{screen}");
        }
        pane.press("?");
        pane.wait_for("[a] always stores this rule");
        pane.wait_for("[a] always  (write anywhere)\n");
        pane.press("n");
        pane.wait_for("Then not.");
        assert_eq!(notes(&house), "old\n");
    }
}

#[test]
fn a_yes_for_this_folder_asks_no_second_time() {
    let sim = obedient();
    let house = begin(&sim);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob ask 'write:one'");
    let screen = pane.wait_for("[f] this folder");
    let folder = house.work().canonicalize().expect("it is there");
    let folder = folder.display().to_string();
    assert!(screen.contains(&format!("write in {folder}")), "{screen}");
    pane.press("f");
    pane.wait_for("It is done.");
    assert_eq!(notes(&house), "one\n");
    pane.run("hob ask 'write:two'");
    let screen = pane.wait_for("It is done.");
    assert!(!screen.contains("Allow this?"), "{screen}");
    assert_eq!(notes(&house), "two\n");
    // In another folder it is asked again.
    pane.run("mkdir -p /tmp/elsewhere-$$ && cd /tmp/elsewhere-$$ && hob ask 'write:three'");
    pane.wait_for("[y] yes, once");
    pane.press("n");
    pane.wait_for("Then not.");
    pane.run("rmdir $PWD; cd; hob permission list");
    pane.wait_for("write");
}

#[test]
fn a_command_is_shown_allowed_and_heard_while_it_runs() {
    let sim = obedient();
    let house = begin(&sim);
    let pane = Pane::open(&house, 80, 24);
    let gate = house.work().join("go");
    pane.run(
        "hob ask -s w 'exec:echo hello $((6*7)); until [ -e go ]; do sleep 0.1; done; exit 3'",
    );
    let screen = pane.wait_for("[y] yes, once");
    for part in ["bash", "sandbox:", "network: off", "echo hello"] {
        assert!(screen.contains(part), "{part} on:\n{screen}");
    }
    pane.press("s");
    // It still runs, since its gate is closed.
    pane.wait_for("│ hello 42");
    fs::write(&gate, "").expect("writable");
    pane.wait_for("(exit code 3)");
    pane.wait_for("It is done.");
    // The very same command in the same session is not asked again, another one is.
    pane.run(
        "hob ask -s w 'exec:echo hello $((6*7)); until [ -e go ]; do sleep 0.1; done; exit 3'",
    );
    let screen = pane.wait_for("It is done.");
    assert!(!screen.contains("Allow this?"), "{screen}");
    pane.run("hob ask -s w 'exec:touch other'");
    pane.wait_for("[y] yes, once");
    pane.press("n");
    pane.wait_for("Then not.");
    assert!(!house.work().join("other").exists());
}

#[test]
fn what_was_changed_since_is_kept_and_said() {
    let sim = obedient();
    let house = begin(&sim);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob ask --session w 'write:new'");
    pane.wait_for("[y] yes, once");
    pane.press("y");
    pane.wait_for("It is done.");
    fs::write(house.work().join("notes.txt"), "mine\n").expect("writable");
    let undone = house.shell("hob undo w");
    assert_eq!(undone.code, Some(1), "{undone:?}");
    assert!(undone.stdout.contains("changed after"), "{undone:?}");
    assert_eq!(notes(&house), "mine\n");
}

#[test]
fn what_a_run_started_by_another_asks_is_asked_here_too() {
    let sim = obedient();
    let house = begin(&sim);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob ask --session w 'sessions_spawn:write:new'");
    pane.wait_for("[y] yes, once");
    pane.press("y");
    let screen = pane.wait_for("Allow this? Write \"notes.txt\".");
    assert_eq!(notes(&house), "old\n", "{screen}");
    pane.wait_for("(write anywhere)");
    pane.press("y");
    pane.wait_for("It is done.");
    assert_eq!(notes(&house), "new\n");
    pane.run("hob undo w");
    pane.wait_for("restored");
    assert_eq!(
        notes(&house),
        "old\n",
        "what it had done for it is undone with it"
    );
}
