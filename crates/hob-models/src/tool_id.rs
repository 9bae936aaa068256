//! Ids of tool calls as each provider takes them. Pure.
//!
//! A conversation may hold ids another provider made, when a run went on with another model.
//! Invariant: the same id always becomes the same id, so a result still names its call.

use hob_wire::content::{Part, ToolCall};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// What ids a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdShape {
    /// Letters, digits, `_` and `-`, at most 40 of them.
    Common,
    /// Exactly nine letters and digits.
    NineLetters,
}

const COMMON_CHARS_MAX: usize = 40;
const NINE: usize = 9;

/// The id in that shape: itself if it fits, else one made from it.
pub(crate) fn shaped(id: &str, shape: IdShape) -> String {
    let fits = match shape {
        IdShape::Common => {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !id.is_empty() && id.len() <= COMMON_CHARS_MAX && id.bytes().all(fine)
        }
        IdShape::NineLetters => {
            id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    };
    if fits {
        return id.to_owned();
    }
    match shape {
        IdShape::Common => format!("call_{}", made_from(id.as_bytes(), 24)),
        IdShape::NineLetters => made_from(id.as_bytes(), NINE),
    }
}

/// Gives every call of an answer an id that neither the answer nor the conversation has yet.
/// `seed` is the request: a different one at each step. Says which calls came with the id of an
/// earlier call of the same answer: they may be that call once more.
pub(crate) fn make_unique(
    parts: &mut [Part],
    taken: &BTreeSet<&str>,
    seed: &[u8],
) -> BTreeSet<String> {
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut received: BTreeSet<String> = BTreeSet::new();
    let mut repeated: BTreeSet<String> = BTreeSet::new();
    for (index, part) in parts.iter_mut().enumerate() {
        let Part::ToolCall(ToolCall { id, .. }) = part else {
            continue;
        };
        // Providers that give no ids leave them empty, which says nothing.
        let is_repeated = !id.is_empty() && !received.insert(id.clone());
        if id.is_empty() || taken.contains(id.as_str()) || given.contains(id) {
            let mut source = seed.to_vec();
            source.extend_from_slice(&index.to_le_bytes());
            *id = format!("call_{}", made_from(&source, 24));
        }
        given.insert(id.clone());
        if is_repeated {
            repeated.insert(id.clone());
        }
    }
    repeated
}

fn made_from(source: &[u8], letters: usize) -> String {
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
