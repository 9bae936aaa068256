//! Due times, waiting slots and names.

use super::*;
use crate::cron::terms::{blank, parse_timing};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{JobDefinition, JobSlot, SlotOrigin, SlotState};
use jiff::tz::TimeZone;

const NOW: u64 = 1_800_000_000_000;

fn put(table: &mut JobTable, name: &str, enabled: bool) -> String {
    let terms = JobDefinition {
        name: name.to_owned(),
        schedule: "every 10m".to_owned(),
        ..blank()
    };
    let timing = parse_timing(&terms, &TimeZone::UTC, NOW).unwrap();
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
    table.upsert(row, timing, NOW);
    id
}

fn slot(id: &str, number: u64) -> SlotRow {
    SlotRow {
        slot: JobSlot {
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
    let mut table = JobTable::default();
    let id = put(&mut table, "a", true);
    put(&mut table, "b", false);
    assert_eq!(table.next_times().0, Some(NOW + 600_000));
    assert!(table.due_jobs(NOW + 599_999, 10).is_empty());
    assert_eq!(table.due_jobs(NOW + 600_000, 10), std::slice::from_ref(&id));
    table.postpone(&id, NOW + 700_000);
    assert!(table.due_jobs(NOW + 600_000, 10).is_empty());
    table.get_mut(&id).unwrap().row.cursor_ms = NOW + 600_000;
    table.reschedule(&id, NOW + 600_000);
    assert_eq!(table.next_times().0, Some(NOW + 1_200_000));
    // A clock that was a year ahead: looked at now.
    table.get_mut(&id).unwrap().row.cursor_ms = NOW + 365 * 86_400_000;
    table.reschedule_all(NOW);
    assert_eq!(table.due_jobs(NOW, 10), std::slice::from_ref(&id));
    table.remove(&id);
    assert_eq!(table.next_times(), (None, None));
    assert!(table.find("a").is_none());
    assert_eq!(table.len(), 1);
}

#[test]
fn one_slot_of_a_job_is_at_work_and_the_others_wait_in_order() {
    let mut table = JobTable::default();
    let (a, b) = (put(&mut table, "a", true), put(&mut table, "b", true));
    for number in 1..=2 {
        table
            .get_mut(&a)
            .unwrap()
            .push_waiting(slot(&a, number), 100);
    }
    table.get_mut(&b).unwrap().push_waiting(slot(&b, 3), 200);
    table.reschedule(&a, NOW);
    table.reschedule(&b, NOW);
    table.collect_ready(99, NOW);
    assert!(table.take_ready(10).is_none());
    table.collect_ready(200, NOW);
    let first = table.take_ready(1).unwrap();
    assert_eq!(first.slot.slot.number, 1);
    assert!(table.take_ready(1).is_none(), "no more than one at once");
    let other = table.take_ready(2).unwrap();
    assert_eq!(other.slot.slot.number, 3);
    assert_eq!(table.find("a").unwrap().active_slots(), 2);
    table.finish_slot(&a, 1, NOW);
    table.collect_ready(200, NOW);
    let second = table.take_ready(2).unwrap();
    assert_eq!(second.slot.slot.number, 2);
    table.find("a").unwrap().stop_current();
    assert!(second.stop.is_cancelled() && !other.stop.is_cancelled());
}

#[test]
fn names_lead_to_jobs_and_pages_go_by_name() {
    let mut table = JobTable::default();
    for name in ["c", "a", "b"] {
        put(&mut table, name, true);
    }
    let names: Vec<&str> = table
        .jobs_after("a")
        .map(|job| job.row.terms.name.as_str())
        .collect();
    assert_eq!(names, ["b", "c"]);
    let (mut row, timing) = {
        let job = table.find("a").unwrap();
        (job.row.clone(), job.timing.clone())
    };
    row.terms.name = "z".to_owned();
    table.upsert(row, timing, NOW);
    assert!(table.find("a").is_none());
    assert_eq!(table.find("z").unwrap().row.id, "id-a");
}
