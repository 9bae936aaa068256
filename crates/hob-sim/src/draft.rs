//! An answer with everything settled that a dialect needs to write it down: ids, tokens, counts.
//! Made from the request and the answer alone, so the same conversation gets the same bytes.

use crate::answer::{Answer, Ending, UsageWord};
use crate::asked::Asked;
use crate::fault::{Fault, Garbage, Lie};
use bytes::Bytes;
use serde_json::{Value, json};

/// When every answer says it was made: what is scripted does not age.
pub(crate) const CREATED: u64 = 1_767_225_600;
/// Bytes a token is taken for when what was asked is counted.
const TOKEN_BYTES: usize = 4;
/// Characters of arguments sent in one piece.
const ARGS_PIECE_CHARS: usize = 12;
/// More than any context holds.
const HUGE: u64 = 9_007_199_254_740_991;

/// What a dialect writes down.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Twenty-four letters and digits that name this answer.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) thinking: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) calls: Vec<DraftCall>,
    pub(crate) ending: Ending,
    pub(crate) usage: Used,
    pub(crate) wrong_ids: bool,
    /// The words are the moments they are sent.
    pub(crate) stamped: bool,
}

#[derive(Debug)]
pub(crate) struct DraftCall {
    /// As the script says it, or twenty-four letters and digits that a dialect puts its prefix to.
    id: Result<String, String>,
    pub(crate) name: String,
    pub(crate) args: String,
}

/// What an answer says it used.
#[derive(Debug)]
pub(crate) enum Used {
    /// Input and output; values, because a lie need not be a number.
    Said(Value, Value),
    Raw(Value),
    Missing,
}

/// One piece of a stream, encoded.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    /// Whether it is a token, which has its pace, or frame around tokens, which has none.
    pub(crate) token: bool,
    /// Where in it the moment of sending is written.
    pub(crate) stamp: Option<usize>,
}

impl Frame {
    /// A frame around the tokens.
    pub(crate) fn around(bytes: impl Into<Bytes>) -> Frame {
        Frame {
            bytes: bytes.into(),
            token: false,
            stamp: None,
        }
    }

    pub(crate) fn token(bytes: impl Into<Bytes>) -> Frame {
        Frame {
            bytes: bytes.into(),
            token: true,
            stamp: None,
        }
    }

    /// A token whose sixteen zeros become the moment it is sent.
    pub(crate) fn stamped(bytes: impl Into<Bytes>) -> Frame {
        let bytes = bytes.into();
        let stamp = bytes.windows(STAMP.len()).position(|seen| seen == STAMP);
        Frame {
            bytes,
            token: true,
            stamp,
        }
    }
}

/// What a stamp is before it is known.
pub(crate) const STAMP: &[u8] = b"0000000000000000";

impl Draft {
    pub(crate) fn new(asked: &Asked, answer: &Answer) -> Draft {
        let seed = fingerprint(asked);
        let same = answer.fault == Some(Fault::Garbage(Garbage::DuplicateIds));
        let calls = answer.calls.iter().enumerate();
        let calls = calls.map(|(at, call)| DraftCall {
            id: call.id.clone().ok_or_else(|| {
                let at = if same { 0 } else { at };
                name(seed, u64::try_from(at).unwrap_or_default() + 1)
            }),
            name: call.name.clone(),
            args: call.args.clone(),
        });
        Draft {
            id: name(seed, 0),
            model: asked.model.clone(),
            thinking: tokens(&answer.thinking),
            words: tokens(&answer.words),
            calls: calls.collect(),
            ending: answer.ending,
            usage: used(asked, answer),
            wrong_ids: answer.fault == Some(Fault::WrongIds),
            stamped: answer.stamped,
        }
    }

    /// A frame for one token of the words.
    pub(crate) fn word_frame(&self, bytes: impl Into<Bytes>) -> Frame {
        if self.stamped {
            Frame::stamped(bytes)
        } else {
            Frame::token(bytes)
        }
    }
}

impl DraftCall {
    /// The id in the dialect's usual form, unless the script says it whole.
    pub(crate) fn id(&self, prefix: &str) -> String {
        match &self.id {
            Ok(scripted) => scripted.clone(),
            Err(made) => format!("{prefix}{made}"),
        }
    }

