//! `ip addr`: the machine's interfaces and their addresses.

use super::{Kind, ROWS_MAX, Reading, count, finding, some};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: Kind = Kind {
    name: "ip",
    programs: &["ip"],
    read,
};

#[derive(Debug, Default)]
struct Interface<'a> {
    name: &'a str,
    flags: Vec<&'a str>,
    state: Option<&'a str>,
    mtu: Option<u32>,
    hardware: Option<&'a str>,
    addresses: Vec<(&'a str, Option<&'a str>)>,
}

fn read(text: &str) -> Option<Reading> {
    let mut interfaces: Vec<Interface<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with(' ') {
            interfaces.push(head(line)?);
            continue;
        }
        let interface = interfaces.last_mut()?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["inet" | "inet6", address, rest @ ..] => {
                interface.addresses.push((address, behind(rest, "scope")));
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
    let say = |interface: &Interface<'_>| {
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
        format!("{found}; {}.", some(&outside, 4))
    };
    let rows: Vec<_> = interfaces.iter().take(ROWS_MAX).map(json).collect();
    Some(Reading {
        parsed: json!({ "interfaces": rows }),
        findings,
        summary,
    })
}

/// `2: eth0@if3: <UP,LOWER_UP> mtu 1500 … state UP …`
fn head(line: &str) -> Option<Interface<'_>> {
    let (number, rest) = line.split_once(": ")?;
    number.parse::<u32>().ok()?;
    let (name, rest) = rest.split_once(": <")?;
    let (flags, rest) = rest.split_once('>')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    Some(Interface {
        name: name.split('@').next().unwrap_or(name),
        flags: flags.split(',').collect(),
        state: behind(&words, "state"),
        mtu: behind(&words, "mtu").and_then(|mtu| mtu.parse().ok()),
        ..Interface::default()
    })
}

fn behind<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

fn json(interface: &Interface<'_>) -> serde_json::Value {
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
