//! `hob permission`: rules stored, listed and taken away; questions answered from elsewhere.

use super::{house_with, is_refused};
use crate::support::{House, Tty, wait_until};
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};

fn json_of(house: &House, line: &str) -> Value {
    let text = house.shell(&format!("hob --json {line}")).success();
    serde_json::from_str(&text).expect("one document")
}

/// A model that wants to write.
fn writer() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", json!({ "path": "notes.txt", "content": "new\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("Then not."),
        Some(_) => Answer::words("It is done."),
    })
}

#[test]
fn a_rule_is_stored_shown_and_taken_away() {
    let house = House::start();
    let folder = house.work().canonicalize().expect("it is there");
    std::os::unix::fs::symlink(&folder, house.work().join("link")).expect("links");
    let added = house.shell("hob permission add --tool write --decision allow --scope folder");
    let said = added.success();
    let place = format!("allow write in folder {}", folder.display());
    assert!(said.contains(&place), "{said}");
    let rule = json_of(
        &house,
        "permission add --tool exec --match 'command=cargo test *' --decision deny \
         --scope always --path link/. --expires 7d",
    );
    assert_eq!(rule["match"]["command"], "cargo test *");
    assert_eq!(rule["path"], json!(folder), "links are followed");
    assert_eq!(
        rule["expiresAt"].as_u64().expect("it ends") - rule["createdAt"].as_u64().expect("made"),
        7 * 86_400_000
    );
    let list = house.shell("hob permission list").success();
    assert!(list.starts_with("Mode ask:"), "{list}");
    assert_eq!(list.lines().count(), 5, "{list}");
    let only = json_of(&house, "permission list --tool exec");
    assert_eq!(only["rules"].as_array().map(Vec::len), Some(1), "{only}");
    let id = rule["id"].as_str().expect("an id");
    let removed = house
        .shell(&format!("hob permission remove {id}"))
        .success();
    assert!(removed.starts_with("Removed "), "{removed}");
    let again = house.shell(&format!("hob permission remove {id}"));
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(again.stderr.contains("hob permission list"), "{again:?}");
}

#[test]
fn mistakes_are_said_and_a_tool_nobody_knows_is_a_warning() {
    let house = House::start();
    for (line, words) in [
        ("--tool write --decision allow", "--scope"),
        (
            "--tool write --decision maybe --scope always",
            "allow, deny, ask",
        ),
        (
            "--tool write --decision allow --scope session",
            "needs --session",
        ),
        ("--tool write --decision allow --scope run", "needs --run"),
        (
            "--tool write --decision allow --scope always --session k",
            "only allowed with --scope session",
        ),
        (
            "--tool write --decision allow --scope always --folder .",
            "only allowed with --scope folder",
        ),
        (
            "--tool write --decision allow --scope always --match path",
            "NAME=VALUE",
        ),
        (
            "--tool write --decision allow --scope always --match a=1 --match a=2",
            "more than once",
        ),
        (
            "--tool write --decision allow --scope always --expires soon",
            "not a duration",
        ),
    ] {
        let wrong = house.shell(&format!("hob permission add {line}"));
        assert_eq!(wrong.code, Some(2), "{line}: {wrong:?}");
        assert!(wrong.stderr.contains(words), "{line}: {}", wrong.stderr);
    }
    let list = json_of(&house, "permission list");
    assert_eq!(list["rules"], json!([]), "nothing of it was stored");
    let near = house.shell("hob permission add --tool wirte --decision deny --scope always");
    assert!(near.stderr.contains("Did you mean write?"), "{near:?}");
    near.success();
    let missing = house
        .shell("hob permission add --tool write --decision deny --scope folder --folder none/yet");
    assert!(missing.stderr.contains("does not exist yet"), "{missing:?}");
    assert!(missing.success().contains("/none/yet"));
    let run =
        house.shell("hob permission add --tool write --decision deny --scope run --run none:such");
    assert_eq!(run.code, Some(5), "{run:?}");
}

#[test]
fn a_check_says_what_would_be_decided() {
    let house = House::start();
    let asked = json_of(
        &house,
        "permission check write --arg path=a.txt --arg content=x",
    );
    assert_eq!(asked["decision"], "ask", "{asked}");
    let read = house
        .shell("hob permission check read --arg path=a.txt")
        .success();
    assert!(read.starts_with("Allowed (rule:read)"), "{read}");
    let rule = json_of(
        &house,
        "permission add --tool write --decision allow --scope folder",
    );
    let allowed = json_of(
        &house,
        "permission check write --arg path=a.txt --arg content=x",
    );
    let by = format!("rule:{}", rule["id"].as_str().expect("an id"));
    assert_eq!(
        (&allowed["decision"], &allowed["by"]),
        (&json!("allow"), &json!(by))
    );
    let outside = json_of(
        &house,
        "permission check write --arg path=/etc/x --arg content=x",
    );
    assert_eq!(outside["decision"], "ask", "{outside}");
    let unknown = house.shell("hob permission check wirte");
    assert_eq!(unknown.code, Some(5), "{unknown:?}");
    assert!(
        unknown.stderr.contains("Did you mean write?"),
        "{unknown:?}"
    );
}

