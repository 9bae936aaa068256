//! The messages sent before. Pure.

/// The most messages that are remembered.
pub(super) const MESSAGES_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The oldest first.
    messages: Vec<String>,
    /// The message that is shown, and the unsent one that it took the place of.
    shown: Option<(usize, String)>,
}

impl History {
    pub fn new(mut messages: Vec<String>) -> History {
        messages.drain(..messages.len().saturating_sub(MESSAGES_MAX));
        History {
            messages,
            shown: None,
        }
    }

    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    pub(super) fn remember(&mut self, message: &str) {
        self.shown = None;
        if message.trim().is_empty() || self.messages.last().is_some_and(|it| it == message) {
            return;
        }
        if self.messages.len() >= MESSAGES_MAX {
            self.messages.remove(0);
        }
        self.messages.push(message.to_owned());
    }

    /// The next older or newer message; after the newest one, the unsent message.
    pub(super) fn step(&mut self, is_older: bool, current: &str) -> Option<String> {
        let place = match (&self.shown, is_older) {
            (Some((at, _)), true) => at.checked_sub(1)?,
            (Some((at, _)), false) => at + 1,
            (None, true) => self.messages.len().checked_sub(1)?,
            (None, false) => return None,
        };
        if place >= self.messages.len() {
            return self.shown.take().map(|(_, unsent)| unsent);
        }
        let unsent = match self.shown.take() {
            Some((_, unsent)) => unsent,
            None => current.to_owned(),
        };
        self.shown = Some((place, unsent));
        self.messages.get(place).cloned()
    }

    /// The shown message was changed: it is a new one.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }

    /// The newest message with these words, without regard to case.
    pub(super) fn find(&self, query: &str, skipped: usize) -> Option<String> {
        let wanted = query.to_lowercase();
        let hits = self.messages.iter().rev();
        let mut hits = hits.filter(|message| message.to_lowercase().contains(&wanted));
        hits.nth(skipped).cloned()
    }
}
