//! Hides text typed into a person's shell from callers without the scope `admin`. Pure. The
//! stored entries are unchanged, so the chain can still be verified.

use hob_wire::rule::AuditEntry;
use serde_json::{Value, json};

/// The methods of the room that types.
const TERMINAL_METHODS: &str = "terminal.";
/// Fields with typed text, or with data to test a guess of it. The entry's hash stays visible, so
/// the salt in it must not be.
const TYPED: [&str; 7] = [
    "command", "commands", "text", "keys", "reason", "digest", "salt",
];
/// Replacement text.
const HIDDEN: &str = "[hidden: needs the scope admin]";

/// Hides the typed text of an entry.
pub(super) fn without_typed_text(mut entry: AuditEntry) -> AuditEntry {
    let is_typed = entry.tool.as_deref().is_some_and(|tool| {
        hob_tools::traits(tool).needs_admin || tool.starts_with(TERMINAL_METHODS)
    });
    // Rules name allowed commands, not typed ones, and `permission.list` shows them anyway.
    if is_typed && !entry.act.starts_with("rule-") {
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
