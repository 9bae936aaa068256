//! The whole story of a client, in both spellings: health, providers, a session, a chat with a tool
//! and an approval, and coming back.

use super::client::{Client, Socket, find, names, text_of};
use super::{answer_all, house_with, model};
use crate::support::House;
use serde_json::{Value, json};

/// The words of one of Pryx's parts.
#[derive(Clone, Copy, Debug)]
struct Spelling {
    chat: &'static str,
    approve: &'static str,
    /// The events of pieces of an answer, the start of a tool, and a question.
    piece: &'static str,
    tool: &'static str,
    question: &'static str,
    /// The fields of a command are in its payload or beside it.
    in_payload: bool,
}

const RUNTIME: Spelling = Spelling {
    chat: "chat.send",
    approve: "approval.resolve",
    piece: "session.message",
    tool: "tool.executing",
    question: "approval.needed",
    in_payload: false,
};
const TUI: Spelling = Spelling {
    chat: "chat.message",
    approve: "approval.response",
    piece: "message.delta",
    tool: "tool.start",
    question: "approval.request",
    in_payload: true,
};

impl Spelling {
    fn chat(self, socket: &mut Socket, session: &str, content: &str) {
        socket.send(&json!({
            "event": self.chat, "session_id": session, "payload": { "content": content },
        }));
    }

    fn approve(self, socket: &mut Socket, id: &str, approved: bool) {
        let fields = json!({ "approval_id": id, "approved": approved });
        let mut command = json!({ "type": self.approve });
        if self.in_payload {
            command["payload"] = fields;
        } else {
            command["approval_id"] = fields["approval_id"].clone();
            command["approved"] = fields["approved"].clone();
        }
        socket.send(&command);
    }
}

fn session(client: Client) -> String {
    let made = client.post("/api/v1/sessions", &json!({ "title": "Mine" }));
    assert_eq!(made["title"], "Mine");
    made["id"].as_str().expect("an id").to_owned()
}

/// A house in whose folder runs may write once they are allowed to.
fn open_house(sim: &hob_sim::Sim, approvals: bool) -> (House, Client) {
    let house = house_with(sim, approvals, "");
    let client = Client::of(&house);
    (house, client)
}

fn whole_story(spelling: Spelling) {
    let sim = model();
    let (house, client) = open_house(&sim, true);
    let health = client.get("/health");
    assert_eq!(
        (&health["status"], &health["cloud_logged_in"]),
        (&json!("ok"), &json!(false))
    );
    assert_eq!(health["providers"], json!(["sim"]));
    let providers = client.get("/api/v1/providers");
    assert_eq!(providers["providers"][0]["id"], "sim");
    let id = session(client);

    let mut socket = client.socket("?surface=tui");
    spelling.chat(&mut socket, &id, "hello");
    let events = socket.until_end();
    assert!(events.iter().all(|event| event["session_id"] == *id));
    let said = "You said: hello. And that is all I know of it.";
    assert_eq!(text_of(&events, spelling.piece), said);
    assert_eq!(find(&events, "message.done")["payload"]["content"], said);
    let last = events.iter().rfind(|it| it["event"] == "session.message");
    assert_eq!(last.expect("an end")["payload"]["done"], true);
    assert_eq!(find(&events, "session.typing")["payload"]["typing"], true);
    assert_eq!(find(&events, "session.message")["surface"], "tui");

    spelling.chat(&mut socket, &id, "write");
    let asked = socket.until(spelling.question);
    let before = names(&asked);
    assert!(before.contains(&"tool.request"), "{before:?}");
    assert!(!before.contains(&spelling.tool), "{before:?}");
    let question = &asked.last().expect("a question")["payload"];
    assert_eq!(question["tool"], "write");
    assert_eq!(question["args"]["path"], "notes.txt");
    assert_eq!(question["can_resolve"], true);
    assert!(
        question["reason"]
            .as_str()
            .is_some_and(|it| it.contains("notes.txt"))
    );
    let approval = question["approval_id"].as_str().expect("an id").to_owned();

    // The client goes and comes back: the conversation and the open question are there.
    drop(socket);
    let mut socket = client.socket("?surface=tui");
    socket.send(&json!({ "event": "session.resume", "payload": { "session_id": id } }));
    let resumed = socket.event("session.resume");
    assert_eq!(resumed["session_id"], *id);
    let messages = resumed["payload"]["messages"].as_array().expect("messages");
    assert_eq!(
        (&messages[0]["role"], &messages[0]["content"]),
        (&json!("user"), &json!("hello"))
    );
    assert_eq!(messages[1]["content"], said);
    assert_eq!(resumed["payload"]["running"]["task"], "write");
    let again = socket.event(spelling.question);
    assert_eq!(again["payload"]["approval_id"], approval);

    spelling.approve(&mut socket, &approval, true);
    let events = socket.until_end();
    let resolved = find(&events, "approval.resolved");
    assert_eq!(
        (&resolved["payload"]["approved"], &resolved["payload"]["by"]),
        (&json!(true), &json!("pryx"))
    );
    assert_eq!(find(&events, spelling.tool)["payload"]["tool"], "write");
    let done = &find(&events, "tool.complete")["payload"];
    assert_eq!(
        (&done["success"], &done["error"]),
        (&json!(true), &Value::Null)
    );
    assert!(text_of(&events, spelling.piece).contains("The tool said:"));

    // It is a session of hob's like any other.
    let history = house.hob(&["--json", "session", "history", &id]).success();
    let history: Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["messages"][0]["content"], "hello");
    socket.send(&json!({ "type": "sessions.list" }));
    let listed = socket.event("sessions.list");
    assert_eq!(listed["payload"]["sessions"][0]["id"], *id);
    assert_eq!(listed["payload"]["sessions"][0]["title"], "Mine");
}

