//! Hides text typed into the shared terminal from callers without the scope `admin`. Pure. The
//! stored entries are unchanged, so the chain can still be verified.

use hob_wire::rule::AuditEntry;
use serde_json::{Value, json};

/// The tool of the shared terminal; its methods are named `terminal.*`.
const TERMINAL: &str = "terminal";
/// Fields with typed text, or with data to test a guess of it. The entry's hash stays visible, so
/// the salt in it must not be.
const TYPED: [&str; 7] = [
    "command", "commands", "text", "keys", "reason", "digest", "salt",
];
/// Replacement text.
const HIDDEN: &str = "[hidden: needs the scope admin]";

/// Hides the typed text of a terminal entry.
pub(super) fn without_typed_text(mut entry: AuditEntry) -> AuditEntry {
    let is_terminal = entry.tool.as_deref().is_some_and(|tool| {
        let rest = tool.strip_prefix(TERMINAL);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    // Rules name allowed commands, not typed ones, and `permission.list` shows them anyway.
    if is_terminal && !entry.act.starts_with("rule-") {
        hide(&mut entry.matter);
    }
    entry
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if TYPED.contains(&name.as_str()) {
                    if !field.is_null() {
                        *field = json!(HIDDEN);
                    }
                } else {
                    hide(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
