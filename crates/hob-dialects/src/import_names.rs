//! hob's names for what another system named: keys of sessions, names of jobs and providers. Pure.
//!
//! Invariants: the same source gives the same name; different keys of a source give different keys in
//! hob; every name is within the bounds that hob checks.

use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use sha2::{Digest, Sha256};

/// The longest part of a session's key that comes from the source.
const KEY_PART_BYTES_MAX: usize = 160;
/// The longest part of a job's name that comes from the source.
const NAME_PART_BYTES_MAX: usize = 40;

/// hob's key of a session: `import:SYSTEM:KEY`. Letters that a key should not have are replaced, and
/// then a mark of the whole key keeps similar ones apart.
pub(crate) fn session_key(system: &str, source: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._:@+=-".contains(letter);
    let mut part: String = source
        .chars()
        .map(|letter| if plain(letter) { letter } else { '-' })
        .take(KEY_PART_BYTES_MAX)
        .collect();
    // A key with this word belongs to a sub-agent that hob itself started.
    part = part.replace(":subagent:", "-subagent-");
    let mut key = format!("import:{system}:{part}");
    if part != source {
        key.push('~');
        key.push_str(&digest(&[source])[..12]);
    }
    debug_assert!(key.len() <= SESSION_KEY_BYTES_MAX, "the parts are bounded");
    key
}

/// hob's name of a job or loop: `SYSTEM-NAME` in lower-case letters, digits and dashes.
pub(crate) fn hob_name(system: &str, source: &str) -> String {
    let mut name = String::from(system);
    for word in source.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        if word.is_empty() || word == system {
            continue;
        }
        name.push('-');
        name.push_str(&word.to_ascii_lowercase());
    }
    name.truncate(system.len() + 1 + NAME_PART_BYTES_MAX);
    name.trim_end_matches('-').to_owned()
}

/// hob's name of a provider.
pub(crate) fn provider_name(source: &str) -> String {
    let name = source.trim().to_ascii_lowercase();
    match name.as_str() {
        "google" => "gemini".to_owned(),
        _ => name,
    }
}

/// The beginning of the SHA-256 of texts, each with its length, in hex.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    data_encoding::HEXLOWER.encode(&hash.finalize()[..16])
}

/// One line without control characters.
pub(crate) fn plain_line(text: &str, bytes_max: usize) -> String {
    let words = text.split(|letter: char| letter.is_control() || letter.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    shorten(words.join(" "), bytes_max)
}

pub(crate) fn shorten(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "import_names_tests.rs"]
mod tests;