#[test]
fn a_question_is_answered_from_elsewhere_and_withdrawn_with_who_did() {
    let sim = writer();
    let house = house_with(&sim);
    let none = house.shell("hob permission pending").success();
    assert_eq!(none, "No pending questions.\n");
    for (answer, said, done) in [
        ("y", "Answered elsewhere: allowed by owner.", "It is done."),
        ("n", "Answered elsewhere: denied by owner.", "Then not."),
        (
            "y --scope session",
            "allowed (session) by owner.",
            "It is done.",
        ),
    ] {
        let _ = std::fs::remove_file(house.work().join("notes.txt"));
        let tty = Tty::start(&house, "ask 'note it'");
        tty.wait_for("[y] yes, once");
        let pending = json_of(&house, "permission pending");
        let id = pending["questions"][0]["id"].as_str().expect("an id");
        let shown = house.shell("hob permission pending").success();
        assert!(
            shown.contains(id) && shown.contains("hob permission answer"),
            "{shown}"
        );
        let given = house.shell(&format!("hob permission answer {id} {answer}"));
        let given = given.success();
        assert!(given.contains("Write \"notes.txt\""), "{given}");
        tty.wait_for(said);
        tty.wait_for(done);
        // A denial has its exit code, although the model answered without the call.
        let code = if done == "It is done." { 0 } else { 3 };
        assert_eq!(tty.end().0, Some(code));
    }
    let late = house.shell("hob permission answer 0190163d y");
    assert_eq!(late.code, Some(5), "{late:?}");
    let wrong = house.shell("hob permission answer 0190163d perhaps");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let lasting = house.shell("hob permission answer 0190163d n --scope always");
    assert_eq!(lasting.code, Some(2), "{lasting:?}");
}

#[test]
fn a_person_who_types_when_a_question_comes_has_not_answered_it() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::words("one moment please")
            .pace(1, std::time::Duration::from_millis(100))
            .call("write", json!({ "path": "notes.txt", "content": "new\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("Then not."),
        Some(_) => Answer::words("It is done."),
    });
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "ask 'note it'");
    tty.wait_for("one");
    // Every key that could be an answer, over and over, until the question is on the screen.
    wait_until("the question comes", || {
        for key in ["y", "a", "f", "s", "r"] {
            tty.press(key);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        tty.seen().contains("Allow this?")
    });
    tty.press("yyyaaa");
    tty.wait_for("[y] yes, once");
    tty.press("n");
    tty.wait_for("Then not.");
    assert_eq!(tty.end().0, Some(3));
    assert!(!house.work().join("notes.txt").exists());
}

#[test]
fn a_question_on_a_terminal_waits_for_the_person() {
    let sim = writer();
    let house = house_with(&sim);
    house
        .hob(&["config", "set", "permission.deadline", "1s"])
        .success();
    let mut tty = Tty::start(&house, "ask 'note it'");
    tty.wait_for("[y] yes, once");
    assert!(
        !tty.seen().contains("Denied automatically"),
        "{}",
        tty.seen()
    );
    let pending = || json_of(&house, "permission pending")["questions"][0].clone();
    assert_eq!(pending()["attended"], true);
    let shown = house.shell("hob permission pending").success();
    assert!(shown.contains("waits for an answer"), "{shown}");
    // Beyond the deadline that it would have without a person.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(pending()["attended"], true);
    tty.press("y");
    tty.wait_for("It is done.");
    assert_eq!(tty.end().0, Some(0));
}

#[test]
fn a_question_whose_terminal_is_gone_has_its_deadline() {
    let sim = writer();
    let house = house_with(&sim);
    house
        .hob(&["config", "set", "permission.deadline", "1s"])
        .success();
    let tty = Tty::start(&house, "ask 'note it'");
    tty.wait_for("[y] yes, once");
    drop(tty);
    wait_until("the question is denied", || {
        json_of(&house, "permission pending")["questions"] == json!([])
    });
    assert!(!house.work().join("notes.txt").exists());
}

#[test]
fn nobody_is_asked_about_a_call_that_cannot_run() {
    let sim = Sim::start(|asked| {
        let results = asked.results_of_task();
        match results.len() {
            0 => Answer::asks("web_fetch", json!({ "url": "http://127.0.0.1/" })),
            1 => Answer::asks("write", json!({ "path": "a.txt" })),
            2 => Answer::asks("read", json!({ "path": "/etc/hostname" })),
            3 => Answer::asks("wirte", json!({})),
            _ => {
                let told: Vec<&str> = results.iter().map(|it| it.text.as_str()).collect();
                Answer::words(format!("TOLD {}", told.join(" AND ")))
            }
        }
    });
    let house = house_with(&sim);
    let tty = Tty::start(&house, "ask 'look around'");
    tty.wait_for("TOLD");
    let (code, seen) = tty.end();
    assert!(!seen.contains("Allow this?"), "{seen}");
    // It was not denied anything, so it ends well.
    assert_eq!(code, Some(0), "{seen}");
    let said = seen.replace(['\r', '\n', ' '], "");
    for part in [
        "not on the open internet",
        "arguments of 'write' do not fit",
        "leads out of the workspace",
        "There is no tool 'wirte'",
    ] {
        assert!(said.contains(&part.replace(' ', "")), "{part} in:\n{seen}");
    }
}
