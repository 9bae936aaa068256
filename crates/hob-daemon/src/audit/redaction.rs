//! What the audit record does not show to callers without the scope `admin`: what was typed into the
//! shared terminal. Pure. The stored entries stay as they are, so the chain can still be checked.

use hob_wire::rule::AuditEntry;
use serde_json::{Value, json};

/// The tool of the shared terminal; its methods are named `terminal.*`.
const TERMINAL: &str = "terminal";
/// Fields that hold what was typed, or what a guess of it could be tried with: the entry's own hash
/// stays, so the salt that goes into it does not.
const TYPED: [&str; 7] = [
    "command", "commands", "text", "keys", "reason", "digest", "salt",
];
/// What stands in their place.
const HIDDEN: &str = "[hidden: needs the scope admin]";

/// An entry without what was typed into a terminal.
pub(super) fn without_typed_text(mut entry: AuditEntry) -> AuditEntry {
    let is_terminal = entry.tool.as_deref().is_some_and(|tool| {
        let rest = tool.strip_prefix(TERMINAL);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    // Rules say which commands are allowed, not which were typed; `permission.list` shows them.
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
