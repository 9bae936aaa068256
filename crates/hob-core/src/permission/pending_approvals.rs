//! Open questions and unused tickets. Pure: ids and times come in.
//!
//! Invariants: a question is settled once, by the first valid answer, its deadline, or the end of
//! its run; while a connection shows questions to a person no question has a deadline, and each gets
//! its whole time from when the last of them leaves; an answer to one question takes no time from
//! another; a ticket is taken up once and only for the digest it was given for, and a wrong try
//! burns it; both are bounded, and a full book refuses instead of forgetting.

use hob_wire::id::RunId;
use hob_wire::work::Decision;
use std::collections::{BTreeMap, BTreeSet};

/// How much a book holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub questions_max: usize,
    /// Questions of one run at once.
    pub questions_of_run_max: usize,
    pub tickets_max: usize,
    /// How long a ticket waits to be taken up.
    pub ticket_ms: u64,
}

impl Bounds {
    pub const DEFAULT: Bounds = Bounds {
        questions_max: 512,
        questions_of_run_max: 64,
        tickets_max: 4_096,
        ticket_ms: 10 * 60 * 1_000,
    };
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matter {
    pub run: RunId,
    pub call: String,
    /// What an answer is bound to.
    pub digest: String,
}

/// Where a question stands after it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    New,
    /// The same matter is open already, under this id.
    Joined(String),
}

/// Until when an open question waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionDeadline {
    /// Somebody attends, so it waits for them.
    None,
    At(u64),
}

/// The book takes no more of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    Questions,
    QuestionsOfRun,
    Tickets,
}

/// A question that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub id: String,
    pub matter: Matter,
    pub decision: Decision,
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such question is open: there never was, or it is settled.
    NotOpen,
    /// Its deadline has passed.
    Late,
    /// It was shown something else.
    OtherDigest,
}

/// Why a ticket is not taken up. It is void from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTicket {
    /// Never given, taken up before, or burnt.
    Unknown,
    Expired,
    /// It was given for something else.
    OtherDigest,
}

#[derive(Clone, Debug)]
pub struct Book {
    bounds: Bounds,
    questions: BTreeMap<String, Open>,
    /// Connections that show questions to a person.
    attending: BTreeSet<u64>,
    tickets: BTreeMap<String, Ticket>,
}

#[derive(Clone, Debug)]
struct Open {
    matter: Matter,
    /// How long it waits where nobody attends.
    wait_ms: u64,
    /// None while somebody attends.
    deadline_ms: Option<u64>,
}

#[derive(Clone, Debug)]
struct Ticket {
    digest: String,
    until_ms: u64,
}

impl Book {
    pub fn new(bounds: Bounds) -> Self {
        Book {
            bounds,
            questions: BTreeMap::new(),
            attending: BTreeSet::new(),
            tickets: BTreeMap::new(),
        }
    }

    /// Opens a question under `id`, unless the same matter is open already. It waits for `wait_ms`
    /// from when nobody attends.
    pub fn ask(
        &mut self,
        id: &str,
        matter: Matter,
        now_ms: u64,
        wait_ms: u64,
    ) -> Result<Opened, Full> {
        let same = self.questions.iter().find(|(_, it)| it.matter == matter);
        if let Some((id, _)) = same {
            return Ok(Opened::Joined(id.clone()));
        }
        if self.questions.len() >= self.bounds.questions_max {
            return Err(Full::Questions);
        }
        let of_run = self.questions.values();
        let of_run = of_run.filter(|it| it.matter.run == matter.run).count();
        if of_run >= self.bounds.questions_of_run_max {
            return Err(Full::QuestionsOfRun);
        }
        let deadline_ms = now_ms.saturating_add(wait_ms);
        let open = Open {
            matter,
            wait_ms,
            deadline_ms: self.attending.is_empty().then_some(deadline_ms),
        };
        self.questions.insert(id.to_owned(), open);
        Ok(Opened::New)
    }

    /// Marks a connection as one that shows questions to a person: no question has a deadline now.
    /// False if it was marked before.
    pub fn attend(&mut self, connection: u64, now_ms: u64) -> bool {
        let open = self.questions.values_mut();
        for open in open.filter(|open| !open.is_over(now_ms)) {
            open.deadline_ms = None;
        }
        self.attending.insert(connection)
    }

