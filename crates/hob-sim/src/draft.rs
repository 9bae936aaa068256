//! An answer with the ids, tokens and counts a dialect needs to encode it. It depends only on the
//! request and the answer, so the same conversation gets the same bytes.

use crate::answer::{Answer, AnswerEnding, ScriptedUsage};
use crate::fault::{Fault, GarbageKind, UsageLie};
use crate::request::SimRequest;
use bytes::Bytes;
use serde_json::{Value, json};

/// The fixed creation time of every answer, so that answers are reproducible.
pub(crate) const CREATED: u64 = 1_767_225_600;
/// Bytes per token when the input is counted.
const TOKEN_BYTES: usize = 4;
/// Characters of arguments sent in one piece.
const ARGS_PIECE_CHARS: usize = 12;
/// More than any context holds.
const HUGE: u64 = 9_007_199_254_740_991;

/// The input of a dialect's encoder.
#[derive(Debug)]
pub(crate) struct AnswerDraft {
    /// Twenty-four letters and digits that name this answer.
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) thinking: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) calls: Vec<DraftCall>,
    pub(crate) ending: AnswerEnding,
    pub(crate) usage: ReportedUsage,
    pub(crate) wrong_ids: bool,
    /// True if each word is the time it is sent.
    pub(crate) stamped: bool,
}

#[derive(Debug)]
pub(crate) struct DraftCall {
    /// As the script says it, or twenty-four letters and digits that a dialect puts its prefix to.
    id: Result<String, String>,
    pub(crate) name: String,
    pub(crate) args: String,
}

/// The usage an answer reports.
#[derive(Debug)]
pub(crate) enum ReportedUsage {
    /// Input and output; values, because a lie need not be a number.
    Said(Value, Value),
    Raw(Value),
    Missing,
}

/// One piece of a stream, encoded.
#[derive(Clone, Debug)]
pub(crate) struct StreamFrame {
    pub(crate) bytes: Bytes,
    /// True for a token, which is paced. Frames around tokens are not.
    pub(crate) token: bool,
    /// The offset of the send time.
    pub(crate) stamp: Option<usize>,
}

impl StreamFrame {
    /// A frame around the tokens.
    pub(crate) fn around(bytes: impl Into<Bytes>) -> StreamFrame {
        StreamFrame {
            bytes: bytes.into(),
            token: false,
            stamp: None,
        }
    }

    pub(crate) fn token(bytes: impl Into<Bytes>) -> StreamFrame {
        StreamFrame {
            bytes: bytes.into(),
            token: true,
            stamp: None,
        }
    }

    /// A token whose sixteen zeros become the moment it is sent.
    pub(crate) fn stamped(bytes: impl Into<Bytes>) -> StreamFrame {
        let bytes = bytes.into();
        let stamp = bytes.windows(STAMP.len()).position(|seen| seen == STAMP);
        StreamFrame {
            bytes,
            token: true,
            stamp,
        }
    }
}

/// The placeholder of a stamp.
pub(crate) const STAMP: &[u8] = b"0000000000000000";

impl AnswerDraft {
    pub(crate) fn new(asked: &SimRequest, answer: &Answer) -> AnswerDraft {
        let seed = fingerprint(asked);
        let same = answer.fault == Some(Fault::Garbage(GarbageKind::DuplicateIds));
        let calls = answer.calls.iter().enumerate();
        let calls = calls.map(|(at, call)| DraftCall {
            id: call.id.clone().ok_or_else(|| {
                let at = if same { 0 } else { at };
                name(seed, u64::try_from(at).unwrap_or_default() + 1)
            }),
            name: call.name.clone(),
            args: call.args.clone(),
        });
        AnswerDraft {
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
    pub(crate) fn word_frame(&self, bytes: impl Into<Bytes>) -> StreamFrame {
        if self.stamped {
            StreamFrame::stamped(bytes)
        } else {
            StreamFrame::token(bytes)
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

/// An encoded frame with a placeholder for the word. Encoding every word of a long stream would
/// block the other answers of the server.
#[derive(Debug)]
pub(crate) struct FrameTemplate {
    before: String,
    after: String,
}

impl FrameTemplate {
    /// The word that marks the place.
    pub(crate) const PLACE: &str = "\u{1}word\u{1}";
    /// The same in JSON.
    const PLACE_JSON: &str = "\"\\u0001word\\u0001\"";

    /// A template of a frame that was encoded with [`FrameTemplate::PLACE`] for its word.
    pub(crate) fn new(encoded: &str) -> Option<FrameTemplate> {
        let (before, after) = encoded.split_once(FrameTemplate::PLACE_JSON)?;
        Some(FrameTemplate {
            before: before.to_owned(),
            after: after.to_owned(),
        })
    }

    /// The frame with this word.
    pub(crate) fn fill(&self, word: &str) -> String {
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

/// The signature of a thought, derived from its text. It reveals a client that changes the text or
/// the signature.
pub(crate) fn signature(text: &str) -> String {
    let (head, tail) = (fnv(text.as_bytes(), 7), fnv(text.as_bytes(), 11));
    // Fifty-two letters and digits: base64 in either alphabet, without padding.
    format!("Sim0{head:016x}EqQBCkYIBxgCKkCw{tail:016x}")
}

fn used(asked: &SimRequest, answer: &Answer) -> ReportedUsage {
    let input = asked.body.to_string().len().div_ceil(TOKEN_BYTES);
    let spoken = tokens(&answer.thinking).len() + tokens(&answer.words).len();
    let called: usize = answer.calls.iter().map(|call| call.args.len()).sum();
    let output = spoken + called.div_ceil(TOKEN_BYTES);
    match &answer.usage {
        ScriptedUsage::Counted => ReportedUsage::Said(json!(input), json!(output)),
        ScriptedUsage::Said(input, output) => ReportedUsage::Said(json!(input), json!(output)),
        ScriptedUsage::Raw(usage) => ReportedUsage::Raw(usage.clone()),
        ScriptedUsage::Lie(UsageLie::Negative) => ReportedUsage::Said(json!(-12), json!(-345)),
        ScriptedUsage::Lie(UsageLie::NanString) => ReportedUsage::Said(json!("NaN"), json!("NaN")),
        ScriptedUsage::Lie(UsageLie::Huge) => ReportedUsage::Said(json!(HUGE), json!(HUGE)),
        ScriptedUsage::Lie(UsageLie::Zero) => ReportedUsage::Said(json!(0), json!(0)),
        ScriptedUsage::Lie(UsageLie::Missing) => ReportedUsage::Missing,
    }
}

/// The sum if both are numbers; else the first, which then is the scripted lie.
pub(crate) fn total(input: &Value, output: &Value) -> Value {
    match (input.as_i64(), output.as_i64()) {
        (Some(input), Some(output)) => json!(input.saturating_add(output)),
        _ => input.clone(),
    }
}

/// A hash of the conversation.
fn fingerprint(asked: &SimRequest) -> u64 {
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
