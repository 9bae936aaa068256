//! The parser of tmux's control mode. Pure: bytes in, split anywhere; events out.
//!
//! Invariants: each sent command line gets exactly one [`ControlEvent::Answer`], in the order they
//! were sent; no input stops the parser or grows it past its bounds.

/// The maximum length of a line; the rest is dropped.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// The maximum of lines in one answer; the rest is dropped.
const ANSWER_LINES_MAX: usize = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlEvent {
    /// The output of a command, or its error.
    Answer(Result<Vec<String>, String>),
    /// The connection is attached to its session.
    Attached,
    /// A window's layout changed or a window closed: sizes and panes may differ.
    Layout,
    /// A client attached or detached.
    Clients,
    /// A command failed that this connection did not send: usually attaching.
    Failed(String),
    /// The connection has ended.
    Exit(Option<String>),
}

#[derive(Debug, Default)]
pub(super) struct ControlParser {
    line: Vec<u8>,
    block: Option<AnswerBlock>,
}

/// An open answer between `%begin` and its end.
#[derive(Debug)]
struct AnswerBlock {
    /// The arguments of `%begin`, which its end repeats.
    guard: String,
    /// True if this connection sent the command.
    own: bool,
    lines: Vec<String>,
}

impl ControlParser {
    pub(super) fn feed(&mut self, mut bytes: &[u8], out: &mut impl FnMut(ControlEvent)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.append_to_line(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line);
            if let Some(event) = self.handle_line(line.trim_end_matches('\r')) {
                out(event);
            }
        }
        self.append_to_line(bytes);
    }

    fn append_to_line(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn handle_line(&mut self, line: &str) -> Option<ControlEvent> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(mut block) = self.block.take() else {
            if word == "%begin" {
                self.block = Some(AnswerBlock {
                    guard: rest.to_owned(),
                    own: rest.split(' ').nth(2) == Some("1"),
                    lines: Vec::new(),
                });
                return None;
            }
            return parse_notice(word, rest);
        };
        // A command may print lines that look like `%end`, so the arguments must match, too.
        if rest == block.guard && (word == "%end" || word == "%error") {
            let failed = word == "%error";
            return match (block.own, failed) {
                (true, false) => Some(ControlEvent::Answer(Ok(block.lines))),
                (true, true) => Some(ControlEvent::Answer(Err(block.lines.join(" ")))),
                (false, true) => Some(ControlEvent::Failed(block.lines.join(" "))),
                // The success of a command that this connection did not send answers none of its
                // lines.
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

fn parse_notice(word: &str, rest: &str) -> Option<ControlEvent> {
    match word {
        "%session-changed" => Some(ControlEvent::Attached),
        "%layout-change" | "%window-close" | "%unlinked-window-close" | "%window-pane-changed" => {
            Some(ControlEvent::Layout)
        }
        "%client-session-changed" | "%client-detached" | "%sessions-changed" => {
            Some(ControlEvent::Clients)
        }
        "%exit" => Some(ControlEvent::Exit(
            (!rest.is_empty()).then(|| rest.to_owned()),
        )),
        _ => None,
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
