//! The facts of an analysed output under Archy's format names and keys. Pure.
//!
//! Invariants: the result is always an object, because Archy's clients merge it key by key. Totals
//! count everything, also where a list of rows is cut. What a parser of hob's knows beyond Archy's
//! keys stands beside them.

use crate::archy::analysis::program_name::printing_program;
use hob_wire::analysis::OutputAnalysis;
use serde_json::{Map, Value, json};

/// The most bytes of plain text in `content`. The whole text is in `raw_output`.
const CONTENT_BYTES_MAX: usize = 64 * 1024;
const TABLE: &str = "table";
const PLAIN_TEXT: &str = "plain_text";

/// Returns Archy's name for a format.
pub(crate) fn format_name(read: &OutputAnalysis, command: &str) -> &'static str {
    match read.format.as_str() {
        "nmap" => "nmap",
        "sockets" => "network_table",
        "ps" => "process_table",
        "ls" => "ls_long",
        "ip" => "ip_addr",
        "systemctl" => "systemctl",
        "df" => "disk_usage",
        "journal" => "journalctl",
        "json" => "json",
        _ if printing_program(command) == Some("lsblk") => "block_devices",
        TABLE => TABLE,
        _ => PLAIN_TEXT,
    }
}

/// Returns the facts of an output. `command` is empty if it is not known.
pub(crate) fn structured(read: &OutputAnalysis, command: &str, output: &str) -> Value {
    let facts = &read.parsed;
    let mut keys = match read.format.as_str() {
        "nmap" => nmap(facts),
        "sockets" => sockets(facts),
        "ps" => processes(facts),
        "ls" => listing(facts),
        "ip" => interfaces(facts),
        "systemctl" => units(facts),
        "df" => disks(facts),
        "journal" => journal(facts),
        // The fields are the program's own, so nothing is added to them.
        "json" => return json_object(facts),
        _ => plain_text(read, output),
    };
    if !command.is_empty() {
        keys.entry("command").or_insert_with(|| json!(command));
    }
    Value::Object(keys)
}

fn nmap(facts: &Value) -> Map<String, Value> {
    let (mut ports, mut services) = (Vec::new(), Vec::new());
    let found = rows(facts, "hosts").iter();
    for port in found.flat_map(|host| rows(host, "ports")) {
        if port["state"] != "open" {
            continue;
        }
        ports.push(format!("{}/{}", port["port"], text(port, "protocol")));
        let service = text(port, "service");
        services.extend((!service.is_empty()).then(|| service.to_owned()));
    }
    object(json!({
        "hosts_up": facts["up"], "open_ports": ports, "services": services, "scan_type": "nmap",
        "hosts": facts["hosts"],
    }))
}

fn sockets(facts: &Value) -> Map<String, Value> {
    let connected = rows(facts, "sockets").iter();
    let connected = connected.filter(|socket| text(socket, "state").starts_with("ESTAB"));
    let connections: Vec<Value> = connected
        .map(|socket| {
            json!({
                "protocol": socket["protocol"], "local": socket["local"],
                "remote": socket["peer"], "state": "ESTABLISHED",
            })
        })
        .collect();
    object(json!({
        "connections": connections, "established_count": facts["connected"],
        "listening_count": facts["listening"], "sockets": facts["sockets"],
    }))
}

fn processes(facts: &Value) -> Map<String, Value> {
    object(json!({
        "process_count": facts["count"], "type": "process_list", "processes": facts["processes"],
        "load_average": facts["loadAverage"],
    }))
}

fn listing(facts: &Value) -> Map<String, Value> {
    object(json!({
        "files": facts["files"], "directories": facts["folders"],
        "total_size_bytes": facts["bytes"], "entries": facts["entries"],
    }))
}