    /// Forgets a connection that left. With the last one gone, every open question gets its whole
    /// time from now on.
    pub fn leave(&mut self, connection: u64, now_ms: u64) {
        if self.attending.remove(&connection) && self.attending.is_empty() {
            self.renew(now_ms);
        }
    }

    /// Connections that show questions to a person.
    pub fn attending(&self) -> usize {
        self.attending.len()
    }

    /// The deadline of an open question.
    pub fn deadline(&self, id: &str) -> Option<QuestionDeadline> {
        let open = self.questions.get(id)?;
        Some(match open.deadline_ms {
            Some(at_ms) => QuestionDeadline::At(at_ms),
            None => QuestionDeadline::None,
        })
    }

    /// Takes an answer. One that does not count leaves the question as it is; one that does gives
    /// the other questions their whole time again, since the person had this one before them.
    pub fn answer(
        &mut self,
        id: &str,
        decision: Decision,
        shown_digest: Option<&str>,
        now_ms: u64,
    ) -> Result<Settled, Refused> {
        let open = self.questions.get(id).ok_or(Refused::NotOpen)?;
        if open.is_over(now_ms) {
            return Err(Refused::Late);
        }
        if shown_digest.is_some_and(|shown| shown != open.matter.digest) {
            return Err(Refused::OtherDigest);
        }
        let settled = self.settle(id, decision).ok_or(Refused::NotOpen)?;
        if self.attending.is_empty() {
            self.renew(now_ms);
        }
        Ok(settled)
    }

    /// Denies every question whose deadline has passed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Settled> {
        self.deny(|open| open.is_over(now_ms))
    }

    /// Denies every question of a run that is over.
    pub fn withdraw(&mut self, run: RunId) -> Vec<Settled> {
        self.deny(|open| open.matter.run == run)
    }

    /// Denies one question, however it stands.
    pub fn drop_question(&mut self, id: &str) -> Option<Settled> {
        self.settle(id, Decision::Deny)
    }

    /// When the next question expires.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let all = self.questions.values();
        all.filter_map(|open| open.deadline_ms).min()
    }

    /// Keeps a ticket for this digest.
    pub fn grant(&mut self, ticket: &str, digest: &str, now_ms: u64) -> Result<(), Full> {
        if self.tickets.len() >= self.bounds.tickets_max {
            self.tickets.retain(|_, it| now_ms < it.until_ms);
        }
        if self.tickets.len() >= self.bounds.tickets_max {
            return Err(Full::Tickets);
        }
        let kept = Ticket {
            digest: digest.to_owned(),
            until_ms: now_ms.saturating_add(self.bounds.ticket_ms),
        };
        self.tickets.insert(ticket.to_owned(), kept);
        Ok(())
    }

    /// Takes up a ticket; whatever comes of it, it is used.
    pub fn redeem(&mut self, ticket: &str, digest: &str, now_ms: u64) -> Result<(), NoTicket> {
        let kept = self.tickets.remove(ticket).ok_or(NoTicket::Unknown)?;
        if now_ms >= kept.until_ms {
            return Err(NoTicket::Expired);
        }
        if kept.digest != digest {
            return Err(NoTicket::OtherDigest);
        }
        Ok(())
    }

    /// Gives every question that is not over its whole time from now on.
    fn renew(&mut self, now_ms: u64) {
        let open = self.questions.values_mut();
        for open in open.filter(|open| !open.is_over(now_ms)) {
            open.deadline_ms = Some(now_ms.saturating_add(open.wait_ms));
        }
    }

    fn deny(&mut self, over: impl Fn(&Open) -> bool) -> Vec<Settled> {
        let due = self.questions.iter().filter(|(_, open)| over(open));
        let ids: Vec<String> = due.map(|(id, _)| id.clone()).collect();
        ids.iter()
            .filter_map(|id| self.settle(id, Decision::Deny))
            .collect()
    }

    fn settle(&mut self, id: &str, decision: Decision) -> Option<Settled> {
        let open = self.questions.remove(id)?;
        Some(Settled {
            id: id.to_owned(),
            matter: open.matter,
            decision,
        })
    }
}

impl Open {
    fn is_over(&self, now_ms: u64) -> bool {
        self.deadline_ms.is_some_and(|deadline| now_ms >= deadline)
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
