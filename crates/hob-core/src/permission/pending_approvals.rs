//! Open questions and unused tickets. Pure: ids and times come in.
//!
//! Invariants: a question is settled once, by the first valid answer, its deadline, or the end of
//! its run. While a connection shows questions to a person, no question has a deadline; when the
//! last one leaves, each gets its full time. An answer to one question takes no time from another.
//! A ticket is redeemed once and only for its digest, and a wrong attempt voids it. Both are
//! bounded: beyond the limits new ones are refused, and none is forgotten.

use hob_wire::id::RunId;
use hob_wire::work::PermissionDecision;
use std::collections::{BTreeMap, BTreeSet};

/// The limits of pending approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalLimits {
    pub questions_max: usize,
    /// Simultaneous questions of one run.
    pub questions_of_run_max: usize,
    pub tickets_max: usize,
    /// The lifetime of an unused ticket.
    pub ticket_ms: u64,
}

impl ApprovalLimits {
    pub const DEFAULT: ApprovalLimits = ApprovalLimits {
        questions_max: 512,
        questions_of_run_max: 64,
        tickets_max: 4_096,
        ticket_ms: 10 * 60 * 1_000,
    };
}

/// The subject of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionSubject {
    pub run: RunId,
    pub call: String,
    /// The digest an answer is bound to.
    pub digest: String,
}

/// The result of asking a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskOutcome {
    /// It is new.
    New,
    /// The same question is already open, under this id.
    Joined(String),
}

/// The deadline of an open question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionDeadline {
    /// Somebody attends, so it waits for them.
    None,
    At(u64),
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalsFull {
    Questions,
    QuestionsOfRun,
    Tickets,
}

/// A settled question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledQuestion {
    pub id: String,
    pub subject: QuestionSubject,
    pub decision: PermissionDecision,
}

/// The reason an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// No such question is open: it never existed, or it is settled.
    NotOpen,
    /// Its deadline has passed.
    Late,
    /// The person was shown something else.
    OtherDigest,
}

/// The reason a ticket is rejected. It is void from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketError {
    /// Never issued, redeemed before, or voided.
    Unknown,
    Expired,
    /// It was issued for something else.
    OtherDigest,
}

#[derive(Clone, Debug)]
pub struct PendingApprovals {
    bounds: ApprovalLimits,
    questions: BTreeMap<String, PendingQuestion>,
    /// Connections that show questions to a person.
    attending: BTreeSet<u64>,
    tickets: BTreeMap<String, ApprovalTicket>,
}

#[derive(Clone, Debug)]
struct PendingQuestion {
    subject: QuestionSubject,
    /// The time it waits while nobody attends.
    wait_ms: u64,
    /// `None` while somebody attends.
    deadline_ms: Option<u64>,
}

#[derive(Clone, Debug)]
struct ApprovalTicket {
    digest: String,
    until_ms: u64,
}

impl PendingApprovals {
    pub fn new(bounds: ApprovalLimits) -> Self {
        PendingApprovals {
            bounds,
            questions: BTreeMap::new(),
            attending: BTreeSet::new(),
            tickets: BTreeMap::new(),
        }
    }

    /// Opens a question under `id`, unless the same one is already open. It waits for `wait_ms`
    /// once nobody attends.
    pub fn ask(
        &mut self,
        id: &str,
        subject: QuestionSubject,
        now_ms: u64,
        wait_ms: u64,
    ) -> Result<AskOutcome, ApprovalsFull> {
        // A call that is asked about twice joins its open question.
        let same = self.questions.iter().find(|(_, it)| it.subject == subject);
        if let Some((id, _)) = same {
            return Ok(AskOutcome::Joined(id.clone()));
        }
        if self.questions.len() >= self.bounds.questions_max {
            return Err(ApprovalsFull::Questions);
        }
        let of_run = self.questions.values();
        let of_run = of_run.filter(|it| it.subject.run == subject.run).count();
        if of_run >= self.bounds.questions_of_run_max {
            return Err(ApprovalsFull::QuestionsOfRun);
        }
        let deadline_ms = now_ms.saturating_add(wait_ms);
        let open = PendingQuestion {
            subject,
            wait_ms,
            // While somebody attends, the question waits for them.
            deadline_ms: self.attending.is_empty().then_some(deadline_ms),
        };
        self.questions.insert(id.to_owned(), open);
        Ok(AskOutcome::New)
    }

    /// Marks a connection as showing questions to a person; all deadlines are removed. Returns
    /// false if it was marked before.
    pub fn attend(&mut self, connection: u64, now_ms: u64) -> bool {
        let open = self.questions.values_mut();
        // A question whose time is over stays denied, even if nobody has settled it yet.
        for open in open.filter(|open| !open.is_expired(now_ms)) {
            open.deadline_ms = None;
        }
        self.attending.insert(connection)
    }

