//! `ss` and `netstat`: listening and connected sockets.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding};
use hob_wire::analysis::{Importance, OutputFinding};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) const KIND: OutputKind = OutputKind {
    name: "sockets",
    programs: &["ss", "netstat"],
    read,
};

/// Services that should not be reachable from outside.
pub(super) const RISKY_PORTS: &[(u16, &str)] = &[
    (21, "FTP"),
    (23, "telnet"),
    (111, "portmapper"),
    (445, "file sharing"),
    (2375, "Docker without TLS"),
    (3306, "MySQL"),
    (3389, "remote desktop"),
    (5432, "PostgreSQL"),
    (5900, "VNC"),
    (6379, "Redis"),
    (9200, "Elasticsearch"),
    (11211, "memcached"),
    (27017, "MongoDB"),
];

#[derive(Debug)]
struct SocketRow<'a> {
    protocol: &'a str,
    state: &'a str,
    local: &'a str,
    peer: &'a str,
    process: Option<String>,
}

fn read(text: &str) -> Option<ParsedOutput> {
    let mut lines = text.lines();
    let rows = lines.by_ref().find_map(|line| {
        let header = line.trim_start();
        let of_ss = header.contains("Local Address:Port") && header.contains("Peer Address:Port");
        let of_netstat = header.starts_with("Proto") && header.contains("Foreign Address");
        let netid = header.starts_with("Netid");
        let stateful = netid || header.starts_with("State");
        if of_ss {
            Some(SocketFormat::Ss { netid, stateful })
        } else {
            of_netstat.then_some(SocketFormat::Netstat)
        }
    })?;
    let sockets: Vec<SocketRow<'_>> = lines.filter_map(|line| rows.parse_row(line)).collect();
    let listening: Vec<&SocketRow<'_>> = sockets
        .iter()
        .filter(|socket| socket.is_listening())
        .collect();
    let summary = match listening.len() {
        0 => format!(
            "{}; none of them listens.",
            count(sockets.len(), "socket", "sockets")
        ),
        some => format!(
            "{}, {some} of them listening.",
            count(sockets.len(), "socket", "sockets")
        ),
    };
    let rows: Vec<_> = sockets
        .iter()
        .take(ROWS_MAX)
        .map(SocketRow::to_json)
        .collect();
    let connected = sockets.iter().filter(|socket| socket.is_connected());
    let parsed = json!({
        "sockets": rows, "listening": listening.len(), "connected": connected.count(),
    });
    Some(ParsedOutput {
        parsed,
        findings: open_ports(&listening),
        summary,
    })
}

enum SocketFormat {
    Ss { netid: bool, stateful: bool },
    Netstat,
}

impl SocketFormat {
    fn parse_row<'a>(&self, line: &'a str) -> Option<SocketRow<'a>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| {
            words
                .get(at)
                .is_some_and(|word| word.parse::<u64>().is_ok())
        };
        match self {
            SocketFormat::Ss { netid, stateful } => {
                let first = usize::from(*netid) + usize::from(*stateful);
                if words.len() < first + 4 || !number(first) || !number(first + 1) {
                    return None;
                }
                let process = words.get(first + 4).and_then(|word| {
                    let name = word.split('"').nth(1)?;
                    Some(name.to_owned())
                });
                Some(SocketRow {
                    protocol: if *netid { words[0] } else { "tcp" },
                    state: if *stateful { words[first - 1] } else { "" },
                    local: words[first + 2],
                    peer: words[first + 3],
                    process,
                })
            }
            SocketFormat::Netstat => {
                let known = words.first().is_some_and(|word| {
                    ["tcp", "udp", "raw"]
                        .iter()
                        .any(|name| word.starts_with(name))
                });
                if !known || words.len() < 5 || !number(1) || !number(2) {
                    return None;
                }
                let state = words.get(5).copied().unwrap_or_default();
                let stateful = !state.is_empty()
                    && state
                        .chars()
                        .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
                let behind = words.get(if stateful { 6 } else { 5 });
                let process = behind
                    .and_then(|word| word.split_once('/'))
                    .map(|(_, name)| name);
                Some(SocketRow {
                    protocol: words[0],
                    state: if stateful { state } else { "" },
                    local: words[3],
                    peer: words[4],
                    process: process.map(|name| name.trim_end_matches(':').to_owned()),
                })
            }
        }
    }
}

impl SocketRow<'_> {
    fn port(&self) -> Option<u16> {
        self.local.rsplit(':').next()?.parse().ok()
    }

    fn is_listening(&self) -> bool {
        // UDP has no listening state: an unconnected socket receives from anybody.
        let datagrams = self.protocol.starts_with("udp");
        self.state.starts_with("LISTEN")
            || (datagrams
                && (self.state == "UNCONN" || (self.state.is_empty() && self.peer.ends_with(":*"))))
    }

    fn is_connected(&self) -> bool {
        self.state.starts_with("ESTAB")
    }

    fn is_on_all_interfaces(&self) -> bool {
        let host = self.local.rsplit_once(':').map_or("", |(host, _)| host);
        // `%lo` is the interface of a bound address.
        let host = host.split('%').next().unwrap_or(host);
        ["0.0.0.0", "*", "[::]", "::", ""].contains(&host)
    }

    fn to_json(&self) -> serde_json::Value {
        json!({
            "protocol": self.protocol,
            "state": self.state,
            "local": self.local,
            "peer": self.peer,
            "process": self.process,
        })
    }
}

/// Returns a finding for each port that is reachable from outside.
fn open_ports(listening: &[&SocketRow<'_>]) -> Vec<OutputFinding> {
    let mut ports: BTreeMap<(u16, bool), Option<&str>> = BTreeMap::new();
    for socket in listening
        .iter()
        .filter(|socket| socket.is_on_all_interfaces())
    {
        if let Some(port) = socket.port() {
            let entry = ports
                .entry((port, socket.protocol.starts_with("udp")))
                .or_default();
            // The IPv4 and IPv6 listeners of a port are one finding.
            *entry = entry.or(socket.process.as_deref());
        }
    }
    let say = |((port, datagrams), process): ((u16, bool), Option<&str>)| {
        let risky = RISKY_PORTS
            .iter()
            .find(|(known, _)| *known == port && !datagrams);
        let who = process.map_or_else(|| "Something".to_owned(), ToOwned::to_owned);
        let what = risky.map_or_else(String::new, |(_, name)| format!(" ({name})"));
        let kind = if datagrams { "UDP port" } else { "port" };
        let message = format!("{who} listens on {kind} {port}{what} on all interfaces");
        let importance = if risky.is_some() {
            Importance::High
        } else {
            Importance::Medium
        };
        finding("network", message, importance)
    };
    ports.into_iter().map(say).collect()
}