#[test]
fn the_whole_story_in_the_words_of_the_runtime() {
    whole_story(RUNTIME);
}

#[test]
fn the_whole_story_in_the_words_of_the_tui() {
    whole_story(TUI);
}

#[test]
fn without_the_second_setting_questions_are_shown_and_not_answered() {
    let sim = model();
    let (house, client) = open_house(&sim, false);
    let id = session(client);
    let mut socket = client.socket("");
    RUNTIME.chat(&mut socket, &id, "write");
    let question = socket.event("approval.needed");
    let payload = &question["payload"];
    assert_eq!(payload["can_resolve"], false);
    let approval = payload["approval_id"].as_str().expect("an id").to_owned();
    let command = format!("hob permission answer {approval} y");
    assert_eq!(payload["resolve_with"], command);
    for spelling in [RUNTIME, TUI] {
        for approved in [true, false] {
            spelling.approve(&mut socket, &approval, approved);
            let refused = socket.event("error.occurred");
            assert_eq!(refused["payload"]["kind"], "approval.refused");
            assert_eq!(refused["payload"]["code"], "FORBIDDEN");
            let why = refused["payload"]["error"].as_str().expect("a sentence");
            assert!(why.contains("dialect.pryx.approvals"), "{why}");
            assert!(
                why.contains(&format!("hob permission answer {approval}")),
                "{why}"
            );
        }
    }
    for word in ["approve", "deny"] {
        let path = format!("/api/approvals/{approval}/{word}");
        let why = client.refused(403, "POST", &path, &Value::Null);
        assert!(why.contains("dialect.pryx.approvals"), "{why}");
    }
    // It is as open as before, and the person's own answer counts.
    let pending = client.get("/api/approvals/pending");
    assert_eq!(pending["requests"][0]["id"], approval);
    assert_eq!(pending["requests"][0]["status"], "pending");
    house
        .hob(&["permission", "answer", &approval, "n"])
        .success();
    let events = socket.until_end();
    let resolved = &find(&events, "approval.resolved")["payload"];
    assert_eq!(
        (&resolved["approved"], &resolved["by"]),
        (&json!(false), &json!("owner"))
    );
    assert_eq!(find(&events, "tool.complete")["payload"]["success"], false);
    assert!(!names(&events).contains(&"tool.executing"));
}