    /// Removes a connection that left. After the last one, every open question gets its full time
    /// from now on.
    pub fn leave(&mut self, connection: u64, now_ms: u64) {
        if self.attending.remove(&connection) && self.attending.is_empty() {
            self.restart_deadlines(now_ms);
        }
    }

    /// Returns the number of connections that show questions to a person.
    pub fn attending(&self) -> usize {
        self.attending.len()
    }

    /// Returns the deadline of an open question.
    pub fn deadline(&self, id: &str) -> Option<QuestionDeadline> {
        let open = self.questions.get(id)?;
        Some(match open.deadline_ms {
            Some(at_ms) => QuestionDeadline::At(at_ms),
            None => QuestionDeadline::None,
        })
    }

    /// Applies an answer. An invalid one leaves the question as it is. A valid one restarts the
    /// time of the other questions, because the person was busy with this one.
    pub fn answer(
        &mut self,
        id: &str,
        decision: PermissionDecision,
        shown_digest: Option<&str>,
        now_ms: u64,
    ) -> Result<SettledQuestion, AnswerError> {
        let open = self.questions.get(id).ok_or(AnswerError::NotOpen)?;
        if open.is_expired(now_ms) {
            return Err(AnswerError::Late);
        }
        // The person saw another version of the call, so the answer is not for this one.
        if shown_digest.is_some_and(|shown| shown != open.subject.digest) {
            return Err(AnswerError::OtherDigest);
        }
        let settled = self.settle(id, decision).ok_or(AnswerError::NotOpen)?;
        if self.attending.is_empty() {
            self.restart_deadlines(now_ms);
        }
        Ok(settled)
    }

    /// Denies every question whose deadline has passed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<SettledQuestion> {
        self.deny_where(|open| open.is_expired(now_ms))
    }

    /// Denies every question of a run that is over.
    pub fn withdraw_run(&mut self, run: RunId) -> Vec<SettledQuestion> {
        self.deny_where(|open| open.subject.run == run)
    }

    /// Denies one question, whatever its state.
    pub fn drop_question(&mut self, id: &str) -> Option<SettledQuestion> {
        self.settle(id, PermissionDecision::Deny)
    }

    /// Returns the time at which the next question expires.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let all = self.questions.values();
        all.filter_map(|open| open.deadline_ms).min()
    }

    /// Stores a ticket for this digest.
    pub fn add_ticket(
        &mut self,
        ticket: &str,
        digest: &str,
        now_ms: u64,
    ) -> Result<(), ApprovalsFull> {
        if self.tickets.len() >= self.bounds.tickets_max {
            // Expired tickets are removed only when room is needed.
            self.tickets.retain(|_, it| now_ms < it.until_ms);
        }
        if self.tickets.len() >= self.bounds.tickets_max {
            return Err(ApprovalsFull::Tickets);
        }
        let kept = ApprovalTicket {
            digest: digest.to_owned(),
            until_ms: now_ms.saturating_add(self.bounds.ticket_ms),
        };
        self.tickets.insert(ticket.to_owned(), kept);
        Ok(())
    }

    /// Redeems a ticket; it is used up whatever the result.
    pub fn redeem_ticket(
        &mut self,
        ticket: &str,
        digest: &str,
        now_ms: u64,
    ) -> Result<(), TicketError> {
        // Removed before any check, so a wrong attempt cannot be repeated.
        let kept = self.tickets.remove(ticket).ok_or(TicketError::Unknown)?;
        if now_ms >= kept.until_ms {
            return Err(TicketError::Expired);
        }
        if kept.digest != digest {
            return Err(TicketError::OtherDigest);
        }
        Ok(())
    }

    /// Restarts the time of every question that has not expired.
    fn restart_deadlines(&mut self, now_ms: u64) {
        let open = self.questions.values_mut();
        for open in open.filter(|open| !open.is_expired(now_ms)) {
            open.deadline_ms = Some(now_ms.saturating_add(open.wait_ms));
        }
    }

    fn deny_where(&mut self, over: impl Fn(&PendingQuestion) -> bool) -> Vec<SettledQuestion> {
        // Collected first, because settling a question removes it from the map.
        let due = self.questions.iter().filter(|(_, open)| over(open));
        let ids: Vec<String> = due.map(|(id, _)| id.clone()).collect();
        ids.iter()
            .filter_map(|id| self.settle(id, PermissionDecision::Deny))
            .collect()
    }

    fn settle(&mut self, id: &str, decision: PermissionDecision) -> Option<SettledQuestion> {
        let open = self.questions.remove(id)?;
        Some(SettledQuestion {
            id: id.to_owned(),
            subject: open.subject,
            decision,
        })
    }
}

impl PendingQuestion {
    fn is_expired(&self, now_ms: u64) -> bool {
        self.deadline_ms.is_some_and(|deadline| now_ms >= deadline)
    }
}

#[cfg(test)]
#[path = "pending_approvals_tests.rs"]
mod tests;
