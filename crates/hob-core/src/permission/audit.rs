//! The hash chain of the audit record. Pure, and its only definition: the store appends with it,
//! and copies are verified with it elsewhere.
//!
//! Invariants: an entry's hash covers everything but the hash itself, including the hash of the
//! previous entry; entries are numbered from 1 without gaps. A change, a gap or a swap breaks the
//! chain at that place. A truncated end is detected by a hash that was kept elsewhere.

use super::canonical_json::{canonical_json, sha256_hex};
use hob_wire::rule::AuditEntry;
use serde_json::{Map, Value, json};

/// The hash before the first entry: sixty-four zeros.
pub const AUDIT_ROOT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The most bytes of one text in the data of an entry.
const TEXT_BYTES_MAX: usize = 1_024;
/// The most bytes of one list or object in it.
const VALUE_BYTES_MAX: usize = 4 * 1_024;
/// The most fields of one object in it.
const FIELDS_MAX: usize = 64;
/// The most nesting levels of it.
const DEPTH_MAX: usize = 6;

/// Returns the hash an entry must have.
pub fn entry_hash(entry: &AuditEntry) -> String {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("hash");
    }
    sha256_hex(&canonical_json(&value))
}

/// Verifies the record entry by entry.
#[derive(Clone, Debug)]
pub struct AuditChain {
    entries: u64,
    head: String,
    expected_hash: Option<String>,
}

impl AuditChain {
    /// Starts before the first entry. A hash seen earlier must occur on the way.
    pub fn new(expected_hash: Option<&str>) -> AuditChain {
        AuditChain {
            entries: 0,
            head: AUDIT_ROOT.to_owned(),
            // Every record is a continuation of an empty one.
            expected_hash: expected_hash
                .filter(|head| *head != AUDIT_ROOT)
                .map(str::to_owned),
        }
    }

    /// Verifies the next entry; the error tells what is wrong with it.
    pub fn verify_next(&mut self, entry: &AuditEntry) -> Result<(), String> {
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
        if self.expected_hash.as_ref() == Some(&self.head) {
            self.expected_hash = None;
        }
        Ok(())
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the hash of the last entry.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns the problem of a record that ends here, if any.
    pub fn problem_at_end(&self) -> Option<String> {
        let expected = self.expected_hash.as_ref()?;
        Some(format!(
            "No entry has the hash {expected}, which was seen earlier: the record was cut short or written anew."
        ))
    }
}

/// Verifies a whole record; returns the chain and the first problem, if any.
pub fn verify_audit(
    entries: impl IntoIterator<Item = AuditEntry>,
    expected_hash: Option<&str>,
) -> (AuditChain, Option<String>) {
    let mut chain = AuditChain::new(expected_hash);
    for entry in entries {
        if let Err(problem) = chain.verify_next(&entry) {
            return (chain, Some(problem));
        }
    }
    let problem = chain.problem_at_end();
    (chain, problem)
}

/// Returns a value as the record keeps it: a long part becomes its length and hash, and every text
/// goes through `mask`. Fractional numbers become texts, because not every reader returns them
/// unchanged.
pub fn to_audit_value(value: &Value, mask: &dyn Fn(&str) -> String) -> Value {
    audit_value_at(value, mask, DEPTH_MAX)
}

fn audit_value_at(value: &Value, mask: &dyn Fn(&str) -> String, depth: usize) -> Value {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => digest_of(text),
        Value::String(text) => Value::String(mask(text)),
        Value::Number(number) if number.is_f64() => Value::String(number.to_string()),
        Value::Array(_) | Value::Object(_) if depth == 0 => digest_of(&canonical_json(value)),
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| audit_value_at(item, mask, depth - 1));
            bounded_value(Value::Array(items.collect()), value)
        }
        Value::Object(fields) if fields.len() > FIELDS_MAX => digest_of(&canonical_json(value)),
        Value::Object(fields) => {
            let kept = fields
                .iter()
                // A secret can be a field name too.
                .map(|(name, value)| (mask(name), audit_value_at(value, mask, depth - 1)));
            bounded_value(Value::Object(kept.collect::<Map<_, _>>()), value)
        }
        plain => plain.clone(),
    }
}

/// Returns the kept value, or its length and hash if it is still too long.
fn bounded_value(kept: Value, value: &Value) -> Value {
    if canonical_json(&kept).len() > VALUE_BYTES_MAX {
        return digest_of(&canonical_json(value));
    }
    kept
}

fn digest_of(text: &str) -> Value {
    json!({ "bytes": text.len(), "sha256": sha256_hex(text) })
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