    /// As [`DraftCall::id`], with so many letters and digits behind the prefix.
    pub(crate) fn short_id(&self, prefix: &str, len: usize) -> String {
        match &self.id {
            Ok(scripted) => scripted.clone(),
            Err(made) => format!("{prefix}{}", made.get(..len).unwrap_or(made)),
        }
    }

    /// The arguments in the pieces they are streamed in.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let letters: Vec<char> = self.args.chars().collect();
        let pieces = letters.chunks(ARGS_PIECE_CHARS);
        pieces.map(|piece| piece.iter().collect()).collect()
    }

    /// The arguments as a value; text that is no JSON stays text.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.args).unwrap_or_else(|_| Value::String(self.args.clone()))
    }
}

/// A frame with a place for a word, so that a long stream is not encoded word by word: a server
/// that prepares one answer keeps all others waiting.
#[derive(Debug)]
pub(crate) struct Mould {
    before: String,
    after: String,
}

impl Mould {
    /// The word that marks the place.
    pub(crate) const PLACE: &str = "\u{1}word\u{1}";
    /// The same in JSON.
    const PLACE_JSON: &str = "\"\\u0001word\\u0001\"";

    /// A mould of a frame that was encoded with [`Mould::PLACE`] for its word.
    pub(crate) fn new(encoded: &str) -> Option<Mould> {
        let (before, after) = encoded.split_once(Mould::PLACE_JSON)?;
        Some(Mould {
            before: before.to_owned(),
            after: after.to_owned(),
        })
    }

    /// The frame with this word.
    pub(crate) fn cast(&self, word: &str) -> String {
        let word = json!(word).to_string();
        [self.before.as_str(), &word, &self.after].concat()
    }
}

/// The text in tokens: each word with the white space after it.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    text.split_inclusive(char::is_whitespace)
        .map(str::to_owned)
        .collect()
}

/// A proof of thinking that only this server gives, so that a client that changes either the
/// text or its proof is noticed.
pub(crate) fn signature(text: &str) -> String {
    let (head, tail) = (fnv(text.as_bytes(), 7), fnv(text.as_bytes(), 11));
    // Fifty-two letters and digits: base64 in either alphabet, without padding.
    format!("Sim0{head:016x}EqQBCkYIBxgCKkCw{tail:016x}")
}

fn used(asked: &Asked, answer: &Answer) -> Used {
    let input = asked.body.to_string().len().div_ceil(TOKEN_BYTES);
    let spoken = tokens(&answer.thinking).len() + tokens(&answer.words).len();
    let called: usize = answer.calls.iter().map(|call| call.args.len()).sum();
    let output = spoken + called.div_ceil(TOKEN_BYTES);
    match &answer.usage {
        UsageWord::Counted => Used::Said(json!(input), json!(output)),
        UsageWord::Said(input, output) => Used::Said(json!(input), json!(output)),
        UsageWord::Raw(usage) => Used::Raw(usage.clone()),
        UsageWord::Lie(Lie::Negative) => Used::Said(json!(-12), json!(-345)),
        UsageWord::Lie(Lie::NanString) => Used::Said(json!("NaN"), json!("NaN")),
        UsageWord::Lie(Lie::Huge) => Used::Said(json!(HUGE), json!(HUGE)),
        UsageWord::Lie(Lie::Zero) => Used::Said(json!(0), json!(0)),
        UsageWord::Lie(Lie::Missing) => Used::Missing,
    }
}

/// The sum, where both are numbers; else the first, which is then the lie.
pub(crate) fn total(input: &Value, output: &Value) -> Value {
    match (input.as_i64(), output.as_i64()) {
        (Some(input), Some(output)) => json!(input.saturating_add(output)),
        _ => input.clone(),
    }
}

/// The conversation in one number.
fn fingerprint(asked: &Asked) -> u64 {
    let talk = ["messages", "input", "contents"].map(|key| &asked.body[key]);
    let text: Vec<String> = talk.iter().map(ToString::to_string).collect();
    fnv(text.concat().as_bytes(), 0)
}

fn name(seed: u64, at: u64) -> String {
    let high = fnv(&at.to_le_bytes(), seed);
    let low = fnv(&seed.to_le_bytes(), high);
    format!("{high:016x}{:08x}", low >> 32)
}

/// FNV-1a: stable over builds and machines, which the hasher of std does not promise.
fn fnv(bytes: &[u8], seed: u64) -> u64 {
    let begin = 0xcbf2_9ce4_8422_2325 ^ seed;
    bytes.iter().fold(begin, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
