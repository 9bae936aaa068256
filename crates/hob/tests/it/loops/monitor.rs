//! What a monitor prints is in the prompt, however it ends.

use super::{prompts, teller, until_answered, until_ended};
use crate::mind::house_with;
use hob_sim::Gate;

#[test]
fn output_exit_code_and_stderr_are_in_the_prompt() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    std::fs::write(house.work().join("app.log"), "all is quiet\n").expect("a file");
    let line = "hob loop create watch --task Look --max 1 --start \
                --monitor 'tail -n 1 app.log; echo trouble >&2; exit 3'";
    house.shell(line).success();
    until_ended(&house, "watch");
    let prompt = prompts(&sim).pop().expect("asked");
    for words in [
        "## Monitor Output",
        "exit code 3",
        "all is quiet\n",
        "[stderr]\ntrouble\n",
    ] {
        assert!(prompt.contains(words), "no {words:?} in:\n{prompt}");
    }
    let shown = house.hob(&["loop", "show", "watch"]).success();
    assert!(
        shown.contains("exit code 3") && shown.contains("all is quiet"),
        "{shown}"
    );
}

#[test]
fn one_that_hangs_or_fails_does_not_stop_the_loop() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob loop create slow --task Look --max 1 --start \
                --monitor 'echo begun; sleep 600' --monitor-timeout 1s";
    house.shell(line).success();
    until_answered(&house, "slow", 1);
    let prompt = prompts(&sim).pop().expect("asked");
    assert!(prompt.contains("without an exit code"), "{prompt}");
    assert!(prompt.contains("begun"), "{prompt}");
    let line = "hob loop create none --task Look --max 1 --start --monitor ./is-not-there";
    house.shell(line).success();
    until_answered(&house, "none", 1);
    let prompt = prompts(&sim).pop().expect("asked");
    assert!(prompt.contains("exit code 127"), "{prompt}");
}

#[test]
fn it_changes_its_folder_and_sees_nothing_of_the_house() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let outside = tempfile::tempdir().expect("a folder");
    let line = format!(
        "hob loop create nosy --task Look --max 1 --start --monitor \
         'echo here > here.txt; ls {home}; cat {home}/owner.token; echo x > {out}/x; echo end'",
        home = house.home().display(),
        out = outside.path().display(),
    );
    house.shell(&line).success();
    until_ended(&house, "nosy");
    let prompt = prompts(&sim).pop().expect("asked");
    assert!(prompt.contains("end\n"), "{prompt}");
    assert!(!prompt.contains(&house.token()), "the token is seen");
    assert!(house.work().join("here.txt").exists());
    assert!(!outside.path().join("x").exists());
}
