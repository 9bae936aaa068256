//! Questions settle once, tickets are taken up once, and both are bounded.

use super::*;
use hob_wire::work::PermissionDecision::{Allow, Deny};
use proptest::prelude::*;

fn run(number: u8) -> RunId {
    let text = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    text.parse().expect("is an id")
}

fn matter(number: u8, call: &str, digest: &str) -> QuestionSubject {
    QuestionSubject {
        run: run(number),
        call: call.to_owned(),
        digest: digest.to_owned(),
    }
}

fn approvals() -> PendingApprovals {
    PendingApprovals::new(ApprovalLimits::DEFAULT)
}

#[test]
fn the_first_valid_answer_counts_and_the_second_does_not() {
    let mut approvals = approvals();
    assert_eq!(
        approvals.ask("q1", matter(1, "c", "d"), 0, 100),
        Ok(AskOutcome::New)
    );
    let settled = approvals
        .answer("q1", Allow, Some("d"), 50)
        .expect("counts");
    assert_eq!(settled.decision, Allow);
    assert_eq!(
        approvals.answer("q1", Deny, None, 51),
        Err(AnswerError::NotOpen)
    );
    assert!(approvals.expire(1_000).is_empty(), "it is settled");
}

#[test]
fn an_answer_to_something_else_leaves_the_question_open() {
    let mut approvals = approvals();
    approvals
        .ask("q1", matter(1, "c", "d"), 0, 100)
        .expect("is asked");
    let other = approvals.answer("q1", Allow, Some("e"), 1);
    assert_eq!(other, Err(AnswerError::OtherDigest));
    approvals
        .answer("q1", Deny, Some("d"), 2)
        .expect("still counts");
}

#[test]
fn the_deadline_denies_and_a_later_yes_does_not_count() {
    let mut approvals = approvals();
    approvals
        .ask("q1", matter(1, "c", "d"), 0, 100)
        .expect("is asked");
    assert_eq!(approvals.next_deadline_ms(), Some(100));
    assert_eq!(
        approvals.answer("q1", Allow, None, 100),
        Err(AnswerError::Late)
    );
    let settled = approvals.expire(100);
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0].decision, Deny);
    assert_eq!(approvals.next_deadline_ms(), None);
}

#[test]
fn the_same_matter_is_one_question() {
    let mut approvals = approvals();
    approvals
        .ask("q1", matter(1, "c", "d"), 0, 100)
        .expect("is asked");
    let again = approvals.ask("q2", matter(1, "c", "d"), 0, 500);
    assert_eq!(again, Ok(AskOutcome::Joined("q1".to_owned())));
    assert_eq!(
        approvals.ask("q3", matter(1, "c", "e"), 0, 100),
        Ok(AskOutcome::New)
    );
}

#[test]
fn a_run_that_ends_takes_its_questions_along_and_no_others() {
    let mut approvals = approvals();
    approvals
        .ask("q1", matter(1, "a", "d"), 0, 100)
        .expect("is asked");
    approvals
        .ask("q2", matter(2, "a", "d"), 0, 100)
        .expect("is asked");
    let settled = approvals.withdraw_run(run(1));
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0].id, "q1");
    approvals
        .answer("q2", Allow, None, 1)
        .expect("is still open");
}

#[test]
fn a_ticket_is_taken_up_once() {
    let mut approvals = approvals();
    approvals.add_ticket("t", "d", 0).expect("has room");
    assert_eq!(approvals.redeem_ticket("t", "d", 1), Ok(()));
    assert_eq!(
        approvals.redeem_ticket("t", "d", 2),
        Err(TicketError::Unknown)
    );
}

#[test]
fn a_ticket_shown_for_something_else_is_burnt() {
    let mut approvals = approvals();
    approvals.add_ticket("t", "d", 0).expect("has room");
    assert_eq!(
        approvals.redeem_ticket("t", "e", 1),
        Err(TicketError::OtherDigest)
    );
    assert_eq!(
        approvals.redeem_ticket("t", "d", 2),
        Err(TicketError::Unknown)
    );
}

#[test]
fn a_ticket_does_not_wait_for_ever() {
    let mut approvals = approvals();
    approvals.add_ticket("t", "d", 5).expect("has room");
    let late = 5 + ApprovalLimits::DEFAULT.ticket_ms;
    assert_eq!(
        approvals.redeem_ticket("t", "d", late),
        Err(TicketError::Expired)
    );
}

