//! Every screen at two sizes, and its colours in two themes.

use crate::cards::Question;
use crate::model::tests_support::{at, model, press, question, run_id, type_text};
use crate::model::{Event, Model, News, Reply, update};
use crate::screens::{Screen, ScreenData};
use crate::theme::Theme;
use crate::transcript::BlockUpdate;
use crate::view::draw;
use hob_client::ListChange;
use hob_wire::block::Block;
use hob_wire::rooms::permission::{AnswerReach, RuleDecision, RuleTerms};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use serde_json::{Value, json};
use std::fmt::Write;

/// The text of the screen, with the caret's place.
fn screen(model: &mut Model, size: (u16, u16)) -> String {
    update(model, Event::Resize(size.0.into(), size.1.into()));
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    let (column, row) = draw(model, &mut buffer);
    let mut out = String::new();
    for y in 0..size.1 {
        let mut line = String::new();
        let mut x = 0;
        while x < size.0 {
            let symbol = buffer.cell((x, y)).unwrap().symbol();
            line.push_str(symbol);
            x += u16::try_from(crate::text::width(symbol)).unwrap().max(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    format!("{out}caret {column},{row}\n")
}

/// The looks of the screen: for each row, the pieces that are not plain.
fn looks(model: &mut Model, theme: Theme) -> String {
    model.theme = theme;
    update(model, Event::Resize(80, 24));
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    draw(model, &mut buffer);
    let mut out = String::new();
    for y in 0..24 {
        let mut pieces: Vec<(String, String)> = Vec::new();
        for x in 0..80 {
            let cell = buffer.cell((x, y)).unwrap();
            let look = format!("{:?} {:?}", cell.fg, cell.modifier);
            match pieces.last_mut() {
                Some((known, text)) if *known == look => text.push_str(cell.symbol()),
                _ => pieces.push((look, cell.symbol().to_owned())),
            }
        }
        pieces.retain(|(look, text)| look != "Reset NONE" && !text.trim().is_empty());
        for (look, text) in pieces {
            writeln!(out, "{y:>2} {look}: {}", text.trim()).unwrap();
        }
    }
    out
}

fn snapshots(name: &str, model: &mut Model) {
    insta::assert_snapshot!(format!("{name}_80x24"), screen(model, (80, 24)));
    insta::assert_snapshot!(format!("{name}_120x40"), screen(model, (120, 40)));
    insta::assert_snapshot!(format!("{name}_dark"), looks(model, Theme::Dark));
    insta::assert_snapshot!(format!("{name}_light"), looks(model, Theme::Light));
}

fn blocks() -> Vec<Block> {
    let run = run_id(1);
    let block = |id: &str, kind: &str, text: &str, more: Value| -> Block {
        let mut value = json!({
            "id": id, "revision": 1, "kind": kind, "runId": run, "status": "closed",
            "text": text, "step": 1, "role": "assistant",
        });
        for (name, it) in more.as_object().unwrap() {
            value[name] = it.clone();
        }
        serde_json::from_value(value).unwrap()
    };
    let call = |name: &str, args: Value, state: &str| {
        json!({ "content": { "type": "call", "name": name, "state": state,
            "call": { "id": "c1", "name": name, "args": args } } })
    };
    let output = json!({ "content": { "type": "output", "callId": "c1" } });
    vec![
        block(
            "m1",
            "text",
            "Why does the test fail? 漢字 👩‍👩‍👧",
            json!({ "role": "user" }),
        ),
        block(
            "k",
            "thinking",
            "The person wants to know why.\nLet me look.",
            json!({}),
        ),
        block(
            "t1",
            "text",
            "I will **run** `cargo test` and look:",
            json!({}),
        ),
        block(
            "c1",
            "tool_call",
            "",
            call("exec", json!({ "command": "cargo test -p hob" }), "done"),
        ),
        block(
            "o1",
            "tool_output",
            "running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ok\n\nfailures:\n  b\n",
            output,
        ),
        block(
            "c2",
            "tool_call",
            "",
            call(
                "edit",
                json!({ "path": "src/b.rs", "oldText": "let x = 1;", "newText": "let x = 2;" }),
                "begun",
            ),
        ),
        block(
            "t2",
            "text",
            "## Found it\n\n1. `b` compares with *one*\n2. it should be **two**\n",
            json!({}),
        ),
        block(
            "t3",
            "text",
            "| test | before | after |\n|---|---|--:|\n| a | ok | 1 ms |\n| b | failed | 20 ms |",
            json!({}),
        ),
        block(
            "n",
            "notice",
            "The answer was cut at the token limit.",
            json!({ "content": { "type": "notice", "code": "token-limit" } }),
        ),
    ]
}

fn with_blocks(model: &mut Model) {
    let blocks = blocks();
    let changes = (0..blocks.len()).map(|index| ListChange::Inserted { index });
    let changes: Vec<ListChange> = changes.collect();
    update(model, Event::Blocks(BlockUpdate::new(changes, &blocks)));
}

fn chat() -> Model {
    let mut model = model();
    model.notice = None;
    with_blocks(&mut model);
    model
}

#[test]
fn chat_empty() {
    let mut model = model();
    snapshots("chat_empty", &mut model);
}

#[test]
fn chat_with_a_run() {
    let mut model = chat();
    let started = News::Started {
        session: "chat:main".into(),
        run: run_id(1),
        model: "sim/small".into(),
    };
    update(&mut model, Event::News(started));
    let step = News::Step {
        session: "chat:main".into(),
        run: run_id(1),
        step: 2,
        input_tokens: 12_345,
        model: "sim/small".into(),
    };
    update(&mut model, Event::News(step));
    at(&mut model, 75_000);
    type_text(&mut model, "and look at c, 漢字 too");
    snapshots("chat_run", &mut model);
}

#[test]
fn chat_unfolded() {
    let mut model = chat();
    press(&mut model, "ctrl-o");
    model.notice = None;
    insta::assert_snapshot!("chat_unfolded_80x60", screen(&mut model, (80, 60)));
}

#[test]
fn chat_with_a_question() {
    let mut model = chat();
    let Question::Permission(mut asked) = question("1") else {
        panic!("a permission");
    };
    for scope in [AnswerReach::Session, AnswerReach::Always] {
        let mut offer = RuleTerms::new("exec", RuleDecision::Allow, scope);
        offer
            .matches
            .insert("command".into(), "cargo test *".into());
        asked.offers.push(offer);
    }
    let lines: Vec<String> = (1..30)
        .map(|it| format!("line {it} of the script"))
        .collect();
    asked.preview = Some(format!("$ cargo test\n{}", lines.join("\n")));
    let before = screen(&mut model, (80, 24));
    update(
        &mut model,
        Event::News(News::Asked(Question::Permission(asked))),
    );
    snapshots("question", &mut model);
    // The conversation above the card did not move.
    let after = screen(&mut model, (80, 24));
    let head = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(head(&before), head(&after));
    press(&mut model, "alt-a down down");
    insta::assert_snapshot!("question_scrolled", screen(&mut model, (80, 24)));
    insta::assert_snapshot!("question_small", screen(&mut model, (40, 12)));
}

#[test]
fn overlays() {
    let mut model = chat();
    press(&mut model, "ctrl-p");
    type_text(&mut model, "show");
    snapshots("palette", &mut model);
    press(&mut model, "esc f1");
    snapshots("help", &mut model);
}

#[test]
fn completion_and_searches() {
    let mut model = chat();
    type_text(&mut model, "/s");
    insta::assert_snapshot!("completion", screen(&mut model, (80, 24)));
    press(&mut model, "esc ctrl-u ctrl-r");
    type_text(&mut model, "earlier");
    insta::assert_snapshot!("history_search", screen(&mut model, (80, 24)));
    press(&mut model, "esc ctrl-s");
    type_text(&mut model, "test");
    insta::assert_snapshot!("search", screen(&mut model, (80, 24)));
}

fn listed(model: &mut Model, screen: Screen, data: ScreenData) {
    model.screen = screen;
    model.notice = None;
    let reply = Reply::Screen {
        screen,
        data: Ok(Box::new(data)),
    };
    update(model, Event::Reply(Box::new(reply)));
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

const THEN: u64 = 1_794_778_000_000;

#[test]
fn list_screens() {
    let id = |number: u8| run_id(number).to_string();
    let cost =
        json!({ "microDollars": 4_200, "inputTokens": 12_000, "outputTokens": 900, "calls": 3 });
    let session = |number: u8, parent: Option<u8>, title: &str| {
        json!({ "id": id(number), "sessionKey": format!("chat:{number}"), "kind": "main", "title": title,
            "parent": parent.map(id), "messages": 4, "createdAt": THEN, "updatedAt": THEN })
    };
    let sessions = json!({ "sessions": [session(1, None, "Why does the test fail?"),
        session(2, Some(1), "A child 漢字"), session(3, None, "Another")] });
    let mut model = model();
    listed(
        &mut model,
        Screen::Sessions,
        ScreenData::Sessions(read(sessions)),
    );
    snapshots("sessions", &mut model);
    let runs = json!({ "runs": [{ "runId": id(1), "sessionKey": "chat:main", "state": "done", "running": false,
        "task": "Why does the test fail?", "step": 2, "attempt": 1, "text": "", "cost": cost,
        "cause": "answered", "queuedAt": THEN, "startedAt": THEN, "endedAt": THEN + 65_000 }] });
    listed(&mut model, Screen::Runs, ScreenData::Runs(read(runs)));
    snapshots("runs", &mut model);
    let costs = json!({ "total": cost, "days": [{ "name": "2026-11-15", "cost": cost }],
        "models": [{ "name": "sim/small", "cost": cost, "unpriced": 1 }], "pricesAsOf": "2026-11-01" });
    listed(&mut model, Screen::Costs, ScreenData::Costs(read(costs)));
    snapshots("costs", &mut model);
    let services = json!({ "services": [
        { "name": "llm", "state": "running", "pid": 1, "port": 8080, "detail": null, "lastExit": null,
          "restarts": 0, "about": "A small local model", "installed": true, "installable": true,
          "autostart": false, "adopted": false },
        { "name": "kokoro", "state": "stopped", "pid": null, "port": null, "detail": null, "lastExit": null,
          "restarts": 0, "about": "Speech", "installed": false, "installable": true,
          "autostart": false, "adopted": false }], "problems": [], "broken": [] });
    listed(
        &mut model,
        Screen::Services,
        ScreenData::Services(read(services)),
    );
    snapshots("services", &mut model);
    let rules = json!({ "mode": "ask", "rules": [{ "id": "r1", "tool": "exec", "decision": "allow",
        "scope": "folder", "match": { "command": "cargo test *" }, "folder": "/work",
        "createdAt": THEN, "createdBy": "owner" }] });
    listed(
        &mut model,
        Screen::Permissions,
        ScreenData::Permissions(read(rules)),
    );
    snapshots("permissions", &mut model);
    let models = json!({ "models": [{ "id": "sim/small", "provider": "sim", "name": "small",
        "contextTokens": 128_000, "price": { "input": 1_000_000, "output": 2_000_000 } }],
        "providers": [], "aliases": [{ "alias": "default", "models": ["sim/small"] }] });
    listed(&mut model, Screen::Models, ScreenData::Models(read(models)));
    snapshots("models", &mut model);
    let doctor = json!({ "findings": [{ "level": "well", "check": "disk", "message": "12 GB are free." },
        { "level": "warning", "check": "tmux", "message": "tmux is missing.", "fix": "apt-get install tmux" }],
        "scheduledWork": false });
    listed(&mut model, Screen::Doctor, ScreenData::Doctor(read(doctor)));
    snapshots("doctor", &mut model);
    let about = json!({ "version": "0.1.0", "protocol": 1, "pid": 42, "epoch": 3, "startedAt": THEN,
        "home": "/home/ada/.local/share/hob", "listeners": ["http 127.0.0.1:7717"],
        "store": { "state": "ready", "schema": 1, "sqlite": "3.54.1", "bytes": 4_096 },
        "sessions": 3, "seq": 128 });
    listed(
        &mut model,
        Screen::About,
        ScreenData::About(Box::new(read(about))),
    );
    snapshots("about", &mut model);
}

#[test]
fn onboarding() {
    let options = json!({ "offer": true, "options": [
        { "id": "pull", "kind": "pull", "title": "A local model of 4 billion parameters",
          "models": ["local/qwen"], "tools": true, "downloadBytes": 2_500_000_000_u64,
          "memoryBytes": 4_000_000_000_u64, "licence": "Apache-2.0" },
        { "id": "paste", "kind": "paste", "title": "A key of a provider", "providers": ["anthropic", "openai"] },
        { "id": "demo", "kind": "demo", "title": "The demo model", "models": ["demo"], "tools": false,
          "downloadBytes": 30_000_000 }], "notes": ["Ollama runs, but has no model."] });
    let mut model = model();
    model.screen = Screen::Onboard;
    let reply = Reply::Options {
        is_state_only: false,
        result: Ok(read(options)),
    };
    update(&mut model, Event::Reply(Box::new(reply)));
    snapshots("onboard", &mut model);
    press(&mut model, "down enter");
    update(&mut model, Event::Paste("sk-secret".into()));
    let shown = screen(&mut model, (80, 24));
    assert!(!shown.contains("sk-secret"), "{shown}");
    insta::assert_snapshot!("onboard_key", shown);
}

#[test]
fn a_tiny_screen_says_so() {
    let mut model = chat();
    assert!(screen(&mut model, (18, 5)).starts_with("This screen is too"));
}
