//! Canonical JSON and its hash. Equal values have equal bytes, whatever the order of their keys; a
//! number keeps its spelling, because `1` and `1.0` are different bytes to a tool.

use hob_wire::work::ToolSpec;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Serialises `value` with the keys of every object in byte order and no space between tokens.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Returns the hash of everything a tool declares. A changed tool has another hash.
pub fn tool_fingerprint(tool: &ToolSpec) -> String {
    // A declaration is plain data. If one could not be serialised, its hash would match no redeemed
    // ticket.
    let declared = serde_json::to_value(tool).unwrap_or_default();
    sha256_hex(&canonical_json(&declared))
}

/// Returns the SHA-256 as lower-case hex.
pub(super) fn sha256_hex(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut out = String::with_capacity(64);
    for byte in digest {
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(&fields[name], out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
