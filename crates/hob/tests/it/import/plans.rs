//! The plan and the question: nothing changes without a yes, and every end has its exit code.

use super::{KEY, counts, import_json, session_file, texts, write};
use crate::support::{House, Tty};
use serde_json::{Value, json};

/// A home without a daemon, and a folder of Vargos in `~/.vargos`.
fn house_with_source() -> House {
    let house = House::builder().build();
    write(
        house.home(),
        ".vargos/sessions/a.jsonl",
        &session_file("a", &["one".to_owned()]),
    );
    let config = json!({
        "models": { "main": { "provider": "anthropic", "model": "x", "apiKey": KEY } },
        "cron": { "tasks": [{ "name": "news", "schedule": "0 9 * * *", "task": "Tell." }] },
    });
    write(house.home(), ".vargos/config.json", &config.to_string());
    house
}

#[test]
fn without_a_terminal_the_plan_is_shown_and_nothing_is_changed() {
    let house = house_with_source();
    let shown = house.hob(&["import", "vargos"]);
    assert_eq!(shown.code, Some(2), "{shown:?}");
    for words in [
        "Vargos in ",
        "1 with 1 message",
        "vargos-news",
        "anthropic; kept",
        "disabled",
    ] {
        assert!(
            shown.stdout.contains(words),
            "{words:?} in {}",
            shown.stdout
        );
    }
    assert!(shown.stderr.contains("needs your consent"), "{shown:?}");
    assert!(
        shown.stderr.contains("hob import vargos --yes"),
        "{shown:?}"
    );
    let json = house.hob(&["--json", "import", "vargos"]);
    assert_eq!(json.code, Some(2), "{json:?}");
    let plan: Value = serde_json::from_str(&json.stdout).expect("the plan as one document");
    assert_eq!(plan["sessions"][0]["messages"], 1);
    assert_eq!(plan["jobs"][0]["name"], "vargos-news");
    assert_eq!(plan["keys"][0]["provider"], "anthropic");
    for text in [&shown.stdout, &shown.stderr, &json.stdout, &json.stderr] {
        assert!(!text.contains(KEY), "{text}");
    }
    // No daemon was started and nothing was made.
    assert!(!house.home().join("hob.db").exists());
    assert!(!house.home().join("keys").exists());
}

#[test]
fn a_person_sees_the_plan_at_80_columns_and_answers() {
    let mut house = house_with_source();
    house.start_daemon();
    let mut tty = Tty::start(&house, "import vargos");
    tty.wait_for("Import this? [y/n]");
    let seen = tty.seen();
    for line in seen.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    tty.press("n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("Nothing was imported."), "{seen}");
    let listed = house
        .hob(&["session", "list", "--kind", "imported"])
        .success();
    assert!(!listed.contains("import:"), "{listed}");

    let mut tty = Tty::start(&house, "import vargos");
    tty.wait_for("Import this? [y/n]");
    tty.press("y");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    for words in [
        "Imported: 1 session, 1 message, 1 job",
        "hob cron enable vargos-news",
    ] {
        assert!(seen.contains(words), "{words:?} in {seen}");
    }
    assert_eq!(texts(&house, "import:vargos:a"), ["one"]);
    let mut tty = Tty::start(&house, "import vargos");
    tty.wait_for("Import this? [y/n]");
    tty.press("\u{3}");
    assert_eq!(tty.end().0, Some(130));
}

#[test]
fn a_folder_that_is_not_there_and_an_empty_one() {
    let house = House::start();
    let missing = house.hob(&["import", "pryx"]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("was not found in"), "{missing:?}");
    assert!(
        missing.stderr.contains("hob import pryx PATH"),
        "{missing:?}"
    );
    let nowhere = house.hob(&["import", "archy"]);
    assert!(
        nowhere.stderr.contains("has no usual folder"),
        "{nowhere:?}"
    );
    let named = house.hob(&["import", "vargos", "/nonexistent"]);
    assert_eq!(named.code, Some(5), "{named:?}");
    assert_eq!(house.hob(&["import", "unheard-of"]).code, Some(2));
    let empty = house.work().display().to_string();
    let nothing = house.hob(&["import", "vargos", &empty]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(
        nothing.stdout.contains("Nothing new was imported."),
        "{nothing:?}"
    );
}

#[test]
fn a_session_that_continued_in_hob_keeps_its_words() {
    let mut house = house_with_source();
    house.start_daemon();
    import_json(&house, &["vargos", "--yes"]);
    house
        .hob(&["session", "send", "import:vargos:a", "said in hob"])
        .success();
    // The source grew meanwhile.
    let grown = session_file("a", &["one".to_owned(), "two".to_owned()]);
    write(house.home(), ".vargos/sessions/a.jsonl", &grown);
    let report = import_json(&house, &["vargos", "--yes"]);
    assert_eq!(counts(&report, "messages"), (1, 1));
    assert_eq!(
        texts(&house, "import:vargos:a"),
        ["one", "said in hob", "two"]
    );
}

#[test]
fn a_client_without_admin_cannot_bring_keys() {
    let mut house = house_with_source();
    house.start_daemon();
    let line = [
        "--json", "token", "create", "--name", "chatter", "--scope", "chat",
    ];
    let token: Value = serde_json::from_str(&house.hob(&line).success()).expect("JSON");
    let token = token["token"].as_str().expect("a token");
    let mut command = house.command(&["import", "vargos", "--yes"]);
    let output = command.env("HOB_TOKEN", token).output().expect("hob runs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!house.home().join("keys").exists());
}
