//! The chain of the audit record. Pure, and the one definition of it: the store appends with it,
//! and a copy is checked with it elsewhere.
//!
//! Invariants: an entry's hash covers all of it but the hash itself, the hash of the entry before
//! included; entries count from 1 without gaps. A change, a gap or a swap anywhere breaks the
//! chain there; what was cut off at its end shows against a hash that was kept elsewhere.

use super::canonical::{canonical, hash};
use hob_wire::rule::AuditEntry;
use serde_json::{Map, Value, json};

/// What the first entry follows: sixty-four zeros.
pub const AUDIT_ROOT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Bytes of one text in the matter of an entry.
const TEXT_BYTES_MAX: usize = 1_024;
/// Bytes of one list or object in it.
const VALUE_BYTES_MAX: usize = 4 * 1_024;
/// Fields of one object in it.
const FIELDS_MAX: usize = 64;
/// Levels of it.
const DEPTH_MAX: usize = 6;

/// The hash an entry must have.
pub fn entry_hash(entry: &AuditEntry) -> String {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("hash");
    }
    hash(&canonical(&value))
}

/// Follows the record entry by entry.
#[derive(Clone, Debug)]
pub struct Chain {
    entries: u64,
    head: String,
    awaited: Option<String>,
}

impl Chain {
    /// From the first entry on. A hash seen earlier must be met on the way.
    pub fn new(awaited: Option<&str>) -> Chain {
        Chain {
            entries: 0,
            head: AUDIT_ROOT.to_owned(),
            // Of a record that was empty then, any continuation is one.
            awaited: awaited
                .filter(|head| *head != AUDIT_ROOT)
                .map(str::to_owned),
        }
    }

    /// Takes the next entry, or says what is wrong with it.
    pub fn take(&mut self, entry: &AuditEntry) -> Result<(), String> {
        let place = self.entries + 1;
        if entry.seq != place {
            return Err(format!(
                "Entry {place} is missing: {} follows entry {}.",
                entry.seq, self.entries
            ));
        }
        if entry.previous != self.head {
            return Err(format!(
                "Entry {place} does not follow the one before it: one of the two was changed."
            ));
        }
        if entry.hash != entry_hash(entry) {
            return Err(format!("Entry {place} was changed after it was written."));
        }
        self.entries = place;
        self.head.clone_from(&entry.hash);
        if self.awaited.as_ref() == Some(&self.head) {
            self.awaited = None;
        }
        Ok(())
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The hash of the last entry.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// What is wrong with a record that ends here.
    pub fn problem_at_end(&self) -> Option<String> {
        let awaited = self.awaited.as_ref()?;
        Some(format!(
            "No entry has the hash {awaited}, which was seen earlier: the record was cut short or written anew."
        ))
    }
}

/// Follows a whole record; answers where it stands and what is wrong, if anything.
pub fn verify_audit(
    entries: impl IntoIterator<Item = AuditEntry>,
    awaited: Option<&str>,
) -> (Chain, Option<String>) {
    let mut chain = Chain::new(awaited);
    for entry in entries {
        if let Err(problem) = chain.take(&entry) {
            return (chain, Some(problem));
        }
    }
    let problem = chain.problem_at_end();
    (chain, problem)
}

/// A value as the record keeps it: what is long becomes its length and its hash, and every text
/// goes through `mask`. Broken numbers become texts, because not every reader gives them back as
/// they were.
pub fn recorded(value: &Value, mask: &dyn Fn(&str) -> String) -> Value {
    within(value, mask, DEPTH_MAX)
}

fn within(value: &Value, mask: &dyn Fn(&str) -> String, depth: usize) -> Value {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => short(text),
        Value::String(text) => Value::String(mask(text)),
        Value::Number(number) if number.is_f64() => Value::String(number.to_string()),
        Value::Array(_) | Value::Object(_) if depth == 0 => short(&canonical(value)),
        Value::Array(items) => {
            let items = items.iter().map(|item| within(item, mask, depth - 1));
            whole_or_short(Value::Array(items.collect()), value)
        }
        Value::Object(fields) if fields.len() > FIELDS_MAX => short(&canonical(value)),
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .map(|(name, value)| (mask(name), within(value, mask, depth - 1)));
            whole_or_short(Value::Object(kept.collect::<Map<_, _>>()), value)
        }
        plain => plain.clone(),
    }
}

/// What is kept of a value, unless that is still too long.
fn whole_or_short(kept: Value, value: &Value) -> Value {
    if canonical(&kept).len() > VALUE_BYTES_MAX {
        return short(&canonical(value));
    }
    kept
}

fn short(text: &str) -> Value {
    json!({ "bytes": text.len(), "sha256": hash(text) })
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
