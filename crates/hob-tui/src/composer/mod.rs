//! The message being written: text with a caret, pastes kept aside, history and completion. Pure.
//!
//! Invariants: the caret is always between two graphemes; a paste never sends anything; what was
//! pasted is sent exactly as it was, however it is shown.

mod completion;
mod history;
mod history_file;
mod text_buffer;

pub use completion::{Completion, CompletionItem};
pub use history::History;
pub use history_file::{read_history, write_history};
pub use text_buffer::TextBuffer;

use crate::text::clean;

/// A paste with more lines or letters becomes an attachment.
const PASTE_LINES_MAX: usize = 8;
const PASTE_CHARS_MAX: usize = 1_000;
/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1_024;

/// A paste that is shown by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attachment {
    name: String,
    text: String,
}

/// The search through the messages sent before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySearch {
    pub query: String,
    /// The number of hits passed over.
    skipped: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Composer {
    buffer: TextBuffer,
    attachments: Vec<Attachment>,
    pastes: usize,
    pub history: History,
    completion: Option<Completion>,
    search: Option<HistorySearch>,
}

impl Composer {
    pub fn buffer(&self) -> &TextBuffer {
        &self.buffer
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    pub fn search(&self) -> Option<&HistorySearch> {
        self.search.as_ref()
    }

    /// Changes the text with `edit` and closes what the change makes wrong.
    pub fn edit(&mut self, edit: impl FnOnce(&mut TextBuffer)) {
        edit(&mut self.buffer);
        self.completion = None;
        self.history.leave();
    }

    /// Moves the caret.
    pub fn move_caret(&mut self, step: impl FnOnce(&mut TextBuffer)) {
        step(&mut self.buffer);
        self.completion = None;
    }

    pub fn type_char(&mut self, letter: char) {
        if let Some(search) = &mut self.search {
            search.query.push(letter);
            search.skipped = 0;
            self.show_hit();
            return;
        }
        if self.buffer.text().len() < MESSAGE_BYTES_MAX {
            self.edit(|buffer| buffer.insert(letter.encode_utf8(&mut [0; 4])));
        }
    }

    /// Inserts a paste; a long one is kept aside and shown by its name.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let end = text.floor_char_boundary(MESSAGE_BYTES_MAX.min(text.len()));
        let text = &text[..end];
        self.search = None;
        let lines = text.lines().count();
        if lines <= PASTE_LINES_MAX && text.chars().count() <= PASTE_CHARS_MAX {
            let text = clean(text);
            self.edit(|buffer| buffer.insert(&text));
            return;
        }
        self.pastes += 1;
        let name = format!("[paste {}: {lines} lines]", self.pastes);
        let shown = name.clone();
        self.edit(|buffer| buffer.insert(&shown));
        let text = text.to_owned();
        self.attachments.push(Attachment { name, text });
    }

    /// The message as it is sent, with the pastes in their places.
    pub fn message(&self) -> String {
        let mut out = self.buffer.text().to_owned();
        for attachment in &self.attachments {
            // A name that was edited away takes its paste with it.
            out = out.replacen(&attachment.name, &attachment.text, 1);
        }
        out
    }

    /// Takes the message out and remembers it.
    pub fn take(&mut self) -> String {
        let message = self.message();
        self.history.remember(&message);
        self.clear();
        message
    }

    pub fn clear(&mut self) {
        self.buffer = TextBuffer::default();
        self.attachments.clear();
        self.completion = None;
        self.search = None;
        self.history.leave();
    }

    /// Replaces the text, as after an external editor.
    pub fn set_text(&mut self, text: &str) {
        self.attachments.clear();
        self.completion = None;
        self.buffer = TextBuffer::with_text(&clean(text));
    }

    /// Shows the message sent before; returns false if there is none.
    pub fn recall(&mut self, is_older: bool) -> bool {
        let current = self.message();
        let Some(text) = self.history.step(is_older, &current) else {
            return false;
        };
        self.attachments.clear();
        self.buffer = TextBuffer::with_text(&clean(&text));
        true
    }

    /// Begins the search through the history, or goes to the next hit.
    pub fn search_history(&mut self) {
        match &mut self.search {
            Some(search) => search.skipped += 1,
            None => self.search = Some(HistorySearch::default()),
        }
        self.show_hit();
    }

    /// Ends the search; the hit stays, unless it is cancelled.
    pub fn end_search(&mut self, is_cancelled: bool) -> bool {
        if self.search.take().is_none() {
            return false;
        }
        if is_cancelled {
            self.clear();
        }
        true
    }

    /// Deletes the last letter of the query; returns false while nothing is searched.
    pub fn shorten_search(&mut self) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        search.query.pop();
        search.skipped = 0;
        self.show_hit();
        true
    }

    fn show_hit(&mut self) {
        let Some(search) = &mut self.search else {
            return;
        };
        if search.query.is_empty() {
            return;
        }
        match self.history.find(&search.query, search.skipped) {
            Some(text) => self.buffer = TextBuffer::with_text(&clean(&text)),
            None => search.skipped = search.skipped.saturating_sub(1),
        }
    }

    /// The word that a completion would replace: a command at the start, or a file behind `@`.
    pub fn word_to_complete(&self) -> Option<&str> {
        let before = &self.buffer.text()[..self.buffer.caret()];
        if before.starts_with('/') && !before.contains(char::is_whitespace) {
            return Some(before);
        }
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        // The character before may be longer than one byte.
        let start = (start..=before.len()).find(|at| before.is_char_boundary(*at))?;
        let word = &before[start..];
        word.starts_with('@').then_some(word)
    }

    pub fn offer(&mut self, completion: Option<Completion>) {
        self.completion = completion.filter(|it| !it.items().is_empty());
    }

    /// Chooses the next or the former item; returns false while nothing is offered.
    pub fn step_completion(&mut self, is_up: bool) -> bool {
        let Some(completion) = &mut self.completion else {
            return false;
        };
        completion.step(is_up);
        true
    }

    /// Puts the chosen item in its place; returns it.
    pub fn accept_completion(&mut self) -> Option<CompletionItem> {
        let item = self.completion.take()?.chosen()?.clone();
        let length = self.word_to_complete()?.len();
        self.buffer.replace_before(length, &item.text);
        Some(item)
    }

    pub fn close_completion(&mut self) -> bool {
        self.completion.take().is_some()
    }
}

#[cfg(test)]
#[path = "../composer_tests.rs"]
mod tests;