#[test]
fn a_full_book_refuses_and_forgets_nothing() {
    let bounds = ApprovalLimits {
        questions_max: 2,
        questions_of_run_max: 1,
        tickets_max: 1,
        ticket_ms: 10,
    };
    let mut approvals = PendingApprovals::new(bounds);
    approvals
        .ask("q1", matter(1, "a", "d"), 0, 9)
        .expect("has room");
    let second = approvals.ask("q2", matter(1, "b", "d"), 0, 9);
    assert_eq!(second, Err(ApprovalsFull::QuestionsOfRun));
    approvals
        .ask("q3", matter(2, "a", "d"), 0, 9)
        .expect("has room");
    let third = approvals.ask("q4", matter(3, "a", "d"), 0, 9);
    assert_eq!(third, Err(ApprovalsFull::Questions));
    approvals.add_ticket("t1", "d", 0).expect("has room");
    assert_eq!(
        approvals.add_ticket("t2", "d", 9),
        Err(ApprovalsFull::Tickets)
    );
    approvals
        .add_ticket("t3", "d", 10)
        .expect("the first has expired");
    assert_eq!(
        approvals.redeem_ticket("t1", "d", 10),
        Err(TicketError::Unknown)
    );
}

proptest! {
    /// Whatever is asked, answered and expired in whatever order: a question settles once.
    #[test]
    fn a_question_settles_once(steps in prop::collection::vec((0..4_u8, 0..4_u8, 0..50_u64), 0..80)) {
        let mut approvals = approvals();
        let mut settled = std::collections::BTreeSet::new();
        let mut asked = 0_u32;
        for (kind, which, now) in steps {
            let over: Vec<SettledQuestion> = match kind {
                0 => {
                    asked += 1;
                    let id = format!("q{asked}");
                    let _ = approvals.ask(&id, matter(which, "c", &id), 0, 25);
                    Vec::new()
                }
                1 => {
                    let id = format!("q{which}");
                    let deadline = approvals.deadline(&id);
                    let answered = approvals.answer(&id, Allow, None, now);
                    let in_time = matches!(deadline, Some(QuestionDeadline::At(at)) if now < at);
                    prop_assert!(answered.is_err() || in_time, "a late yes counted");
                    answered.into_iter().collect()
                }
                2 => approvals.expire(now),
                _ => approvals.withdraw_run(run(which)),
            };
            for it in over {
                prop_assert!(settled.insert(it.id), "settled twice");
            }
        }
    }
}

#[test]
fn while_somebody_attends_no_question_has_a_deadline() {
    let mut approvals = approvals();
    approvals
        .ask("early", matter(1, "a", "d"), 0, 100)
        .expect("is asked");
    assert!(approvals.attend(7, 10));
    assert!(approvals.attend(8, 10));
    assert!(!approvals.attend(8, 10));
    approvals
        .ask("late", matter(1, "b", "d"), 50, 100)
        .expect("is asked");
    assert_eq!(approvals.next_deadline_ms(), None);
    assert!(approvals.expire(1_000_000).is_empty());
    approvals.leave(7, 1_000_000);
    assert_eq!(approvals.next_deadline_ms(), None, "one still attends");
    // One that never attended does not end it.
    approvals.leave(9, 1_000_000);
    assert_eq!(approvals.deadline("early"), Some(QuestionDeadline::None));
    approvals.leave(8, 1_000_000);
    for id in ["early", "late"] {
        assert_eq!(
            approvals.deadline(id),
            Some(QuestionDeadline::At(1_000_100)),
            "{id}"
        );
    }
    // It is over once for all: leaving again gives no more time.
    approvals.leave(8, 1_000_050);
    assert_eq!(approvals.expire(1_000_100).len(), 2);
    assert_eq!(approvals.deadline("early"), None);
}

#[test]
fn an_answer_gives_the_other_questions_their_whole_time() {
    let mut approvals = approvals();
    for (number, id) in ["q1", "q2", "q3"].into_iter().enumerate() {
        approvals
            .ask(id, matter(1, id, "d"), 0, 100 + number as u64)
            .expect("is asked");
    }
    approvals.answer("q1", Allow, None, 99).expect("counts");
    assert_eq!(
        approvals.deadline("q2"),
        Some(QuestionDeadline::At(99 + 101))
    );
    approvals.answer("q2", Deny, None, 199).expect("counts");
    assert_eq!(
        approvals.deadline("q3"),
        Some(QuestionDeadline::At(199 + 102))
    );
    // What does not count gives no time.
    assert_eq!(
        approvals.answer("q3", Allow, Some("other"), 300),
        Err(AnswerError::OtherDigest)
    );
    assert_eq!(
        approvals.deadline("q3"),
        Some(QuestionDeadline::At(199 + 102))
    );
    assert_eq!(approvals.expire(301).len(), 1);
}

#[test]
fn an_answer_does_not_bring_back_what_is_over() {
    let mut approvals = approvals();
    approvals
        .ask("q1", matter(1, "a", "d"), 0, 50)
        .expect("is asked");
    approvals
        .ask("q2", matter(1, "b", "d"), 0, 100)
        .expect("is asked");
    approvals.answer("q2", Allow, None, 60).expect("counts");
    assert_eq!(
        approvals.answer("q1", Allow, None, 61),
        Err(AnswerError::Late)
    );
}
