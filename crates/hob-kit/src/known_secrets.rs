//! Masks known secrets in text for a model: exact values and hob's tokens, and nothing that only
//! looks like a secret. A lock file full of checksums stays as it is.
//!
//! - [`SecretMask::apply_exact`]: one text; [`SecretMask::apply_to_screen`]: lines that a terminal wrapped
//! - [`StreamMask`], [`MaskedRead`]: text that arrives in pieces
//!
//! Invariants: text without a known secret is not changed; a secret is found however the stream is
//! cut; a stream holds back less than the longest secret.

use crate::mask::{MASKED, SecretMask};
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Shorter values are not masked here, because they would mask ordinary words and numbers.
const EXACT_BYTES_MIN: usize = 8;
/// The minimum length of a value without digits, which may be words, such as `not-needed`.
const WORDS_BYTES_MIN: usize = 20;
/// A value with fewer different bytes is a placeholder, such as `xxxxxxxx`.
const DISTINCT_BYTES_MIN: usize = 5;
/// Only this much of a longer secret is searched for, so that streams hold back a bounded part.
const EXACT_BYTES_MAX: usize = 16 * 1024;
/// Bytes that [`MaskedRead`] reads at once.
const READ_BYTES: usize = 16 * 1024;

/// A token of hob is `hob_ID_SECRET`: 8 hex digits, then 48.
const TOKEN_PREFIX: &[u8] = b"hob_";
const TOKEN_ID_END: usize = TOKEN_PREFIX.len() + 8;
const TOKEN_SECRET_START: usize = TOKEN_ID_END + 1;
const TOKEN_BYTES: usize = TOKEN_SECRET_START + 48;

impl SecretMask {
    /// Masks the known secrets in `text`. Unlike [`SecretMask::apply`], it never guesses.
    pub fn apply_exact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text_bytes = text.as_bytes();
        let mut found = self.exact_matcher().ranges(text_bytes).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replace(text, found))
    }

    /// Like [`SecretMask::apply_exact`] for a terminal screen: finds secrets that were wrapped.
    pub fn apply_to_screen<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Searched without line breaks, with the original position of every byte kept.
        let letters = text.bytes().enumerate().filter(|(_, byte)| *byte != b'\n');
        let (places, unwrapped): (Vec<usize>, Vec<u8>) = letters.unzip();
        let matcher = self.exact_matcher();
        let mut found = matcher
            .ranges(&unwrapped)
            .map(|secret| places[secret.start]..places[secret.end - 1] + 1)
            .peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replace(text, found))
    }

    /// Returns a mask for text that arrives in pieces.
    pub fn stream(&self) -> StreamMask {
        StreamMask {
            mask: self.clone(),
            held: Vec::new(),
        }
    }
}

/// Returns true if a value is unlike ordinary words, so that masking it harms no other text.
fn is_distinctive(secret: &str) -> bool {
    let mut seen: Vec<u8> = secret.bytes().take(EXACT_BYTES_MAX).collect();
    seen.sort_unstable();
    seen.dedup();
    let has_digit = secret.bytes().any(|byte| byte.is_ascii_digit());
    let bytes_min = if has_digit {
        EXACT_BYTES_MIN
    } else {
        WORDS_BYTES_MIN
    };
    secret.len() >= bytes_min && seen.len() >= DISTINCT_BYTES_MIN
}

/// Masks each range of `text`. The ranges are in order and end at character boundaries.
fn replace(text: &str, found: impl Iterator<Item = Range<usize>>) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in found {
        masked.push_str(&text[copied..secret.start]);
        masked.push_str(MASKED);
        copied = secret.end;
    }
    masked.push_str(&text[copied..]);
    masked
}

/// Finds known secrets. Rebuilt when one is added.
pub(crate) struct SecretMatcher {
    /// Missing only if there was no memory to build it; then every position is tried.
    automaton: Option<AhoCorasick>,
    /// The first is [`TOKEN_PREFIX`].
    patterns: Vec<Vec<u8>>,
    /// The bytes that some pattern begins with.
    first_bytes: [bool; 256],
    longest_bytes: usize,
}

/// A secret in a text.
struct SecretMatch {
    /// The start of the match. A token matches from its id, which is not masked.
    start: usize,
    secret: Range<usize>,
}

