//! Permissions. Pure: a call goes in, and out comes a rule's decision or a question for a person;
//! an answer becomes a ticket, a ticket becomes an [`Approved`] call, once.
//!
//! - [`decide`]: what the rules say of a call; [`RuleBook`] holds the stored ones
//! - `facts`, `place`, `pattern`, `program_place`, `refused_command`, `cover`: what a call names,
//!   and whether a rule covers it
//! - [`check_terms`], [`rule_note`]: whether a rule can be kept, and what to say beside it
//! - [`offers`], [`offer`], [`grant`]: which rule an answer would store
//! - [`sentence`], [`preview`], [`preview_of_change`]: what a person is shown, with nothing hidden in it
//! - [`Book`]: open questions and unused tickets
//! - [`Work`], [`Approved`]: a call, and the proof that it may run
//! - [`Chain`], [`entry_hash`], [`recorded`]: the record of what was decided
//!
//! Invariants:
//! - an [`Approved`] comes only from a ticket that was redeemed for these very bytes, or from a
//!   person's own act; nothing else can make one
//! - nothing beyond a ceiling is allowed; a rule that denies wins over every other
//! - the first valid answer counts, and none after the deadline; a ticket is taken up once
//! - a digest covers the tool's name and declaration, the arguments, the context and what the tool
//!   saw of what it would change: any difference at run time is another call

mod approved;
mod audit;
mod book;
mod canonical;
mod cover;
mod facts;
#[cfg(test)]
mod fixture_tests;
mod offers;
mod pattern;
mod place;
mod program_place;
mod refused_command;
mod rulebook;
mod rules;
mod shown;

pub use approved::{Approved, Work};
pub use audit::{AUDIT_ROOT, Chain, entry_hash, recorded, verify_audit};
pub use book::{Book, Bounds, Full, Matter, NoTicket, Opened, QuestionDeadline, Refused, Settled};
pub use canonical::{canonical, fingerprint};
pub use cover::{check_terms, rule_note};
pub use offers::{grant, offer, offers};
pub use rulebook::RuleBook;
pub use rules::{
    Call, Ceilings, Scene, Verdict, decide, is_change_of_files, is_unattended, may_fail_unasked,
    reach,
};
pub use shown::{preview, preview_of_change, sentence};