fn interfaces(facts: &Value) -> Map<String, Value> {
    let all = rows(facts, "interfaces");
    let names: Vec<&Value> = all.iter().map(|interface| &interface["name"]).collect();
    let addresses = all
        .iter()
        .flat_map(|interface| rows(interface, "addresses"));
    // An address of IPv6 has colons.
    let version_4: Vec<&str> = addresses
        .map(|address| text(address, "address"))
        .filter(|address| !address.contains(':'))
        .collect();
    object(json!({ "interfaces": names, "ipv4_addresses": version_4, "details": all }))
}

/// The list of units, or the status of one.
fn units(facts: &Value) -> Map<String, Value> {
    let service = |unit: &str| unit.strip_suffix(".service").map(str::to_owned);
    if facts.get("units").is_none() {
        let state = text(facts, "active");
        let named = || service(text(facts, "unit")).into_iter();
        let active: Vec<String> = named().filter(|_| state.starts_with("active")).collect();
        let failed: Vec<String> = named().filter(|_| state.starts_with("failed")).collect();
        let mut keys = facts.as_object().cloned().unwrap_or_default();
        keys.extend(service_counts(&json!(active.len()), &active, &failed));
        return keys;
    }
    let running = rows(facts, "units").iter();
    let running = running.filter(|unit| unit["sub"] == "running");
    let active: Vec<String> = running
        .filter_map(|unit| service(text(unit, "unit")))
        .collect();
    let failed = rows(facts, "failed").iter().filter_map(Value::as_str);
    let failed: Vec<String> = failed.filter_map(service).collect();
    let mut keys = service_counts(&facts["runningServices"], &active, &failed);
    keys.insert("units".to_owned(), facts["units"].clone());
    keys
}

fn service_counts(
    active_count: &Value,
    active: &[String],
    failed: &[String],
) -> Map<String, Value> {
    object(json!({
        "active_count": active_count, "failed_count": failed.len(), "active_services": active,
        "failed_services": failed,
    }))
}

fn disks(facts: &Value) -> Map<String, Value> {
    let disk = |disk: &Value| {
        json!({
            "filesystem": disk["filesystem"], "size": disk["size"], "used": disk["used"],
            "available": disk["available"], "usage_percent": disk["usedPercent"],
            "mount": disk["mountedOn"],
        })
    };
    let disks: Vec<Value> = rows(facts, "filesystems").iter().map(disk).collect();
    object(json!({ "filesystems": disks }))
}

fn journal(facts: &Value) -> Map<String, Value> {
    let errors = rows(facts, "lastErrors");
    let mut failed: Vec<&str> = errors
        .iter()
        .filter_map(Value::as_str)
        .flat_map(str::split_whitespace)
        .filter_map(|word| {
            word.trim_end_matches([':', '.', ','])
                .strip_suffix(".service")
        })
        .collect();
    failed.sort_unstable();
    failed.dedup();
    object(json!({
        "error_count": facts["errors"], "warning_count": facts["warnings"],
        "failed_services": failed, "errors": errors, "warnings": facts["lastWarnings"],
        "from": facts["from"], "to": facts["to"], "sources": facts["sources"],
    }))
}

fn json_object(value: &Value) -> Value {
    match value {
        Value::Object(_) => value.clone(),
        Value::Array(_) => json!({ "items": value }),
        other => json!({ "value": other }),
    }
}

/// Any other text. A table also has its columns and rows.
fn plain_text(read: &OutputAnalysis, output: &str) -> Map<String, Value> {
    let content = output.trim();
    let shown = &content[..content.floor_char_boundary(CONTENT_BYTES_MAX)];
    let mut keys = read.parsed.as_object().cloned().unwrap_or_default();
    keys.extend(object(json!({
        "type": PLAIN_TEXT, "line_count": read.line_count, "content": shown,
    })));
    if shown.len() < content.len() {
        keys.insert("content_cut".to_owned(), Value::Bool(true));
    }
    keys
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}

fn rows<'v>(facts: &'v Value, key: &str) -> &'v [Value] {
    facts[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(facts: &'v Value, key: &str) -> &'v str {
    facts[key].as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "structured_facts_tests.rs"]
mod tests;