#[test]
fn an_answer_by_rest_counts_once_and_the_setting_can_be_taken_back() {
    let sim = model();
    let (house, client) = open_house(&sim, true);
    let mut socket = client.socket("");
    socket.send(&json!({ "event": "chat.send", "payload": { "content": "write" } }));
    let question = socket.event("approval.needed");
    let approval = question["payload"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let path = format!("/api/approvals/{approval}/approve");
    let answered = client.post(&path, &Value::Null);
    assert_eq!(
        (&answered["approved"], &answered["by"]),
        (&json!(true), &json!("pryx"))
    );
    socket.until_end();
    client.refused(404, "POST", &path, &Value::Null);
    client.refused(404, "POST", "/api/approvals/none/deny", &Value::Null);
    // No rule came of it: the same call asks again. The session is the connection's own.
    let rules = client.get("/api/policies");
    assert_eq!(rules["policies"], json!([]));
    socket.send(&json!({ "event": "chat.send", "payload": { "content": "write" } }));
    let again = socket.event("approval.needed");
    assert_eq!(again["session_id"], question["session_id"]);
    house
        .hob(&["config", "set", "dialect.pryx.approvals", "false"])
        .success();
    let id = again["payload"]["id"].as_str().expect("an id");
    let path = format!("/api/approvals/{id}/approve");
    client.refused(403, "POST", &path, &Value::Null);
    answer_all(&house, client);
    socket.until_end();
}

#[test]
fn filters_choose_sessions_events_and_surfaces() {
    let sim = model();
    let (_house, client) = open_house(&sim, false);
    let (one, two) = (session(client), session(client));
    let mut all = client.socket("?surface=web");
    let mut of_one = client.socket(&format!("?session_id={one}"));
    let mut named = client.socket("?event=message.done&event=approval.needed");
    let mut tui = client.socket("?surface=tui");
    for id in [&one, &two] {
        RUNTIME.chat(&mut all, id, "hello");
        all.until_end();
    }
    let events = of_one.until_end();
    assert!(events.iter().all(|event| event["session_id"] == *one));
    assert!(
        of_one
            .settled()
            .iter()
            .all(|event| event["session_id"] == *one)
    );
    let done = named.settled();
    assert_eq!(names(&done), ["message.done"]);
    assert_eq!(done.len(), 2, "{done:?}");
    // What another surface began is not told there.
    assert_eq!(tui.settled(), Vec::<Value>::new());
    // The answer to a command has no filter.
    named.send(&json!({ "event": "sessions.list" }));
    named.event("sessions.list");
}

#[test]
fn failures_and_garbage_are_told_and_the_connection_lives() {
    let sim = model();
    let (_house, client) = open_house(&sim, false);
    let mut socket = client.socket("");
    for garbage in [
        "",
        "{",
        "[]",
        "{}",
        "{\"event\":\"chat.wipe\"}",
        "{\"event\":\"chat.send\"}",
    ] {
        socket.send_text(garbage);
        let error = socket.event("error.occurred");
        assert!(error["payload"]["error"].is_string(), "{garbage}: {error}");
    }
    socket.send_bytes(b"\x00\xff");
    socket.event("error.occurred");
    socket.send(&json!({ "event": "session.resume", "payload": { "session_id": "nobody" } }));
    let error = socket.event("error.occurred");
    assert_eq!(error["payload"]["kind"], "session.resume_not_found");
    let id = session(client);
    TUI.chat(&mut socket, &id, "hello");
    let events = socket.until_end();
    assert!(text_of(&events, "message.delta").starts_with("You said: hello"));
    RUNTIME.chat(&mut socket, &id, "refuse");
    let events = socket.until_end();
    let failed = find(&events, "error.occurred");
    assert_eq!(failed["payload"]["kind"], "run.failed");
    assert_eq!(find(&events, "message.done")["payload"]["success"], false);
    assert_eq!(socket.settled(), Vec::<Value>::new());
}
