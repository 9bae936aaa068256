//! Masks secrets in text before it is logged or shown: known secrets, and anything that looks like
//! a token. Text for a model is masked by [`crate::known_secrets`], which does not guess.
//! Invariant: masking never fails and never makes a text much longer; when in doubt it masks.

use crate::known_secrets::SecretMatcher;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The replacement for a secret.
pub const MASKED: &str = "[masked]";

/// Shorter secrets are not masked, because they would mask ordinary words.
const SECRET_BYTES_MIN: usize = 6;
/// Known secrets; beyond this the oldest is forgotten.
const SECRETS_MAX: usize = 4_096;
/// An owner token is this many hex digits.
const OWNER_TOKEN_DIGITS: usize = 64;

/// The set of known secrets; cheap to clone, and shared by all clones.
#[derive(Clone, Default)]
pub struct SecretMask {
    /// A std lock: held for a scan of one line, never over an await.
    secrets: Arc<RwLock<MaskedSecrets>>,
}

#[derive(Default)]
struct MaskedSecrets {
    /// Longest first, so that a secret that contains another is masked whole.
    known: Vec<MaskedSecret>,
    added: u64,
    /// Finds all of them at once. Built when first needed after a change.
    exact: OnceLock<Arc<SecretMatcher>>,
}

struct MaskedSecret {
    text: String,
    /// A smaller number was added earlier.
    age: u64,
}

impl SecretMask {
    pub fn new() -> SecretMask {
        SecretMask::default()
    }

    /// Masks `secret` wherever it appears from now on.
    pub fn add(&self, secret: &str) {
        if secret.len() < SECRET_BYTES_MIN {
            return;
        }
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        // Logged values are often written with `{:?}`, which escapes.
        let escaped = secret.escape_debug().to_string();
        for form in [secret.to_owned(), escaped] {
            secrets.add(form);
        }
    }

    /// Returns `text` with its secrets masked.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        for secret in &secrets.known {
            if masked.contains(secret.text.as_str()) {
                masked = Cow::Owned(masked.replace(secret.text.as_str(), MASKED));
            }
        }
        // After the exact values: a known secret must be masked whole, not only the part of it that
        // looks like a token.
        drop(secrets);
        match mask_patterns(&masked) {
            Some(text) => Cow::Owned(text),
            None => masked,
        }
    }

    /// Returns the matcher for the currently known secrets.
    pub(crate) fn exact_matcher(&self) -> Arc<SecretMatcher> {
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let texts = || secrets.known.iter().map(|secret| secret.text.as_str());
        let matcher = secrets
            .exact
            .get_or_init(|| Arc::new(SecretMatcher::new(texts())));
        Arc::clone(matcher)
    }
}

impl MaskedSecrets {
    fn add(&mut self, text: String) {
        if self.known.iter().any(|secret| secret.text == text) {
            return;
        }
        // Bounded: short-lived tokens are added for as long as the daemon runs.
        if self.known.len() >= SECRETS_MAX {
            let ages = self.known.iter().map(|secret| secret.age).enumerate();
            if let Some((oldest, _)) = ages.min_by_key(|(_, age)| *age) {
                self.known.remove(oldest);
            }
        }
        let longer = |secret: &MaskedSecret| secret.text.len() >= text.len();
        let place = self.known.partition_point(longer);
        let age = self.added;
        self.added += 1;
        self.known.insert(place, MaskedSecret { text, age });
        // Rebuilt lazily, because secrets are often added several at a time.
        self.exact = OnceLock::new();
    }
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

/// Masks everything that looks like a token; `None` if nothing does.
fn mask_patterns(text: &str) -> Option<String> {
    let mut output: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        let Some(secret) = secret_at(text, at) else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let output = output.get_or_insert_with(|| String::with_capacity(text.len()));
        output.push_str(&text[copied..secret.start]);
        output.push_str(MASKED);
        copied = secret.end;
        at = secret.end;
    }
    let mut output = output?;
    output.push_str(&text[copied..]);
    Some(output)
}

/// Returns the range of a secret whose word starts at `at`.
fn secret_at(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let starts_word = at == 0 || !is_word(bytes[at - 1]);
    if !starts_word || !is_word(bytes[at]) {
        return None;
    }
    let rest = &bytes[at..];
    let run = |from: usize, allowed: fn(u8) -> bool| {
        rest[from..]
            .iter()
            .take_while(|byte| allowed(**byte))
            .count()
    };
    // `hob_1a2b3c4d_…`: the id is not secret and stays, because it says which token it was.
    if rest.starts_with(b"hob_") {
        let id = run(4, |byte| byte.is_ascii_hexdigit());
        let secret = 4 + id + 1;
        if id > 0 && rest.get(4 + id) == Some(&b'_') {
            let digits = run(secret, is_word);
            return (digits > 0).then(|| at + secret..at + secret + digits);
        }
    }
    if rest.len() > 7 && rest[..7].eq_ignore_ascii_case(b"bearer ") {
        let length = run(7, |byte| {
            !byte.is_ascii_whitespace() && byte != b'"' && byte != b'\''
        });
        // Credentials are longer than words; prose such as "a bearer token" stays.
        if length >= 16 {
            return Some(at + 7..char_end(text, at + 7 + length));
        }
    }
    if rest.starts_with(b"sk-") {
        let length = run(3, |byte| is_word(byte) || byte == b'-');
        return (length >= 16).then(|| at..at + 3 + length);
    }
    let digits = run(0, |byte| byte.is_ascii_hexdigit());
    let whole_word = !rest.get(digits).is_some_and(|byte| is_word(*byte));
    (digits >= OWNER_TOKEN_DIGITS && whole_word).then(|| at..at + digits)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the next character boundary at or after `at`.
fn char_end(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