impl SecretMatcher {
    pub(crate) fn new<'s>(secrets: impl Iterator<Item = &'s str>) -> SecretMatcher {
        let mut patterns = vec![TOKEN_PREFIX.to_vec()];
        let cut = |secret: &str| secret[..secret.floor_char_boundary(EXACT_BYTES_MAX)].into();
        patterns.extend(secrets.filter(|it| is_distinctive(it)).map(cut));
        let mut first_bytes = [false; 256];
        for pattern in &patterns {
            first_bytes[usize::from(pattern[0])] = true;
        }
        // Leftmost longest: of two secrets that start alike, the whole longer one is masked.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&patterns);
        let longest = patterns.iter().map(Vec::len).max();
        SecretMatcher {
            automaton: automaton.ok(),
            longest_bytes: longest.unwrap_or(0).max(TOKEN_BYTES),
            patterns,
            first_bytes,
        }
    }

    /// The secrets in `text`, from left to right.
    fn ranges<'m>(
        self: &Arc<Self>,
        text: &'m [u8],
    ) -> impl Iterator<Item = Range<usize>> + use<'m> {
        let matcher = Arc::clone(self);
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = matcher.find(text, from)?;
            from = found.secret.end;
            Some(found.secret)
        })
    }

    fn find(&self, text: &[u8], mut from: usize) -> Option<SecretMatch> {
        loop {
            let (is_prefix, found) = self.find_pattern(text, from)?;
            if !is_prefix {
                return Some(SecretMatch {
                    start: found.start,
                    secret: found,
                });
            }
            let start = found.start;
            let token = text.get(start..start + TOKEN_BYTES);
            if token.is_some_and(begins_token) {
                return Some(SecretMatch {
                    start,
                    secret: start + TOKEN_SECRET_START..start + TOKEN_BYTES,
                });
            }
            // Only the prefix of a token, not a whole one. Another secret may start inside it.
            from = start + 1;
        }
    }

    /// Returns the next pattern at or after `from`, and true if it is the prefix of a token.
    fn find_pattern(&self, text: &[u8], from: usize) -> Option<(bool, Range<usize>)> {
        if let Some(automaton) = &self.automaton {
            let found = automaton.find(Input::new(text).range(from..))?;
            return Some((found.pattern().as_usize() == 0, found.range()));
        }
        (from..text.len()).find_map(|start| {
            let here = |pattern: &&Vec<u8>| text[start..].starts_with(pattern);
            let longest = self
                .patterns
                .iter()
                .filter(here)
                .max_by_key(|it| it.len())?;
            let is_prefix = longest == TOKEN_PREFIX;
            Some((is_prefix, start..start + longest.len()))
        })
    }

    /// Returns the start of a secret that the end of `text` may have cut, at or after `from`; the
    /// length of `text` if there is none.
    fn cut_start(&self, text: &[u8], from: usize) -> usize {
        // A secret that starts before the window is complete and was found already.
        let window = text.len().saturating_sub(self.longest_bytes - 1);
        (from.max(window)..text.len())
            .find(|start| {
                let rest = &text[*start..];
                let is_cut =
                    |pattern: &Vec<u8>| pattern.len() > rest.len() && pattern.starts_with(rest);
                self.first_bytes[usize::from(rest[0])]
                    && (self.patterns.iter().any(is_cut)
                        || (rest.len() < TOKEN_BYTES && begins_token(rest)))
            })
            .unwrap_or(text.len())
    }
}

/// Returns true if these bytes are a token or the beginning of one.
fn begins_token(bytes: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| match at {
        TOKEN_ID_END => *byte == b'_',
        at => match TOKEN_PREFIX.get(at) {
            Some(expected) => byte == expected,
            None => byte.is_ascii_hexdigit(),
        },
    };
    bytes.iter().enumerate().all(fits)
}

/// Masks a stream. A possible beginning of a secret is held back until more bytes arrive.
pub struct StreamMask {
    mask: SecretMask,
    held: Vec<u8>,
}

impl StreamMask {
    /// Takes the next bytes and returns the masked bytes that are ready.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut text = Cow::Borrowed(bytes);
        if !self.held.is_empty() {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            text = Cow::Owned(joined);
        }
        let matcher = self.mask.exact_matcher();
        let mut masked = Vec::new();
        let mut copied = 0;
        let mut cut = matcher.cut_start(&text, 0);
        while let Some(found) = matcher.find(&text, copied) {
            // This may be the beginning of a longer secret that is not complete yet.
            if found.start >= cut {
                break;
            }
            masked.extend_from_slice(&text[copied..found.secret.start]);
            masked.extend_from_slice(MASKED.as_bytes());
            copied = found.secret.end;
            // The masked secret covered the possible cut, so the cut is searched again behind it.
            if copied > cut {
                cut = matcher.cut_start(&text, copied);
            }
        }
        self.held.extend_from_slice(&text[cut..]);
        match text {
            Cow::Borrowed(text) if copied == 0 => Cow::Borrowed(&text[..cut]),
            text => {
                masked.extend_from_slice(&text[copied..cut]);
                Cow::Owned(masked)
            }
        }
    }

    /// Returns the rest at the end of the stream, masked. Do not call it for a stream that was cut
    /// short: the rest may be a part of a secret.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut masked = Vec::with_capacity(held.len());
        let mut copied = 0;
        for secret in self.mask.exact_matcher().ranges(&held) {
            masked.extend_from_slice(&held[copied..secret.start]);
            masked.extend_from_slice(MASKED.as_bytes());
            copied = secret.end;
        }
        masked.extend_from_slice(&held[copied..]);
        masked
    }
}

impl fmt::Debug for StreamMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamMask")
    }
}

/// Reads a file or a pipe without its secrets.
#[derive(Debug)]
pub struct MaskedRead<R> {
    source: R,
    stream: StreamMask,
    ready: Vec<u8>,
    given: usize,
    is_at_end: bool,
}

impl<R: Read> MaskedRead<R> {
    pub fn new(source: R, mask: &SecretMask) -> Self {
        MaskedRead {
            source,
            stream: mask.stream(),
            ready: Vec::new(),
            given: 0,
            is_at_end: false,
        }
    }
}

impl<R: Read> Read for MaskedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut chunk = [0; READ_BYTES];
        while self.given == self.ready.len() && !self.is_at_end {
            let count = self.source.read(&mut chunk)?;
            self.is_at_end = count == 0;
            self.given = 0;
            self.ready = if self.is_at_end {
                self.stream.finish()
            } else {
                self.stream.push(&chunk[..count]).into_owned()
            };
        }
        let count = buffer.len().min(self.ready.len() - self.given);
        buffer[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
#[path = "known_secrets_tests.rs"]
mod tests;
