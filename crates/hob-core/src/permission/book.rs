//! Open questions and unused tickets. Pure: ids and times come in.
//!
//! Invariants: a question is settled once, by the first valid answer, its deadline, or the end of
//! its run; a ticket is taken up once and only for the digest it was given for, and a wrong try
//! burns it; both are bounded, and a full book refuses instead of forgetting.

use hob_wire::id::RunId;
use hob_wire::work::Decision;
use std::collections::BTreeMap;

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
    tickets: BTreeMap<String, Ticket>,
}

#[derive(Clone, Debug)]
struct Open {
    matter: Matter,
    deadline_ms: u64,
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
            tickets: BTreeMap::new(),
        }
    }

    /// Opens a question under `id`, unless the same matter is open already.
    pub fn ask(&mut self, id: &str, matter: Matter, deadline_ms: u64) -> Result<Opened, Full> {
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
        let open = Open {
            matter,
            deadline_ms,
        };
        self.questions.insert(id.to_owned(), open);
        Ok(Opened::New)
    }

    /// Takes an answer. One that does not count leaves the question as it is.
    pub fn answer(
        &mut self,
        id: &str,
        decision: Decision,
        shown_digest: Option<&str>,
        now_ms: u64,
    ) -> Result<Settled, Refused> {
        let open = self.questions.get(id).ok_or(Refused::NotOpen)?;
        if now_ms >= open.deadline_ms {
            return Err(Refused::Late);
        }
        if shown_digest.is_some_and(|shown| shown != open.matter.digest) {
            return Err(Refused::OtherDigest);
        }
        self.settle(id, decision).ok_or(Refused::NotOpen)
    }

    /// Denies every question whose deadline has passed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<Settled> {
        self.deny(|open| now_ms >= open.deadline_ms)
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
        self.questions.values().map(|open| open.deadline_ms).min()
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

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
