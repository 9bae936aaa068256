//! A call that was cut off by a crash, and nobody knows whether it happened: a person is asked,
//! on the terminal or by `hob run resolve`.

use super::{house_with, json_lines};
use crate::support::{House, Tty, wait_until};
use hob_client::{Client, DaemonTarget, ServiceDefinition, ServiceHandle};
use hob_kit::home::Home;
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;

/// A service with one tool that never says whether it is done.
struct Post {
    runtime: Runtime,
    _serving: ServiceHandle,
    begun: Arc<AtomicUsize>,
}

impl Post {
    fn open(house: &House) -> Post {
        let runtime = Runtime::new().expect("a runtime");
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&begun);
        let serving = runtime.block_on(async {
            let target = DaemonTarget::home(&Home::at(house.home()));
            let client = Client::connect(target).await.expect("a daemon");
            let service = ServiceDefinition::new("post", "1").method(
                "post.tool_execute",
                move |_, _: Value| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    async { std::future::pending::<Result<Value, _>>().await }
                },
            );
            client.serve(service).await.expect("it serves")
        });
        Post::offer(house);
        Post {
            runtime,
            _serving: serving,
            begun,
        }
    }

    fn offer(house: &House) {
        let tool = json!({
            "name": "send_mail", "description": "Sends a letter.", "tier": "external",
            "effect": "opaque", "approval": "Send a letter to {to}",
            "parameters": {
                "type": "object", "properties": { "to": { "type": "string" } },
                "required": ["to"],
            },
        });
        let offer = json!({ "service": "post", "tools": [tool] }).to_string();
        wait_until("the tool is offered", || {
            house.hob(&["rpc", "tool.offer", &offer]).code == Some(0)
        });
    }

    fn wait_begun(&self) {
        let _inside = self.runtime.enter();
        wait_until("the call has begun", || {
            self.begun.load(Ordering::SeqCst) == 1
        });
    }
}

fn writer() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("send_mail", json!({ "to": "Ada" })),
        Some(result) => Answer::words(format!("The post says: {}", result.text)),
    })
}

#[test]
fn a_doubt_is_asked_on_the_terminal_with_its_three_answers() {
    let sim = writer();
    let mut house = house_with(&sim);
    let post = Post::open(&house);
    let mut tty = Tty::start(&house, "ask 'write to Ada'");
    tty.wait_for("[y] yes, once");
    assert!(tty.seen().contains("Send a letter to"), "{}", tty.seen());
    tty.press("y");
    post.wait_begun();
    house.kill();
    house.start_daemon();
    tty.wait_for("It is unknown whether this call happened:");
    for words in [
        "tool   send_mail",
        "Ada",
        "began  20",
        "known  ",
        "[d] it did not",
        "[g] give up",
    ] {
        tty.wait_for(words);
    }
    tty.press("h");
    tty.wait_for("What was its result?");
    tty.press("it is on its way\r");
    tty.wait_for("The post says: it is on its way");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(
        post.begun.load(Ordering::SeqCst),
        1,
        "never a silent repeat"
    );
}

#[test]
fn without_a_terminal_the_run_waits_and_is_resolved_by_a_command() {
    let sim = writer();
    let mut house = house_with(&sim);
    let post = Post::open(&house);
    let mut tty = Tty::start(&house, "ask -s k 'write to Ada'");
    tty.wait_for("[y] yes, once");
    tty.press("y");
    post.wait_begun();
    drop(tty);
    house.kill();
    house.start_daemon();
    let state = |house: &House| json_lines(house, &["run", "show", "k"]).remove(0);
    wait_until("it is in doubt", || state(&house)["state"] == "in-doubt");
    let view = state(&house);
    let call = view["calls"][0]["call"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = house.hob(&["run", "show", "k"]).success();
    assert!(
        shown.contains("in doubt") && shown.contains(&call),
        "{shown}"
    );
    // A chat that comes later is asked, too, and may leave it for later.
    let mut chat = Tty::start(&house, "chat -s k");
    chat.wait_for("[h] it happened");
    chat.press("l");
    chat.wait_for("hob run resolve");
    chat.press("/quit\r");
    assert_eq!(chat.end().0, Some(0));
    let wrong = house.hob(&["run", "resolve", "k", &call, "did-not", "--result", "x"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    house
        .hob(&["run", "resolve", "k", &call, "give-up"])
        .success();
    wait_until("it has ended", || state(&house)["state"] == "done");
    assert_eq!(state(&house)["cause"], "given-up");
    assert_eq!(post.begun.load(Ordering::SeqCst), 1);
}
