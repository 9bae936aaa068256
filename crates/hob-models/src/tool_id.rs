//! Tool-call ids in the format each provider accepts. Pure.
//!
//! A conversation may hold ids of another provider when a run continues with another model.
//! Invariant: an id always maps to the same id, so a result still names its call.

use hob_wire::content::{ContentPart, ToolCall};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The id format a provider accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolIdFormat {
    /// Letters, digits, `_` and `-`, at most 40 of them.
    Common,
    /// Exactly nine letters and digits.
    NineLetters,
}

const COMMON_CHARS_MAX: usize = 40;
const NINE: usize = 9;

/// Returns the id if it fits the format, else an id derived from it.
pub(crate) fn format_id(id: &str, format: ToolIdFormat) -> String {
    let fits = match format {
        ToolIdFormat::Common => {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !id.is_empty() && id.len() <= COMMON_CHARS_MAX && id.bytes().all(fine)
        }
        ToolIdFormat::NineLetters => {
            id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    };
    if fits {
        return id.to_owned();
    }
    match format {
        ToolIdFormat::Common => format!("call_{}", derive_id(id.as_bytes(), 24)),
        ToolIdFormat::NineLetters => derive_id(id.as_bytes(), NINE),
    }
}

/// Gives every call of an answer an id that is unique in the answer and the conversation.
/// `seed` is the request body, which differs at each step. Returns the calls that came with the id
/// of an earlier call of the same answer: they may be duplicates of it.
pub(crate) fn make_unique(
    parts: &mut [ContentPart],
    taken: &BTreeSet<&str>,
    seed: &[u8],
) -> BTreeSet<String> {
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut received: BTreeSet<String> = BTreeSet::new();
    let mut repeated: BTreeSet<String> = BTreeSet::new();
    for (index, part) in parts.iter_mut().enumerate() {
        let ContentPart::ToolCall(ToolCall { id, .. }) = part else {
            continue;
        };
        // Some providers send no ids, so two empty ids are not a repetition.
        let is_repeated = !id.is_empty() && !received.insert(id.clone());
        if id.is_empty() || taken.contains(id.as_str()) || given.contains(id) {
            let mut source = seed.to_vec();
            source.extend_from_slice(&index.to_le_bytes());
            *id = format!("call_{}", derive_id(&source, 24));
        }
        given.insert(id.clone());
        if is_repeated {
            repeated.insert(id.clone());
        }
    }
    repeated
}

fn derive_id(source: &[u8], letters: usize) -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let hash = Sha256::digest(source);
    hash.iter()
        .take(letters)
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
        .collect()
}

#[cfg(test)]
#[path = "tool_id_tests.rs"]
mod tests;
