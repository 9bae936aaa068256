//! Many clients that append at once, each remembering what it was promised.

use super::ledger::{Ack, ClientRecord};
use super::peer::Peer;
use super::rig::Rig;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Clients at work; each on its own connection and thread.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<ClientRecord>>,
}

impl Load {
    /// Starts `clients` appenders that share `sessions` sessions named after `round`. They go on
    /// until their connection ends or the load is stopped.
    pub(crate) fn start(rig: &Rig, round: &str, clients: usize, sessions: usize) -> Load {
        let mut peer = rig.peer();
        for session in 0..sessions {
            peer.must(
                "session.create",
                &json!({ "sessionKey": session_key(round, session) }),
            );
        }
        let stop = Arc::new(AtomicBool::new(false));
        let clients = (0..clients)
            .map(|client| {
                let peer = rig.peer();
                let stop = Arc::clone(&stop);
                let session = session_key(round, client % sessions);
                let prefix = format!("{round} client {client}");
                std::thread::spawn(move || append(peer, &session, &prefix, &stop))
            })
            .collect();
        Load { stop, clients }
    }

    /// Waits for every client's record; the daemon is gone, or the load is to stop now.
    pub(crate) fn finish(self) -> Vec<ClientRecord> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients
            .into_iter()
            .map(|client| client.join().expect("a client that only records"))
            .collect()
    }
}

fn session_key(round: &str, session: usize) -> String {
    format!("{round}:{session}")
}

/// The key that makes sending `text` again one message.
pub(crate) fn idempotency_key(text: &str) -> String {
    format!("key of {text}")
}

fn append(mut peer: Peer, session: &str, prefix: &str, stop: &AtomicBool) -> ClientRecord {
    let mut record = ClientRecord::new(session);
    for count in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("{prefix} message {count}");
        let params = json!({
            "sessionKey": session, "content": text, "idempotencyKey": idempotency_key(&text),
        });
        match peer.call("session.send", &params) {
            Ok(Ok(sent)) => record.acknowledged(&text, &sent),
            // Refused work may or may not be there: only an ack is a promise.
            Ok(Err(_)) => record.in_doubt.push(text),
            Err(_) => {
                record.in_doubt.push(text);
                break;
            }
        }
    }
    record
}

/// Sends again what was in doubt, with the same keys: afterwards each is acknowledged.
pub(crate) fn settle(peer: &mut Peer, records: &mut [ClientRecord]) {
    for record in records {
        for text in std::mem::take(&mut record.in_doubt) {
            let params = json!({
                "sessionKey": record.session, "content": text,
                "idempotencyKey": idempotency_key(&text),
            });
            let sent = peer.must("session.send", &params);
            record.settled.push(Ack::read(&text, &sent));
        }
    }
}
