//! What the book does next.

use super::*;
use crate::cron::terms::{blank, read};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{JobTerms, Slot, SlotOrigin, SlotState};
use jiff::tz::TimeZone;

const NOW: u64 = 1_800_000_000_000;

fn put(book: &mut Book, name: &str, enabled: bool) -> String {
    let terms = JobTerms {
        name: name.to_owned(),
        schedule: "every 10m".to_owned(),
        ..blank()
    };
    let ruled = read(&terms, &TimeZone::UTC, NOW).unwrap();
    let row = JobRow {
        id: format!("id-{name}"),
        terms,
        enabled,
        cursor_ms: NOW,
        failures: 0,
        problem: None,
        nonce: String::new(),
        created_at: NOW,
        updated_at: NOW,
    };
    let id = row.id.clone();
    book.put(row, ruled, NOW);
    id
}

fn slot(id: &str, number: u64) -> SlotRow {
    SlotRow {
        slot: Slot {
            number,
            task_id: id.to_owned(),
            name: String::new(),
            due_at: NOW,
            origin: SlotOrigin::Schedule,
            state: SlotState::Due,
            reason: None,
            stands_for: 0,
            session_key: None,
            run_id: None,
            exit_code: None,
            output: None,
            cost: Cost::default(),
            denied_calls: 0,
            failed_calls: 0,
            attempt: 0,
            started_at: None,
            ended_at: None,
        },
        key: String::new(),
        begin_ms: NOW,
        own_task: None,
    }
}

#[test]
fn a_job_is_due_when_its_time_has_come_and_never_while_it_is_disabled() {
    let mut book = Book::default();
    let id = put(&mut book, "a", true);
    put(&mut book, "b", false);
    assert_eq!(book.next().0, Some(NOW + 600_000));
    assert!(book.due(NOW + 599_999, 10).is_empty());
    assert_eq!(book.due(NOW + 600_000, 10), std::slice::from_ref(&id));
    book.postpone(&id, NOW + 700_000);
    assert!(book.due(NOW + 600_000, 10).is_empty());
    book.get_mut(&id).unwrap().row.cursor_ms = NOW + 600_000;
    book.plan(&id, NOW + 600_000);
    assert_eq!(book.next().0, Some(NOW + 1_200_000));
    // A clock that was a year ahead: looked at now.
    book.get_mut(&id).unwrap().row.cursor_ms = NOW + 365 * 86_400_000;
    book.plan_all(NOW);
    assert_eq!(book.due(NOW, 10), std::slice::from_ref(&id));
    book.remove(&id);
    assert_eq!(book.next(), (None, None));
    assert!(book.find("a").is_none());
    assert_eq!(book.len(), 1);
}

#[test]
fn one_slot_of_a_job_is_at_work_and_the_others_wait_in_order() {
    let mut book = Book::default();
    let (a, b) = (put(&mut book, "a", true), put(&mut book, "b", true));
    for number in 1..=2 {
        book.get_mut(&a).unwrap().wait(slot(&a, number), 100);
    }
    book.get_mut(&b).unwrap().wait(slot(&b, 3), 200);
    book.plan(&a, NOW);
    book.plan(&b, NOW);
    book.gather(99, NOW);
    assert!(book.take(10).is_none());
    book.gather(200, NOW);
    let first = book.take(1).unwrap();
    assert_eq!(first.slot.slot.number, 1);
    assert!(book.take(1).is_none(), "no more than one at once");
    let other = book.take(2).unwrap();
    assert_eq!(other.slot.slot.number, 3);
    assert_eq!(book.find("a").unwrap().active(), 2);
    book.over(&a, 1, NOW);
    book.gather(200, NOW);
    let second = book.take(2).unwrap();
    assert_eq!(second.slot.slot.number, 2);
    book.find("a").unwrap().stop();
    assert!(second.stop.is_cancelled() && !other.stop.is_cancelled());
}

#[test]
fn names_lead_to_jobs_and_pages_go_by_name() {
    let mut book = Book::default();
    for name in ["c", "a", "b"] {
        put(&mut book, name, true);
    }
    let names: Vec<&str> = book
        .after("a")
        .map(|job| job.row.terms.name.as_str())
        .collect();
    assert_eq!(names, ["b", "c"]);
    let (mut row, ruled) = {
        let job = book.find("a").unwrap();
        (job.row.clone(), job.ruled.clone())
    };
    row.terms.name = "z".to_owned();
    book.put(row, ruled, NOW);
    assert!(book.find("a").is_none());
    assert_eq!(book.find("z").unwrap().row.id, "id-a");
}
