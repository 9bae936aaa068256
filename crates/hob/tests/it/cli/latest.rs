//! Commands that name no run or session mean the latest of this folder; sessions have titles; names
//! are checked; the shell completes names.

use crate::mind::house_with;
use crate::support::House;
use hob_sim::{Answer, Sim};
use serde_json::Value;

fn echo() -> Sim {
    Sim::start(|asked| Answer::words(format!("You said: {}", asked.last_user())))
}

#[test]
fn without_a_name_the_latest_run_of_this_folder_is_meant() {
    let sim = echo();
    let house = house_with(&sim);
    let nothing = house.shell("mkdir a b; cd a && hob run show");
    assert_eq!(nothing.code, Some(5), "{nothing:?}");
    assert!(
        nothing.stderr.contains("Nothing was asked in"),
        "{nothing:?}"
    );
    house.shell("cd a && hob ask 'from a'").success();
    house.shell("cd b && hob ask 'from b'").success();
    house.shell("cd b && hob 'plain words from b?'").success();
    let shown = house.shell("cd a && hob run show");
    assert!(shown.stdout.contains("You said: from a"), "{shown:?}");
    assert!(shown.stderr.contains("The latest run here, "), "{shown:?}");
    let shown = house.shell("cd b && hob run show").success();
    assert!(shown.contains("plain words from b?"), "{shown}");
    let history = house.shell("cd a && hob session history").success();
    assert!(history.contains("from a"), "{history}");
    let session = house.shell("cd a && hob --json session show").success();
    let session: Value = serde_json::from_str(&session).expect("one document");
    assert_eq!(session["title"], "from a");
    let old_name = house.shell("cd a && hob --json session get").success();
    assert_eq!(old_name.trim(), session.to_string());
    let undone = house.shell("cd a && hob undo");
    assert!(undone.stderr.contains("from a"), "{undone:?}");
}

#[test]
fn sessions_have_titles_and_send_says_what_it_does() {
    let house = House::start();
    house.hob(&["session", "create", "k"]).success();
    let sent = house.hob(&["session", "send", "k", "Plan the garden\nwith roses"]);
    assert!(sent.stderr.contains("No model was asked."), "{sent:?}");
    assert!(sent.stderr.contains("hob ask --session k"), "{sent:?}");
    let list = house.hob(&["session", "list"]).success();
    assert!(
        list.contains("TITLE") && list.contains("Plan the garden"),
        "{list}"
    );
    assert!(!list.contains("roses"), "one line: {list}");
    house.hob(&["session", "label", "k", "Roses"]).success();
    let list = house.hob(&["session", "list"]).success();
    assert!(
        list.contains("Roses") && !list.contains("Plan"),
        "a label is the title: {list}"
    );
}

#[test]
fn misspelt_names_are_answered_with_the_right_ones() {
    let sim = echo();
    let house = house_with(&sim);
    let wrong = |line: &str, said: &str| {
        let done = house.shell(line);
        assert_ne!(done.code, Some(0), "{line}: {done:?}");
        assert!(done.stderr.contains(said), "{line}: {done:?}");
    };
    wrong("hob ask --tools raed,write hi", "Did you mean 'read'?");
    wrong(
        "hob model set defualt sim/sim-small",
        "Did you mean 'default'?",
    );
    wrong(
        "hob model set default sim/sim-smal",
        "Did you mean 'sim/sim-small'?",
    );
    wrong(
        "hob model set default smi/sim-small",
        "There is no provider 'smi'.",
    );
    wrong(
        "hob model add x --kind openai --url 127.0.0.1:1/v1",
        "Did you mean 'http://127.0.0.1:1/v1'?",
    );
    let away = house.shell("hob model add away --kind openai --url http://127.0.0.1:1/v1");
    assert!(away.stderr.contains("does not answer"), "{away:?}");
    wrong("hob what is my uptime", "hob \"what is my uptime\"");
    assert_eq!(sim.asked().len(), 0, "no model was asked");
}

#[test]
fn config_unset_resets_a_setting() {
    let house = House::start();
    house
        .hob(&["config", "set", "log.level", "debug"])
        .success();
    let unset = house.hob(&["config", "unset", "log.level"]).success();
    assert!(unset.starts_with("log.level = info"), "{unset}");
}

#[test]
fn the_start_of_the_daemon_is_told_once() {
    let house = House::builder().env("HOB_AUTOSTART", "1").build();
    let first = house.hob(&["restart"]);
    house.hob(&["down"]).success();
    assert_eq!(first.stderr.matches("Starting").count(), 1, "{first:?}");
}

#[test]
fn notes_do_not_run_into_the_answer() {
    let sim = Sim::start(|_| Answer::words("no line break at the end"));
    let house = house_with(&sim);
    let both = house.shell("hob ask --budget-steps 1 hi 2>&1").success();
    let line = both.lines().find(|line| line.contains("no line break"));
    assert_eq!(line, Some("no line break at the end"), "{both}");
}

#[test]
fn a_shell_completes_names_that_the_daemon_knows() {
    let sim = echo();
    let house = house_with(&sim);
    house.hob(&["session", "create", "chat:garden"]).success();
    house.hob(&["session", "create", "chat:house"]).success();
    let names = |words: &[&str]| {
        house
            .hob(&[&["complete-names", "--"], words].concat())
            .success()
    };
    assert_eq!(names(&["ask", "--session", "chat:g"]), "chat:garden\n");
    assert!(names(&["model", "test", ""]).contains("sim/sim-small"));
    assert!(names(&["service", "start", ""]).contains("llm"));
    assert_eq!(names(&["ask", ""]), "");
    // Bash splits the word at its colon, so the answer lacks what is before it.
    let script = "source <(hob completions bash); COMP_LINE='hob session show chat:g'; \
                  COMP_POINT=${#COMP_LINE}; COMP_WORDS=(hob session show chat : g); COMP_CWORD=5; \
                  _hob_names hob g :; echo \"${COMPREPLY[@]}\"; \
                  COMP_LINE='hob sess'; COMP_POINT=8; COMP_WORDS=(hob sess); COMP_CWORD=1; \
                  _hob_names hob sess hob; echo \"${COMPREPLY[@]}\"";
    let mut bash = house.command_of("bash", &["-c", script]);
    let done = bash
        .env("PATH", crate::support::hob_path())
        .output()
        .expect("bash runs");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(
        said,
        "garden\nsession\n",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
