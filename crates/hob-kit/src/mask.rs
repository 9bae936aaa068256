//! Takes secrets out of text before it is logged or shown: the ones it was told, and whatever
//! looks like a token. What a model reads is masked by [`crate::known_secrets`], which does not
//! guess. Invariant: masking never fails and never lengthens a text much; when in doubt it masks.

use crate::known_secrets::Matcher;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// What stands where a secret stood.
pub const MASKED: &str = "[masked]";

/// Shorter texts are not masked: they would blot out ordinary words.
const SECRET_BYTES_MIN: usize = 6;
/// Secrets known at once; the oldest is forgotten beyond that.
const SECRETS_MAX: usize = 4_096;
/// An owner token is this many hex digits.
const OWNER_TOKEN_DIGITS: usize = 64;

/// The known secrets; cheap to clone, all clones know the same.
#[derive(Clone, Default)]
pub struct Mask {
    /// A lock of std: held for a scan of a line, never over an await.
    secrets: Arc<RwLock<Secrets>>,
}

#[derive(Default)]
struct Secrets {
    /// Longest first, so that a secret that contains another is masked whole.
    known: Vec<Secret>,
    added: u64,
    /// Finds all of them at once. Made when it is first needed after a change.
    exact: OnceLock<Arc<Matcher>>,
}

struct Secret {
    text: String,
    /// Smaller was added earlier.
    age: u64,
}

impl Mask {
    pub fn new() -> Mask {
        Mask::default()
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

    /// `text` without secrets.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        for secret in &secrets.known {
            if masked.contains(secret.text.as_str()) {
                masked = Cow::Owned(masked.replace(secret.text.as_str(), MASKED));
            }
        }
        drop(secrets);
        match mask_patterns(&masked) {
            Some(text) => Cow::Owned(text),
            None => masked,
        }
    }

    /// What finds the known secrets of this moment.
    pub(crate) fn exact(&self) -> Arc<Matcher> {
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let texts = || secrets.known.iter().map(|secret| secret.text.as_str());
        let matcher = secrets
            .exact
            .get_or_init(|| Arc::new(Matcher::new(texts())));
        Arc::clone(matcher)
    }
}

impl Secrets {
    fn add(&mut self, text: String) {
        if self.known.iter().any(|secret| secret.text == text) {
            return;
        }
        if self.known.len() >= SECRETS_MAX {
            let ages = self.known.iter().map(|secret| secret.age).enumerate();
            if let Some((oldest, _)) = ages.min_by_key(|(_, age)| *age) {
                self.known.remove(oldest);
            }
        }
        let longer = |secret: &Secret| secret.text.len() >= text.len();
        let place = self.known.partition_point(longer);
        let age = self.added;
        self.added += 1;
        self.known.insert(place, Secret { text, age });
        self.exact = OnceLock::new();
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

/// Masks what looks like a token; none when nothing does.
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

/// The secret that begins a word at `at`, if one does.
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
    // `hob_1a2b3c4d_…`: the id is no secret and says which token it was.
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
        // Prose such as "a bearer token" names no secret; credentials are longer than words.
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

/// The next character boundary at or after `at`.
fn char_end(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
