//! `ip addr`: network interfaces and their addresses.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding, list_some};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "ip",
    programs: &["ip"],
    read,
};

#[derive(Debug, Default)]
struct NetworkInterface<'a> {
    name: &'a str,
    flags: Vec<&'a str>,
    state: Option<&'a str>,
    mtu: Option<u32>,
    hardware: Option<&'a str>,
    addresses: Vec<(&'a str, Option<&'a str>)>,
}

fn read(text: &str) -> Option<ParsedOutput> {
    let mut interfaces: Vec<NetworkInterface<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // The details of an interface are indented below its first line.
        if !line.starts_with(' ') {
            interfaces.push(parse_interface(line)?);
            continue;
        }
        let interface = interfaces.last_mut()?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["inet" | "inet6", address, rest @ ..] => {
                interface
                    .addresses
                    .push((address, word_after(rest, "scope")));
            }
            [kind, address, ..] if kind.starts_with("link/") => interface.hardware = Some(address),
            _ => {}
        }
    }
    if interfaces.is_empty() {
        return None;
    }
    let unplugged = interfaces
        .iter()
        .filter(|interface| interface.flags.contains(&"NO-CARRIER"));
    let say = |interface: &NetworkInterface<'_>| {
        let message = format!("{} is up but nothing is plugged in", interface.name);
        finding("network", message, Importance::Low)
    };
    let findings = unplugged.map(say).collect();
    let outside: Vec<String> = interfaces
        .iter()
        .flat_map(|interface| {
            let global = interface
                .addresses
                .iter()
                .filter(|(_, scope)| *scope == Some("global"));
            global.map(|(address, _)| format!("{} has {address}", interface.name))
        })
        .collect();
    let found = count(interfaces.len(), "interface", "interfaces");
    let summary = if outside.is_empty() {
        format!("{found}; none has an address that others can reach.")
    } else {
        format!("{found}; {}.", list_some(&outside, 4))
    };
    let rows: Vec<_> = interfaces.iter().take(ROWS_MAX).map(to_json).collect();
    Some(ParsedOutput {
        parsed: json!({ "interfaces": rows }),
        findings,
        summary,
    })
}

/// Parses `2: eth0@if3: <UP,LOWER_UP> mtu 1500 … state UP …`.
fn parse_interface(line: &str) -> Option<NetworkInterface<'_>> {
    let (number, rest) = line.split_once(": ")?;
    number.parse::<u32>().ok()?;
    let (name, rest) = rest.split_once(": <")?;
    let (flags, rest) = rest.split_once('>')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    Some(NetworkInterface {
        // `eth0@if3` also names the peer of a virtual interface.
        name: name.split('@').next().unwrap_or(name),
        flags: flags.split(',').collect(),
        state: word_after(&words, "state"),
        mtu: word_after(&words, "mtu").and_then(|mtu| mtu.parse().ok()),
        ..NetworkInterface::default()
    })
}

fn word_after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

fn to_json(interface: &NetworkInterface<'_>) -> serde_json::Value {
    let address =
        |(address, scope): &(&str, Option<&str>)| json!({ "address": address, "scope": scope });
    json!({
        "name": interface.name,
        "state": interface.state,
        "mtu": interface.mtu,
        "hardware": interface.hardware,
        "addresses": interface.addresses.iter().map(address).collect::<Vec<_>>(),
    })
}
