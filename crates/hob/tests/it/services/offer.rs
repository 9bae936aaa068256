//! A first answer with nothing configured: the offer of a local model, and models that services
//! of the home serve.

use super::{describe, house, without_model};
use crate::newcomer::number_of;
use crate::support::{House, Tty, wait_until};
use hob_sim::{Answer, Dialect, Sim};
use serde_json::Value;

/// A model server as small as can be; it says so when it was asked.
const MODEL: &str = r#"
import http.server, json, sys
class Model(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "scripted"}]}')
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print("asked for", body["model"], flush=True)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for delta, finish in (({"content": "Paris"}, None), ({"content": "."}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
"#;

/// Describes a service of this role that is a scripted server which runs already.
fn found(house: &House, name: &str, sim: &Sim) {
    let port = sim.address().port();
    let text = format!(
        "kind = \"http\"\nrole = \"{name}\"\nport = {port}\nhealth = \"/v1/models\"\ncommand = [\"false\"]\n"
    );
    describe(house, name, &text);
}

#[test]
fn a_model_described_in_the_home_starts_when_it_is_asked() {
    let mut house = house();
    let script = house.work().join("model.py");
    std::fs::write(&script, MODEL).expect("a file");
    let text = format!(
        "kind = \"http\"\nrole = \"llm\"\nport = 0\nhealth = \"/health\"\n\
         command = [\"python3\", \"{}\", \"{{port}}\"]\n",
        script.display()
    );
    describe(&house, "llm", &text);
    house.start_daemon();
    let question = "What is the capital of France?";
    let answered = house.hob(&["ask", "--yes", question]);
    assert_eq!(answered.stderr, "", "nothing is installed");
    assert_eq!(answered.success(), "Paris.\n");
    let status = house.hob(&["service", "status", "llm", "--json"]).success();
    let status: Value = serde_json::from_str(&status).expect("is JSON");
    assert_eq!(status["state"], "running");
    let logs = house.hob(&["service", "logs", "llm"]).success();
    assert!(logs.contains("asked for scripted"), "{logs}");
    wait_until("the list says that it runs", || {
        let listed = house.hob(&["model", "list"]).success();
        listed.contains("llm is a service of this machine: it runs.")
    });
    assert_eq!(
        house.hob(&["ask", "--model", "local", question]).success(),
        "Paris.\n"
    );
    assert_eq!(
        house
            .hob(&["ask", "--model", "llm/any", question])
            .success(),
        "Paris.\n"
    );
}

#[test]
fn pictures_go_to_a_service_that_sees() {
    let (reads, sees) = (
        Sim::start(|_| Answer::words("I read.")),
        Sim::start(|_| Answer::words("A cat.")),
    );
    let mut house = house();
    found(&house, "vlm", &sees);
    let url = reads.url(Dialect::OpenaiChat);
    house.start_daemon();
    house
        .hob(&["model", "add", "sim", "--kind", "openai", "--url", &url])
        .success();
    house
        .hob(&["model", "set", "default", "sim/small"])
        .success();
    house.hob(&["service", "start", "vlm"]).success();
    let picture = house.work().join("cat.png");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nrest").expect("writable");
    let picture = picture.display().to_string();
    let mut shown = ["ask", "--image", &picture, "what is it?"].to_vec();
    wait_until("the one that sees is asked", || {
        house.hob(&shown).success() == "A cat.\n"
    });
    shown.extend(["--model", "default"]);
    assert_eq!(house.hob(&shown).success(), "I read.\n");
}

#[test]
fn the_question_shows_what_it_is_about_and_a_no_is_remembered() {
    let (_bin, builder) = without_model("exit 1");
    let house = builder.start();
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    tty.press(&number_of(&house, "demo"));
    tty.wait_for("Install it? [Y/n]");
    tty.press("n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(6), "{seen}");
    let home = house.home().join("services/llm").display().to_string();
    for words in [
        " to download, ",
        " on disk.",
        &home,
        "Apache-2.0",
        "Nothing was installed.",
    ] {
        assert!(seen.contains(words), "{words:?} in:\n{seen}");
    }
    let tty = Tty::start(&house, "ask good morning");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(6), "{seen}");
    assert!(
        !seen.contains("Install it?") && seen.contains("hob ask --yes"),
        "{seen}"
    );
}

#[test]
fn leaving_while_it_is_installed_says_how_to_come_back() {
    let (_bin, builder) = without_model("sleep 600");
    let house = builder.start();
    let mut tty = Tty::start(&house, "ask --yes good morning");
    tty.wait_for("1/");
    tty.press("\u{3}");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("hob service install llm --yes"), "{seen}");
}

#[test]
fn an_installation_that_fails_is_no_answer() {
    let (_bin, builder) = without_model("echo 'ERROR: no such package' >&2; exit 1");
    let house = builder.start();
    let failed = house.hob(&["ask", "--yes", "good morning"]);
    assert_eq!(
        (failed.code, failed.stdout.as_str()),
        (Some(1), ""),
        "{failed:?}"
    );
    assert!(
        failed.stderr.contains("llm was not installed."),
        "{failed:?}"
    );
}
