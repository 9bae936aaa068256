//! A client of blocks without any code of hob: it knows only what the page about blocks says.

use crate::conformance::wire::{Peer, number, text};
use crate::support::House;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A session as a client that only reads JSON sees it.
pub(crate) struct RawClient {
    session: String,
    blocks: Vec<Value>,
    settled: u64,
    position: u64,
    /// Changes applied so far, over all connections.
    pub(crate) changes: usize,
}

impl RawClient {
    pub(crate) fn new(session: &str) -> RawClient {
        RawClient {
            session: session.to_owned(),
            blocks: Vec::new(),
            settled: 0,
            position: 0,
            changes: 0,
        }
    }

    /// Connects, subscribes, and replaces everything that is not final.
    pub(crate) async fn connect(&mut self, house: &House) -> Peer {
        let mut peer = Peer::owner(house).await;
        let events = json!(["session.block", "run.completed"]);
        let params = json!({ "events": events, "sessionKey": self.session });
        peer.call("gateway.subscribe", params).await;
        self.resync(&mut peer).await;
        peer
    }

    /// Replaces everything behind the last final block.
    pub(crate) async fn resync(&mut self, peer: &mut Peer) {
        let mut fresh = Vec::new();
        let mut after = Some(self.settled);
        let mut position = None;
        while let Some(start) = after {
            let params = json!({ "sessionKey": self.session, "after": start });
            let Ok(page) = peer.ask("session.blocks", params).await else {
                // The session does not exist before its first run.
                return;
            };
            fresh.extend(page["blocks"].as_array().expect("blocks").clone());
            position.get_or_insert(number(&page, "position"));
            after = page["after"].as_u64();
            if after.is_none() {
                let settled = self.settled;
                self.blocks
                    .retain(|block| block["seq"].as_u64().is_some_and(|seq| seq <= settled));
                self.blocks.append(&mut fresh);
                self.settled = number(&page, "settled");
                self.position = position.expect("a page");
            }
        }
        self.check_ids();
    }

    /// Applies an event. Returns true if a change was missed.
    pub(crate) fn apply(&mut self, change: &Value) -> bool {
        let position = number(change, "position");
        if position <= self.position {
            return false;
        }
        if position != self.position + 1 {
            return true;
        }
        self.position = position;
        self.changes += 1;
        let id = text(change, "id");
        let at = self.blocks.iter().position(|block| block["id"] == id);
        match (change["op"].as_str().expect("an op"), at) {
            ("open", at) => self.open(change, at),
            ("delta", Some(at)) => append(&mut self.blocks[at], change),
            ("close", Some(at)) => {
                let block = &mut self.blocks[at];
                if block["revision"] == change["revision"] {
                    append(block, change);
                } else {
                    block["text"] = change["text"].clone();
                    block["start"] = change["offset"].clone();
                    block["revision"] = change["revision"].clone();
                }
                block["status"] = json!("closed");
            }
            ("drop", Some(at)) => drop(self.blocks.remove(at)),
            ("drop", None) => {}
            (op, at) => panic!("{op} at {at:?}: {change}"),
        }
        self.set_details(&id, change);
        self.settled = change["settled"].as_u64().unwrap_or(self.settled);
        self.check_ids();
        false
    }

    fn open(&mut self, change: &Value, at: Option<usize>) {
        let mut block = json!({ "status": "open" });
        for field in ["id", "revision", "kind", "runId", "text"] {
            block[field] = change[field].clone();
        }
        block["start"] = change["offset"].clone();
        if let Some(at) = at {
            self.blocks[at] = block;
            return;
        }
        let before = |other: &Value| other["id"] == change["before"];
        let at = self.blocks.iter().position(before);
        self.blocks.insert(at.unwrap_or(self.blocks.len()), block);
    }

    /// The details of a change; a `seq` holds for the whole step.
    fn set_details(&mut self, id: &str, change: &Value) {
        let Some(details) = change["details"].as_object() else {
            return;
        };
        let step = |of: &Value| ["step", "attempt"].map(|field| of[field].clone());
        let of_step = step(&change["details"]);
        for block in &mut self.blocks {
            if block["id"] == id {
                for (field, value) in details {
                    block[field] = value.clone();
                }
            } else if details.contains_key("seq")
                && details.contains_key("step")
                && block["runId"] == change["runId"]
                && step(block) == of_step
            {
                block["seq"] = details["seq"].clone();
            }
        }
    }

    /// The text of all answers of runs.
    pub(crate) fn answers(&self) -> String {
        let texts = self
            .blocks
            .iter()
            .filter(|block| block["kind"] == "text" && block["role"] == "assistant");
        texts.map(|block| text(block, "text")).collect()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.blocks.iter().all(|block| block["status"] == "closed")
    }

    /// Kind and text of each block.
    pub(crate) fn shown(&self) -> Vec<(String, String)> {
        let shown = |block: &Value| (text(block, "kind"), text(block, "text"));
        self.blocks.iter().map(shown).collect()
    }

    fn check_ids(&self) {
        let ids: BTreeSet<String> = self.blocks.iter().map(|block| text(block, "id")).collect();
        assert_eq!(ids.len(), self.blocks.len(), "a block is there twice");
    }
}

/// Appends a piece, which begins where the known text ends: no change was missed.
fn append(block: &mut Value, change: &Value) {
    let known = text(block, "text");
    let start = block["start"].as_u64().unwrap_or(0);
    assert_eq!(
        start + known.len() as u64,
        change["offset"].as_u64().unwrap_or(0),
        "{change} for {block}"
    );
    block["text"] = json!(known + &text(change, "text"));
}
