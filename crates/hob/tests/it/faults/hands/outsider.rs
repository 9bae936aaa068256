//! A tool written outside: a service with a token of its own that offers one tool, `ring`, and
//! counts who calls it.

use crate::faults::peer::Peer;
use crate::faults::rig::{Rig, eventually};
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(super) struct Outsider {
    service: String,
    pub(super) token: String,
    /// What is sent beside the answers of the thread that reads.
    writer: UnixStream,
    counts: Arc<Counts>,
    offers: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    /// Answers to offers, the refused ones apart.
    taken: AtomicU64,
    said: Mutex<String>,
}

impl Outsider {
    /// Makes a token with these scopes and registers with it.
    pub(super) fn open(rig: &Rig, scopes: &[&str], service: &str) -> Outsider {
        let made = json!({ "name": service, "scopes": scopes });
        let made = rig.peer().must("token.create", &made);
        let token = made["token"].as_str().expect("a token").to_owned();
        let mut peer = Peer::authenticated(rig.socket(), &token).expect("its token");
        let methods = [format!("{service}.tool_execute")];
        let register = json!({ "service": service, "version": "1", "methods": methods });
        peer.must("gateway.register", &register);
        let writer = peer.stream().try_clone().expect("a second handle");
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let thread = std::thread::spawn(move || while serve(&mut peer, &counted).is_ok() {});
        Outsider {
            service: service.to_owned(),
            token,
            writer,
            counts,
            offers: AtomicU64::new(0),
            thread: Some(thread),
        }
    }

    /// Offers the tool under this description, in the place of what it was before.
    pub(super) fn offer(&self, description: &str, parameters: &Value) {
        let tool = json!({
            "name": "ring", "description": description, "parameters": parameters,
            "tier": "external", "effect": "opaque", "approval": "Ring {of}",
        });
        self.offer_tool(&tool);
    }

    pub(super) fn offer_tool(&self, tool: &Value) {
        let number = self.offers.fetch_add(1, Ordering::SeqCst) + 1;
        let params = json!({ "service": self.service, "tools": [tool] });
        let frame = json!({
            "type": "req", "id": format!("offer-{number}"), "target": "",
            "method": "tool.offer", "params": params,
        });
        let mut writer = &self.writer;
        let line = format!("{frame}\n");
        writer.write_all(line.as_bytes()).expect("an offer");
        eventually("the offer is taken", || {
            self.counts.taken.load(Ordering::SeqCst) == number
        });
    }

    /// What the tool answers from now on.
    pub(super) fn says(&self, text: &str) {
        text.clone_into(&mut self.counts.said.lock().expect("a text"));
    }

    /// How often the tool was called.
    pub(super) fn calls(&self) -> u64 {
        self.counts.calls.load(Ordering::SeqCst)
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        let _ = self.writer.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(peer: &mut Peer, counts: &Counts) -> std::io::Result<()> {
    let frame = match peer.frame() {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
        frame => frame?,
    };
    if frame["type"] == "res" {
        assert_eq!(frame["ok"], true, "the offer is taken: {frame}");
        counts.taken.fetch_add(1, Ordering::SeqCst);
    }
    if frame["type"] != "req" {
        return Ok(());
    }
    counts.calls.fetch_add(1, Ordering::SeqCst);
    let text = counts.said.lock().expect("a text").clone();
    let payload = json!({ "content": [{ "type": "text", "text": text }] });
    let answer = json!({ "type": "res", "id": frame["id"], "ok": true, "payload": payload });
    peer.write(format!("{answer}\n").as_bytes())
}
