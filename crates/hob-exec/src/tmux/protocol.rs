//! What tmux says in control mode. Pure: bytes in, split anywhere; events out.
//!
//! Invariant: each command line that was sent is answered by exactly one [`Event::Answer`], in the
//! order they were sent; nothing tmux says ends the parser or grows it past its bounds.

/// The longest line that is looked at; the rest of a longer one is dropped.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// The most lines of one answer that are kept.
const ANSWER_LINES_MAX: usize = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// What a command printed, or why it failed.
    Answer(Result<Vec<String>, String>),
    /// The connection is attached to its session.
    Attached,
    /// A window's layout has changed, or one is gone: sizes and panes may be others.
    Layout,
    /// Somebody came or went.
    Clients,
    /// Something that nobody sent by this connection has failed: attaching, mostly.
    Failed(String),
    /// The connection is over.
    Exit(Option<String>),
}

#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    block: Option<Block>,
}

/// What stands between `%begin` and its end.
#[derive(Debug)]
struct Block {
    /// What `%begin` said; its end repeats it.
    guard: String,
    /// Whether this connection sent the command.
    own: bool,
    lines: Vec<String>,
}

impl Parser {
    pub(super) fn feed(&mut self, mut bytes: &[u8], out: &mut impl FnMut(Event)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line);
            if let Some(event) = self.line(line.trim_end_matches('\r')) {
                out(event);
            }
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(mut block) = self.block.take() else {
            if word == "%begin" {
                self.block = Some(Block {
                    guard: rest.to_owned(),
                    own: rest.split(' ').nth(2) == Some("1"),
                    lines: Vec::new(),
                });
                return None;
            }
            return notice(word, rest);
        };
        if rest == block.guard && (word == "%end" || word == "%error") {
            let failed = word == "%error";
            return match (block.own, failed) {
                (true, false) => Some(Event::Answer(Ok(block.lines))),
                (true, true) => Some(Event::Answer(Err(block.lines.join(" ")))),
                (false, true) => Some(Event::Failed(block.lines.join(" "))),
                (false, false) => None,
            };
        }
        if block.lines.len() < ANSWER_LINES_MAX {
            block.lines.push(line.to_owned());
        }
        self.block = Some(block);
        None
    }
}

fn notice(word: &str, rest: &str) -> Option<Event> {
    match word {
        "%session-changed" => Some(Event::Attached),
        "%layout-change" | "%window-close" | "%unlinked-window-close" | "%window-pane-changed" => {
            Some(Event::Layout)
        }
        "%client-session-changed" | "%client-detached" | "%sessions-changed" => {
            Some(Event::Clients)
        }
        "%exit" => Some(Event::Exit((!rest.is_empty()).then(|| rest.to_owned()))),
        _ => None,
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
