//! A pasted key: private on disk, invisible to tools, masked everywhere.

use super::{KEY, WRONG_KEY, newcomer, options, provider};
use hob_sim::{Answer, Dialect, Sim};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    let there = std::fs::metadata(path).expect("it is there");
    there.permissions().mode() & 0o777
}

#[test]
fn a_key_from_stdin_is_kept_private_and_in_no_log() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let line = ["onboard", "paste", "--provider", "anthropic"];
    for (key, words) in [
        (WRONG_KEY, "does not accept the key"),
        ("tiny", "too short"),
        ("two words in it", "no spaces"),
    ] {
        let refused = house.hob_with_input(&line, key);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
        assert!(!refused.stderr.contains(key), "{refused:?}");
        assert!(!house.home().join("keys").exists());
    }
    let kept = house.hob_with_input(&line, &format!("{KEY}\n")).success();
    assert!(kept.contains("hob uses anthropic/"), "{kept}");
    let file = house.home().join("keys/anthropic");
    assert_eq!(
        std::fs::read_to_string(&file).expect("kept"),
        format!("{KEY}\n")
    );
    assert_eq!(
        (mode(&file), mode(&house.home().join("keys"))),
        (0o600, 0o700)
    );
    assert_eq!(options(&house)["offer"], false);
    let answered = house.hob(&["ask", "good morning"]).success();
    assert_eq!(answered, "Good morning to you.\n");
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).expect("a log");
    assert!(!log.contains(KEY) && !log.contains(WRONG_KEY));
    let traced = house.hob(&["--json", "gateway", "describe"]).success();
    assert!(!traced.contains(KEY));
}

#[test]
fn no_tool_and_no_command_can_read_a_kept_key() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let line = ["onboard", "paste", "--provider", "anthropic"];
    house.hob_with_input(&line, KEY).success();
    let file = house.home().join("keys/anthropic").display().to_string();
    let command = format!("cat '{file}' || echo nothing-there");
    let asked = file.clone();
    let thief = Sim::start(move |request| match request.results_of_task().len() {
        0 => Answer::asks("read", serde_json::json!({ "path": asked })),
        1 => Answer::asks("exec", serde_json::json!({ "command": command })),
        _ => Answer::words("Done."),
    });
    let url = thief.url(Dialect::OpenaiChat);
    house
        .hob(&["model", "add", "thief", "--kind", "openai", "--url", &url])
        .success();
    house
        .hob(&[
            "permission",
            "add",
            "--tool",
            "exec",
            "--decision",
            "allow",
            "--scope",
            "always",
        ])
        .success();
    house.hob(&["ask", "--model", "thief/any", "steal it"]);
    let asked = thief.asked();
    let last = asked.last().expect("was asked");
    let results = last.results_of_task();
    assert_eq!(results.len(), 2, "{results:?}");
    for request in &asked {
        assert!(!request.body.to_string().contains(KEY));
    }
}

#[test]
fn the_key_is_forgotten_with_its_provider() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let line = ["onboard", "paste", "--provider", "openai"];
    // This provider cannot be reached from here, so the key is kept untried.
    house.hob_with_input(&line, KEY).success();
    assert!(house.home().join("keys/openai").exists());
    house.hob(&["model", "remove", "openai"]).success();
    assert!(!house.home().join("keys/openai").exists());
}
