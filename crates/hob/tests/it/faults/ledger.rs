//! What clients were promised, to be compared with what the store holds.

use super::peer::Peer;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// One acknowledged message.
#[derive(Clone, Debug)]
pub(crate) struct Ack {
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) seq: u64,
}

/// What one client did to one session: its acks in the order it got them, and what it sent
/// without hearing back.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientRecord {
    pub(crate) session: String,
    pub(crate) acks: Vec<Ack>,
    pub(crate) in_doubt: Vec<String>,
    /// What was in doubt and sent again later: promised too, but in no order.
    pub(crate) settled: Vec<Ack>,
}

impl ClientRecord {
    pub(crate) fn new(session: &str) -> ClientRecord {
        ClientRecord {
            session: session.to_owned(),
            ..ClientRecord::default()
        }
    }

    pub(crate) fn acknowledged(&mut self, text: &str, sent: &Value) {
        self.acks.push(Ack::read(text, sent));
    }
}

impl Ack {
    pub(crate) fn read(text: &str, sent: &Value) -> Ack {
        Ack {
            text: text.to_owned(),
            id: sent["messageId"].as_str().expect("an id").to_owned(),
            seq: sent["seq"].as_u64().expect("a seq"),
        }
    }

    fn is(&self, message: &Value) -> bool {
        message["id"] == self.id.as_str() && message["seq"] == self.seq
    }
}

/// How promises and store differ; all zero but `acks` when nothing is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    pub(crate) acks: u64,
    /// Acknowledged and not there, or there with another id, place or text.
    pub(crate) lost: u64,
    /// There twice.
    pub(crate) doubled: u64,
    /// A client's messages in another order than it sent them, or a hole in `seq`.
    pub(crate) misordered: u64,
    /// There, and nobody sent it.
    pub(crate) foreign: u64,
}

impl Audit {
    pub(crate) fn add(&mut self, other: &Audit) {
        self.acks += other.acks;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.misordered += other.misordered;
        self.foreign += other.foreign;
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.lost + self.doubled + self.misordered + self.foreign == 0
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Compares what clients were told with what `session.export` shows now.
pub(crate) fn audit(peer: &mut Peer, records: &[ClientRecord]) -> Audit {
    let mut by_session: BTreeMap<&str, Vec<&ClientRecord>> = BTreeMap::new();
    for record in records {
        by_session.entry(&record.session).or_default().push(record);
    }
    let mut total = Audit::default();
    for (session, records) in by_session {
        let messages = peer.export(session);
        total.add(&audit_session(&messages, &records));
    }
    total
}

fn audit_session(messages: &[Value], records: &[&ClientRecord]) -> Audit {
    let mut audit = Audit::default();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut ids = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let text = message["content"].as_str().unwrap_or_default();
        if places.insert(text, place).is_some() || !ids.insert(message["id"].as_str()) {
            audit.doubled += 1;
        }
        if message["seq"].as_u64() != Some(place as u64 + 1) {
            audit.misordered += 1;
        }
    }
    let mut sent: BTreeSet<&str> = BTreeSet::new();
    for record in records {
        let promised = || record.acks.iter().chain(&record.settled);
        audit.acks += promised().count() as u64;
        sent.extend(promised().map(|ack| ack.text.as_str()));
        sent.extend(record.in_doubt.iter().map(String::as_str));
        let place_of = |ack: &Ack| {
            let place = *places.get(ack.text.as_str())?;
            ack.is(&messages[place]).then_some(place)
        };
        audit.lost += promised().filter(|ack| place_of(ack).is_none()).count() as u64;
        let order: Vec<usize> = record.acks.iter().filter_map(place_of).collect();
        audit.misordered += order.windows(2).filter(|pair| pair[0] >= pair[1]).count() as u64;
    }
    audit.foreign += places.keys().filter(|text| !sent.contains(**text)).count() as u64;
    audit
}
