//! Questions to the person: permissions, calls in doubt, used-up budgets. Pure.
//!
//! A card lies over the conversation and never moves it. Invariants: a key answers a card only after
//! the card was seen for [`ARM_MS`] without typing, and never while a message is being written, unless
//! the person goes to the card; an answer carries the digest of what was shown; an answer beyond this
//! call shows the rule it stores before it is given.

mod answers;
mod card_rows;
mod rule_text;

pub use answers::{Choice, choices};
pub(crate) use answers::{doubt_answer, money_answer, permission_answer};
pub use card_rows::{CardRows, card_rows};

use hob_wire::RunId;
use hob_wire::rooms::agent::{RunInDoubtPayload, RunPausedPayload};
use hob_wire::rooms::permission::PermissionQuestion;

/// The time without keys after which a card takes the keys.
pub const ARM_MS: u64 = 700;
/// The most cards that are kept; more stay with the daemon.
const CARDS_MAX: usize = 100;

/// A question to the person.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    Permission(Box<PermissionQuestion>),
    Doubt(Box<RunInDoubtPayload>),
    Money(Box<RunPausedPayload>),
}

impl Question {
    pub fn run(&self) -> RunId {
        match self {
            Question::Permission(question) => question.run_id,
            Question::Doubt(doubt) => doubt.run.run_id,
            Question::Money(paused) => paused.run.run_id,
        }
    }

    pub fn session(&self) -> &str {
        match self {
            Question::Permission(question) => &question.session_key,
            Question::Doubt(doubt) => &doubt.run.session_key,
            Question::Money(paused) => &paused.run.session_key,
        }
    }

    /// Returns true if both ask the same thing.
    fn is_same(&self, other: &Question) -> bool {
        match (self, other) {
            (Question::Permission(one), Question::Permission(other)) => one.id == other.id,
            (Question::Doubt(one), Question::Doubt(other)) => {
                one.run.run_id == other.run.run_id && one.call.id == other.call.id
            }
            (Question::Money(one), Question::Money(other)) => one.run.run_id == other.run.run_id,
            _ => false,
        }
    }
}

/// A line that belongs to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardInput {
    /// The result of a call that happened.
    Result,
    /// How many more dollars.
    Dollars,
}

#[derive(Clone, Debug)]
pub struct Card {
    pub question: Question,
    /// The first row of the question that is seen.
    pub scroll: usize,
    pub input: Option<(CardInput, String)>,
    /// Why the last answer was not taken.
    pub problem: Option<String>,
    is_postponed: bool,
    /// The answer is on its way.
    is_answered: bool,
    shown_at: u64,
}

/// The open questions, the first one on top.
#[derive(Clone, Debug, Default)]
pub struct Cards {
    cards: Vec<Card>,
    has_keys: bool,
}

impl Cards {
    /// The card on the screen.
    pub fn top(&self) -> Option<&Card> {
        self.cards
            .iter()
            .find(|card| !card.is_postponed && !card.is_answered)
    }

    pub fn top_mut(&mut self) -> Option<&mut Card> {
        self.cards
            .iter_mut()
            .find(|card| !card.is_postponed && !card.is_answered)
    }

    /// The number of questions without an answer, postponed ones too.
    pub fn count(&self) -> usize {
        self.cards.iter().filter(|card| !card.is_answered).count()
    }

    /// Returns true if keys go to the card.
    pub fn has_keys(&self) -> bool {
        self.has_keys && self.top().is_some()
    }

    /// Adds a question. Returns true if it is new.
    pub fn ask(&mut self, question: Question, now: u64) -> bool {
        if let Some(known) = self.find(&question) {
            known.question = question;
            return false;
        }
        if self.cards.len() >= CARDS_MAX {
            return false;
        }
        self.cards.push(Card {
            question,
            scroll: 0,
            input: None,
            problem: None,
            is_postponed: false,
            is_answered: false,
            shown_at: now,
        });
        true
    }

    /// Keeps exactly these questions.
    pub fn replace(&mut self, questions: Vec<Question>, now: u64) -> bool {
        self.cards
            .retain(|card| questions.iter().any(|it| it.is_same(&card.question)));
        // What is still asked was not answered after all.
        for card in &mut self.cards {
            card.is_answered = false;
        }
        let mut is_any_new = false;
        for question in questions {
            is_any_new |= self.ask(question, now);
        }
        self.settle_keys(now);
        is_any_new
    }

    /// Removes the questions for which this holds: they are answered.
    pub fn close(&mut self, now: u64, is_it: impl Fn(&Question) -> bool) {
        self.cards.retain(|card| !is_it(&card.question));
        self.settle_keys(now);
    }

    /// The card's answer is on its way: the next card is shown.
    pub fn sent(&mut self, now: u64) {
        if let Some(card) = self.top_mut() {
            card.is_answered = true;
            card.input = None;
        }
        self.settle_keys(now);
    }

    /// An answer was not taken: the card is shown again, with the reason.
    pub fn refused(&mut self, question: &Question, problem: String) {
        if let Some(card) = self.find(question) {
            card.is_answered = false;
            card.problem = Some(problem);
        }
    }

    pub fn postpone(&mut self, now: u64) {
        if let Some(card) = self.top_mut() {
            card.is_postponed = true;
            card.input = None;
        }
        self.settle_keys(now);
    }

    /// Gives the keys to the card, or back. Shows postponed cards again.
    pub fn toggle_keys(&mut self) {
        if self.has_keys() {
            self.has_keys = false;
            return;
        }
        for card in &mut self.cards {
            card.is_postponed = false;
        }
        self.has_keys = self.top().is_some();
    }

    /// The time at which the card may take the keys, if it does not have them.
    pub fn arms_at(&self, last_key_at: u64) -> Option<u64> {
        let card = self.top().filter(|_| !self.has_keys)?;
        Some(card.shown_at.max(last_key_at) + ARM_MS)
    }

    /// Gives the card the keys.
    pub fn arm(&mut self) {
        self.has_keys = self.top().is_some();
    }

    /// Another card on top is not answered by a key that was meant for the one before.
    fn settle_keys(&mut self, now: u64) {
        self.has_keys = false;
        if let Some(card) = self.top_mut() {
            card.shown_at = now;
        }
    }

    fn find(&mut self, question: &Question) -> Option<&mut Card> {
        self.cards
            .iter_mut()
            .find(|card| card.question.is_same(question))
    }
}

#[cfg(test)]
#[path = "../cards_tests.rs"]
mod tests;
