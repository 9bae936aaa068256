//! The scheduler in front of a shell that does anything at any time, and of marks that mean nothing.

use super::{
    CommandOwner, CommandScheduler, HandedOverCommand, QueuedCommand, ResumePoint, SchedulerEffect,
    SchedulerEvent,
};
use hob_wire::id::CommandId;
use proptest::prelude::*;
use std::collections::BTreeMap;

const JOBS: u64 = 4;

fn job(number: u64, chain: bool, timed: bool) -> QueuedCommand {
    let id = format!("00000000-0000-7000-8000-{number:012}");
    QueuedCommand {
        id: id.parse().unwrap(),
        number,
        chain: chain.then_some(1),
        timeout_ms: timed.then_some(1_500),
    }
}

#[derive(Clone, Debug)]
enum Turn {
    Queued(u64),
    Began(String),
    Ended(String, i32),
    Taken(String),
    Prompt,
    Incomplete,
    Skipped,
    Cancel(Option<u64>),
    Wait(u64),
    Live(Option<(u64, bool)>),
    Left,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1..=JOBS).prop_map(|number| job(number, false, false).id.to_string()),
        2 => (1..=2u64).prop_map(|line| format!("p1.{line}")),
        1 => Just("nonsense".to_owned()),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        4 => (1..=JOBS).prop_map(Turn::Queued),
        4 => name().prop_map(Turn::Began),
        4 => (name(), 0..3i32).prop_map(|(name, status)| Turn::Ended(name, status)),
        2 => name().prop_map(Turn::Taken),
        6 => Just(Turn::Prompt),
        1 => Just(Turn::Incomplete),
        1 => Just(Turn::Skipped),
        1 => proptest::option::of(1..=JOBS).prop_map(Turn::Cancel),
        3 => (0..20_000u64).prop_map(Turn::Wait),
        2 => proptest::option::of((1..=JOBS, any::<bool>())).prop_map(Turn::Live),
        1 => Just(Turn::Left),
    ]
}

/// What must hold of all effects together.
#[derive(Default)]
struct Ledger {
    queued: Vec<CommandId>,
    began: BTreeMap<CommandId, u32>,
    ended: BTreeMap<CommandId, u32>,
    /// What the shell was given, until it ended.
    given: Option<CommandId>,
    line_runs: bool,
    is_live: bool,
    is_over: bool,
}

impl Ledger {
    fn note(&mut self, effect: SchedulerEffect) -> Result<(), TestCaseError> {
        match effect {
            SchedulerEffect::HandOver(id) => {
                prop_assert!(self.is_live && !self.line_runs && !self.is_over);
                prop_assert_eq!(self.given, None, "two commands at once");
                prop_assert!(!self.ended.contains_key(&id));
                prop_assert!(!self.began.contains_key(&id), "run twice");
                self.given = Some(id);
            }
            SchedulerEffect::Nudge => {
                prop_assert!(self.is_live && !self.line_runs && !self.is_over);
            }
            SchedulerEffect::Interrupt | SchedulerEffect::Terminate | SchedulerEffect::Kill => {
                prop_assert!(self.is_live && !self.line_runs && !self.is_over);
            }
            SchedulerEffect::Withdraw => prop_assert!(self.is_live && !self.is_over),
            SchedulerEffect::Began(CommandOwner::Hob(id)) => {
                prop_assert!(!self.ended.contains_key(&id));
                *self.began.entry(id).or_default() += 1;
                prop_assert_eq!(self.began[&id], 1);
                prop_assert!(!self.line_runs);
                // Another life gave it, if this one did not.
                self.given = Some(id);
            }
            SchedulerEffect::Ended(CommandOwner::Hob(id), end) => {
                prop_assert!(end.state.is_final());
                prop_assert!(self.queued.contains(&id));
                *self.ended.entry(id).or_default() += 1;
                prop_assert_eq!(self.ended[&id], 1, "ended twice");
                self.given = self.given.filter(|given| *given != id);
            }
            SchedulerEffect::Began(CommandOwner::Person) => {
                prop_assert!(!self.line_runs);
                self.line_runs = true;
            }
            SchedulerEffect::Ended(CommandOwner::Person, end) => {
                prop_assert!(end.state.is_final() && self.line_runs);
                self.line_runs = false;
            }
            SchedulerEffect::TerminalEnded(_) => {
                prop_assert!(!self.is_over);
                self.is_over = true;
            }
        }
        Ok(())
    }
}

fn live(turns: &[Turn], marks: (bool, bool)) -> Result<(), TestCaseError> {
    let mut scheduler = CommandScheduler::new(ResumePoint::Starting, Vec::new(), 0);
    let mut ledger = Ledger::default();
    let mut now_ms = 0;
    let last = [Turn::Live(None), Turn::Left];
    for turn in turns.iter().chain(&last) {
        let mut out = Vec::new();
        let event = match turn {
            Turn::Queued(number) => {
                let job = job(*number, marks.0, marks.1);
                if ledger.queued.contains(&job.id) {
                    continue;
                }
                ledger.queued.push(job.id);
                SchedulerEvent::Queued(job)
            }
            Turn::Began(id) => SchedulerEvent::Began { id, ago_ms: 0 },
            Turn::Ended(id, status) => SchedulerEvent::Ended {
                id,
                status: *status,
            },
            Turn::Taken(id) => SchedulerEvent::Taken { id },
            Turn::Prompt => SchedulerEvent::Prompt,
            Turn::Incomplete => SchedulerEvent::Incomplete,
            Turn::Skipped => SchedulerEvent::RecordingGap,
            Turn::Cancel(which) => {
                SchedulerEvent::Cancel(which.map(|number| job(number, false, false).id))
            }
            Turn::Wait(ms) => {
                now_ms += ms;
                SchedulerEvent::Tick
            }
            Turn::Live(handed) => {
                if ledger.is_live {
                    continue;
                }
                ledger.is_live = true;
                SchedulerEvent::CaughtUp(handed.map(|(number, is_there)| HandedOverCommand {
                    id: job(number, false, false).id,
                    is_there,
                }))
            }
            Turn::Left => SchedulerEvent::ShellLeft { status: 0 },
        };
        scheduler.step(event, now_ms, &mut out);
        for effect in out {
            ledger.note(effect)?;
        }
        // What is due in the past would never let the driver sleep.
        let due_ms = scheduler.due_ms();
        if matches!(turn, Turn::Wait(_)) {
            prop_assert!(
                due_ms.is_none_or(|due_ms| due_ms > now_ms),
                "{:?}",
                scheduler
            );
        }
    }
    for id in &ledger.queued {
        prop_assert_eq!(ledger.ended.get(id), Some(&1), "never ended");
    }
    prop_assert!(!ledger.line_runs && ledger.is_over);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whatever_comes_in_whatever_order(
        turns in proptest::collection::vec(turn(), 0..60),
        marks in any::<(bool, bool)>(),
    ) {
        live(&turns, marks)?;
    }
}
