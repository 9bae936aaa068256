//! The only questions to the terminal: its background and how it reports keys. They are asked once, in
//! one write, before the first frame, and wait [`WAIT_MS`] at the most.

use super::terminal_guard::write_all;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::time::{Duration, Instant};

/// The longest wait for the answers.
const WAIT_MS: u64 = 100;
/// The most bytes of answers and of keys pressed meanwhile.
const BYTES_MAX: usize = 4_096;
/// Background, key reports, and last what every terminal answers.
const QUESTIONS: &str = "\u{1b}]11;?\u{1b}\\\u{1b}[?u\u{1b}[c";

/// What the terminal said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerminalFacts {
    pub(super) is_light: bool,
    pub(super) reports_keys: bool,
    /// What a person typed meanwhile.
    pub(super) typed: String,
}

/// Asks. The terminal must be in raw mode, and nobody else may read from it.
pub(super) fn ask() -> TerminalFacts {
    if write_all(QUESTIONS.as_bytes()).is_err() {
        return TerminalFacts::default();
    }
    let until = Instant::now() + Duration::from_millis(WAIT_MS);
    let mut bytes = Vec::new();
    while bytes.len() < BYTES_MAX && !has_last_answer(&bytes) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_readable(left) {
            break;
        }
        let mut piece = [0; 256];
        match rustix::io::read(io::stdin(), &mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
        }
    }
    read_answers(&String::from_utf8_lossy(&bytes))
}

fn is_readable(wait: Duration) -> bool {
    let stdin = io::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    let Ok(wait) = Timespec::try_from(wait) else {
        return false;
    };
    poll(&mut ready, Some(&wait)).is_ok_and(|count| count > 0)
}

/// The answer to `CSI c` comes last.
fn has_last_answer(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let after = text.rfind("\u{1b}[?");
    after.is_some_and(|at| text[at..].ends_with('c'))
}

fn read_answers(text: &str) -> TerminalFacts {
    let mut facts = TerminalFacts::default();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        facts.typed.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if let Some(colour) = rest.strip_prefix("\u{1b}]11;") {
            facts.is_light = is_light(colour);
            let ends = [
                rest.find('\u{7}').map(|it| it + 1),
                rest[1..].find("\u{1b}\\").map(|it| it + 3),
            ];
            ends.into_iter().flatten().min()
        } else if let Some(answer) = rest.strip_prefix("\u{1b}[?") {
            let end = answer.find(|it: char| it.is_ascii_alphabetic());
            let end = end.map(|end| end + 4);
            facts.reports_keys |= end.is_some_and(|end| rest[..end].ends_with('u'));
            end
        } else {
            Some(1)
        };
        rest = length.and_then(|length| rest.get(length..)).unwrap_or("");
    }
    facts.typed.push_str(rest);
    facts.typed.retain(|letter| !letter.is_control());
    facts
}

/// `rgb:RRRR/GGGG/BBBB` with one to four digits each.
fn is_light(colour: &str) -> bool {
    let digits = colour.strip_prefix("rgb:").unwrap_or_default();
    let parts = digits.split('/').take(3).map(|part| {
        let part: String = part.chars().take_while(char::is_ascii_hexdigit).collect();
        let most = 16_u32.pow(u32::try_from(part.len()).unwrap_or(0).min(4)) - 1;
        let value = u32::from_str_radix(part.get(..part.len().min(4))?, 16).ok()?;
        value.checked_mul(1_000)?.checked_div(most)
    });
    let parts: Option<Vec<u32>> = parts.collect();
    // How bright each colour is to the eye, in thousandths.
    parts.is_some_and(|it| it.len() == 3 && (it[0] * 299 + it[1] * 587 + it[2] * 114) / 1_000 > 500)
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
