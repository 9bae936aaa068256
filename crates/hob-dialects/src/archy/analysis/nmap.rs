//! `nmap`: hosts that are up, and their open ports.

use super::sockets::RISKY_PORTS;
use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding, list_some};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "nmap",
    programs: &["nmap"],
    read,
};

const PORTS_SHOWN: usize = 10;

#[derive(Debug, Default)]
struct ScannedHost<'a> {
    name: &'a str,
    up: bool,
    ports: Vec<ScannedPort<'a>>,
}

#[derive(Debug)]
struct ScannedPort<'a> {
    number: u16,
    protocol: &'a str,
    state: &'a str,
    service: &'a str,
    version: String,
}

fn read(text: &str) -> Option<ParsedOutput> {
    let mut hosts: Vec<ScannedHost<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("Nmap scan report for ") {
            hosts.push(ScannedHost {
                name: name.trim(),
                ..ScannedHost::default()
            });
        } else if let Some(host) = hosts.last_mut() {
            host.up |= line.starts_with("Host is up");
            host.ports.extend(parse_port(line));
        }
    }
    // A scan that found no host still prints its last line.
    if hosts.is_empty() && !text.contains("Nmap done: ") {
        return None;
    }
    let mut findings = Vec::new();
    let mut open = Vec::new();
    for host in &hosts {
        for port in host.ports.iter().filter(|port| port.state == "open") {
            let risky = RISKY_PORTS.iter().find(|(known, _)| *known == port.number);
            let importance = if risky.is_some() {
                Importance::High
            } else {
                Importance::Low
            };
            let service = risky.map_or(port.service, |(_, name)| name);
            let message = format!(
                "{} has port {}/{} open ({service})",
                host.name, port.number, port.protocol
            );
            findings.push(finding("network", message, importance));
            open.push(format!("{}/{}", port.number, port.protocol));
        }
    }
    let up = hosts.iter().filter(|host| host.up).count();
    let answers = count(up, "host answers", "hosts answer");
    let summary = if open.is_empty() {
        format!("{answers}, with no open port.")
    } else {
        format!(
            "{answers}, with {}: {}.",
            count(open.len(), "open port", "open ports"),
            list_some(&open, PORTS_SHOWN)
        )
    };
    let rows: Vec<_> = hosts.iter().take(ROWS_MAX).map(to_json).collect();
    Some(ParsedOutput {
        parsed: json!({ "hosts": rows, "up": up }),
        findings,
        summary,
    })
}

/// Parses `22/tcp open ssh OpenSSH 9.2`.
fn parse_port(line: &str) -> Option<ScannedPort<'_>> {
    let mut words = line.split_whitespace();
    let (number, protocol) = words.next()?.split_once('/')?;
    let number = number.parse().ok()?;
    let state = words.next()?;
    let service = words.next().unwrap_or("unknown");
    let version = words.collect::<Vec<_>>().join(" ");
    ["tcp", "udp", "sctp"]
        .contains(&protocol)
        .then_some(ScannedPort {
            number,
            protocol,
            state,
            service,
            version,
        })
}

fn to_json(host: &ScannedHost<'_>) -> serde_json::Value {
    let port = |port: &ScannedPort<'_>| {
        json!({
            "port": port.number, "protocol": port.protocol, "state": port.state,
            "service": port.service, "version": port.version,
        })
    };
    json!({
        "host": host.name,
        "up": host.up,
        "ports": host.ports.iter().take(ROWS_MAX).map(port).collect::<Vec<_>>(),
    })
}
