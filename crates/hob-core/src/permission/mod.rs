//! Permissions. Pure: a call goes in, and out comes a rule's decision or a question for a person;
//! an answer becomes a ticket, a ticket becomes an [`Approved`] call, once.
//!
//! - [`decide`]: what the rules say of a call
//! - [`sentence`], [`preview`], [`preview_of_change`]: what a person is shown, with nothing hidden in it
//! - [`Book`]: open questions and unused tickets
//! - [`Work`], [`Approved`]: a call, and the proof that it may run
//!
//! Invariants:
//! - an [`Approved`] comes only from a ticket that was redeemed for these very bytes, or from a
//!   person's own act; nothing else can make one
//! - the first valid answer counts, and none after the deadline; a ticket is taken up once
//! - a digest covers the tool's name and declaration, the arguments, the context and what the tool
//!   saw of what it would change: any difference at run time is another call

mod approved;
mod book;
mod canonical;
mod rules;
mod shown;

pub use approved::{Approved, Work};
pub use book::{Book, Bounds, Full, Matter, NoTicket, Opened, Refused, Settled};
pub use canonical::{canonical, fingerprint};
pub use rules::{Call, Verdict, decide};
pub use shown::{preview, preview_of_change, sentence};
