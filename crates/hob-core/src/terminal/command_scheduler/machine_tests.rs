//! The scheduler, case by case.

use super::{
    CommandEnd, CommandEndReason, CommandOwner, CommandScheduler, HandedOverCommand, QueuedCommand,
    ResumePoint, SchedulerEffect, SchedulerEvent, TerminalActivity, TerminalEnd,
};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;

fn job(number: u64) -> QueuedCommand {
    QueuedCommand {
        id: id(number),
        number,
        chain: None,
        timeout_ms: None,
    }
}

fn id(number: u64) -> CommandId {
    format!("00000000-0000-7000-8000-{number:012}")
        .parse()
        .unwrap()
}

fn name(number: u64) -> String {
    id(number).to_string()
}

/// A scheduler and its time.
struct SchedulerHarness {
    scheduler: CommandScheduler,
    now_ms: u64,
}

impl SchedulerHarness {
    fn at_prompt(jobs: &[QueuedCommand]) -> SchedulerHarness {
        let mut harness = SchedulerHarness {
            scheduler: CommandScheduler::new(ResumePoint::Starting, jobs.to_vec(), 0),
            now_ms: 0,
        };
        assert_eq!(harness.step(SchedulerEvent::CaughtUp(None)), []);
        assert_eq!(harness.scheduler.activity(), TerminalActivity::Starting);
        harness
    }

    fn step(&mut self, event: SchedulerEvent<'_>) -> Vec<SchedulerEffect> {
        let mut out = Vec::new();
        self.scheduler.step(event, self.now_ms, &mut out);
        out
    }

    fn began(&mut self, number: u64) -> Vec<SchedulerEffect> {
        let name = name(number);
        let mut out = self.step(SchedulerEvent::Taken { id: &name });
        out.extend(self.step(SchedulerEvent::Began {
            id: &name,
            ago_ms: 0,
        }));
        out
    }

    fn ended(&mut self, number: u64, status: i32) -> Vec<SchedulerEffect> {
        let name = name(number);
        self.step(SchedulerEvent::Ended { id: &name, status })
    }

    /// Lives until the scheduler wants something.
    fn wait(&mut self) -> Vec<SchedulerEffect> {
        self.now_ms = self.scheduler.due_ms().expect("it waits for time");
        self.step(SchedulerEvent::Tick)
    }
}

fn end(
    number: u64,
    state: CommandState,
    exit_code: Option<i32>,
    reason: Option<CommandEndReason>,
) -> SchedulerEffect {
    let end = CommandEnd {
        state,
        exit_code,
        reason,
    };
    SchedulerEffect::Ended(CommandOwner::Hob(id(number)), end)
}

fn done(number: u64, status: i32) -> SchedulerEffect {
    end(number, CommandState::Done, Some(status), None)
}

fn dropped(number: u64, reason: CommandEndReason) -> SchedulerEffect {
    end(number, CommandState::Cancelled, None, Some(reason))
}

#[test]
fn commands_go_one_after_the_other_in_the_order_of_the_record() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1)]);
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(1))]
    );
    assert_eq!(harness.step(SchedulerEvent::Queued(job(3))), []);
    assert_eq!(harness.step(SchedulerEvent::Queued(job(2))), []);
    assert_eq!(harness.scheduler.queued(), 3);
    assert_eq!(
        harness.began(1),
        [SchedulerEffect::Began(CommandOwner::Hob(id(1)))]
    );
    assert_eq!(harness.scheduler.running(), Some(id(1)));
    assert_eq!(harness.ended(1, 7), [done(1, 7)]);
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(2))]
    );
    harness.began(2);
    assert_eq!(harness.ended(2, 0), [done(2, 0)]);
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(3))]
    );
}

#[test]
fn a_chain_breaks_at_its_first_failure() {
    let of_chain = |number| QueuedCommand {
        chain: Some(1),
        ..job(number)
    };
    let mut harness = SchedulerHarness::at_prompt(&[of_chain(1), of_chain(2), job(3), of_chain(4)]);
    harness.step(SchedulerEvent::Prompt);
    harness.began(1);
    assert_eq!(
        harness.ended(1, 1),
        [
            done(1, 1),
            dropped(2, CommandEndReason::ChainFailed),
            dropped(4, CommandEndReason::ChainFailed)
        ]
    );
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(3))]
    );
}

#[test]
fn nothing_is_typed_while_a_line_of_the_persons_runs() {
    let mut harness = SchedulerHarness::at_prompt(&[]);
    harness.step(SchedulerEvent::Prompt);
    let line = SchedulerEvent::Began {
        id: "p7.1",
        ago_ms: 0,
    };
    assert_eq!(
        harness.step(line),
        [SchedulerEffect::Began(CommandOwner::Person)]
    );
    assert_eq!(harness.step(SchedulerEvent::Queued(job(1))), []);
    // A shell within the shell may show the same prompt.
    assert_eq!(harness.step(SchedulerEvent::Prompt), []);
    assert_eq!(harness.scheduler.due_ms(), None);
    let over = SchedulerEvent::Ended {
        id: "p7.1",
        status: 130,
    };
    let end = CommandEnd {
        state: CommandState::Done,
        exit_code: Some(130),
        reason: None,
    };
    assert_eq!(
        harness.step(over),
        [SchedulerEffect::Ended(CommandOwner::Person, end)]
    );
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(1))]
    );
}

#[test]
fn a_person_who_is_faster_keeps_the_command_waiting() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1)]);
    harness.step(SchedulerEvent::Prompt);
    harness.step(SchedulerEvent::Began {
        id: "p7.1",
        ago_ms: 0,
    });
    assert_eq!(harness.scheduler.due_ms(), None);
    harness.step(SchedulerEvent::Ended {
        id: "p7.1",
        status: 0,
    });
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::Nudge]
    );
    assert_eq!(harness.wait(), [SchedulerEffect::Nudge]);
    assert_eq!(
        harness.began(1),
        [SchedulerEffect::Began(CommandOwner::Hob(id(1)))]
    );
}

#[test]
fn a_command_that_is_never_taken_is_taken_back() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1), job(2)]);
    harness.step(SchedulerEvent::Prompt);
    for _ in 1..30 {
        assert_eq!(harness.wait(), [SchedulerEffect::Nudge]);
    }
    let lost = end(1, CommandState::Lost, None, Some(CommandEndReason::Untaken));
    assert_eq!(
        harness.wait(),
        [
            SchedulerEffect::Withdraw,
            lost,
            SchedulerEffect::HandOver(id(2))
        ]
    );
}

#[test]
fn a_command_that_does_not_heed_is_killed_and_then_given_up() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1), job(2)]);
    harness.step(SchedulerEvent::Prompt);
    harness.began(1);
    assert_eq!(
        harness.step(SchedulerEvent::Cancel(Some(id(1)))),
        [SchedulerEffect::Interrupt]
    );
    assert_eq!(harness.step(SchedulerEvent::Cancel(Some(id(1)))), []);
    assert_eq!(harness.wait(), [SchedulerEffect::Terminate]);
    assert_eq!(harness.wait(), [SchedulerEffect::Kill]);
    let mut heeded = SchedulerHarness {
        scheduler: harness.scheduler.clone(),
        now_ms: harness.now_ms,
    };
    let cancelled = end(1, CommandState::Cancelled, Some(137), None);
    assert_eq!(heeded.ended(1, 137), [cancelled]);
    // What the line starts next is killed too.
    for _ in 2..=8 {
        assert_eq!(harness.wait(), [SchedulerEffect::Kill]);
    }
    assert_eq!(
        harness.wait(),
        [
            end(
                1,
                CommandState::Cancelled,
                None,
                Some(CommandEndReason::Unkillable)
            ),
            end(2, CommandState::Lost, None, Some(CommandEndReason::Gone)),
            SchedulerEffect::TerminalEnded(TerminalEnd::Unkillable),
        ]
    );
    assert_eq!(harness.now_ms, 4_000);
}

#[test]
fn a_deadline_counts_from_the_beginning() {
    let timed = QueuedCommand {
        timeout_ms: Some(500),
        ..job(1)
    };
    let mut harness = SchedulerHarness::at_prompt(&[timed]);
    harness.step(SchedulerEvent::Prompt);
    harness.now_ms = 300;
    harness.began(1);
    assert_eq!(harness.wait(), [SchedulerEffect::Interrupt]);
    assert_eq!(harness.now_ms, 800);
    let late = end(1, CommandState::Timeout, Some(130), None);
    assert_eq!(harness.ended(1, 130), [late]);
    let before = ResumePoint::HobCommand {
        command: timed,
        ago_ms: 400,
    };
    assert_eq!(
        {
            let mut scheduler = CommandScheduler::new(before, Vec::new(), 1_000);
            scheduler.step(SchedulerEvent::CaughtUp(None), 1_000, &mut Vec::new());
            scheduler.due_ms()
        },
        Some(1_100)
    );
}

#[test]
fn what_waits_is_dropped_and_what_lies_there_is_taken_back() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1), job(2), job(3)]);
    harness.step(SchedulerEvent::Prompt);
    assert_eq!(
        harness.step(SchedulerEvent::Cancel(Some(id(3)))),
        [dropped(3, CommandEndReason::Dropped)]
    );
    assert_eq!(
        harness.step(SchedulerEvent::Cancel(None)),
        [
            SchedulerEffect::Withdraw,
            dropped(2, CommandEndReason::Dropped)
        ]
    );
    let mut taken = SchedulerHarness {
        scheduler: harness.scheduler.clone(),
        now_ms: harness.now_ms,
    };
    assert_eq!(harness.wait(), [dropped(1, CommandEndReason::Dropped)]);
    assert!(!harness.scheduler.has_command(id(1)));
    // The shell had taken it just before.
    let name = name(1);
    assert_eq!(
        taken.step(SchedulerEvent::Taken { id: &name }),
        [SchedulerEffect::Interrupt]
    );
    assert_eq!(
        taken.step(SchedulerEvent::Prompt),
        [dropped(1, CommandEndReason::Dropped)]
    );
}

#[test]
fn an_incomplete_line_is_interrupted() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1)]);
    harness.step(SchedulerEvent::Prompt);
    let name = name(1);
    harness.step(SchedulerEvent::Taken { id: &name });
    assert_eq!(harness.step(SchedulerEvent::Prompt), []);
    assert_eq!(
        harness.step(SchedulerEvent::Incomplete),
        [SchedulerEffect::Interrupt]
    );
    assert_eq!(harness.step(SchedulerEvent::Incomplete), []);
    // An interruption may be lost while the shell prepares to read.
    assert_eq!(harness.wait(), [SchedulerEffect::Interrupt]);
    let refused = end(
        1,
        CommandState::Done,
        Some(2),
        Some(CommandEndReason::Incomplete),
    );
    assert_eq!(harness.ended(1, 130), [refused]);
    // A line of the person's that goes on keeps hob waiting.
    harness.step(SchedulerEvent::Prompt);
    harness.step(SchedulerEvent::Incomplete);
    assert_eq!(harness.step(SchedulerEvent::Queued(job(2))), []);
    assert_eq!(
        harness.step(SchedulerEvent::Prompt),
        [SchedulerEffect::HandOver(id(2))]
    );
}

#[test]
fn what_another_life_handed_over_is_not_handed_over_again() {
    let restart = |there| {
        let mut harness = SchedulerHarness {
            scheduler: CommandScheduler::new(ResumePoint::Prompt, vec![job(1), job(2)], 0),
            now_ms: 0,
        };
        assert_eq!(harness.step(SchedulerEvent::Prompt), []);
        let handed = HandedOverCommand {
            id: id(1),
            is_there: there,
        };
        (
            harness.step(SchedulerEvent::CaughtUp(Some(handed))),
            harness,
        )
    };
    let (effects, mut harness) = restart(true);
    assert_eq!(effects, [SchedulerEffect::Nudge]);
    assert_eq!(
        harness.began(1),
        [SchedulerEffect::Began(CommandOwner::Hob(id(1)))]
    );
    let (effects, mut harness) = restart(false);
    assert_eq!(effects, []);
    assert_eq!(
        harness.began(1),
        [SchedulerEffect::Began(CommandOwner::Hob(id(1)))]
    );
    let (_, mut harness) = restart(false);
    for _ in 1..30 {
        assert_eq!(harness.wait(), []);
    }
    let lost = end(
        1,
        CommandState::Lost,
        None,
        Some(CommandEndReason::MayHaveRun),
    );
    assert_eq!(
        harness.wait(),
        [
            SchedulerEffect::Withdraw,
            lost,
            SchedulerEffect::HandOver(id(2))
        ]
    );
}

#[test]
fn marks_that_are_lived_through_again_change_nothing() {
    let mut harness = SchedulerHarness {
        scheduler: CommandScheduler::new(ResumePoint::Prompt, vec![job(1), job(2)], 0),
        now_ms: 0,
    };
    // Both ran while nobody was there.
    assert_eq!(
        harness.began(1),
        [SchedulerEffect::Began(CommandOwner::Hob(id(1)))]
    );
    assert_eq!(harness.ended(1, 0), [done(1, 0)]);
    assert_eq!(harness.step(SchedulerEvent::Prompt), []);
    assert_eq!(harness.ended(1, 0), []);
    assert_eq!(harness.began(1), []);
    harness.step(SchedulerEvent::Prompt);
    assert_eq!(harness.ended(2, 3), [done(2, 3)]);
    assert_eq!(harness.step(SchedulerEvent::CaughtUp(None)), []);
}

#[test]
fn an_end_that_is_missing_is_told_at_the_next_prompt() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1)]);
    harness.step(SchedulerEvent::Prompt);
    harness.began(1);
    assert_eq!(harness.step(SchedulerEvent::Prompt), []);
    harness.step(SchedulerEvent::RecordingGap);
    let unseen = end(
        1,
        CommandState::Lost,
        None,
        Some(CommandEndReason::EndNotRecorded),
    );
    assert_eq!(harness.step(SchedulerEvent::Prompt), [unseen]);
}

#[test]
fn a_shell_that_is_left_ends_the_terminal() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1), job(2)]);
    harness.step(SchedulerEvent::Prompt);
    harness.began(1);
    assert_eq!(
        harness.step(SchedulerEvent::ShellLeft { status: 3 }),
        [
            end(
                1,
                CommandState::Done,
                Some(3),
                Some(CommandEndReason::LeftShell)
            ),
            end(2, CommandState::Lost, None, Some(CommandEndReason::Gone)),
            SchedulerEffect::TerminalEnded(TerminalEnd::ShellLeft { status: 3 }),
        ]
    );
    assert_eq!(harness.step(SchedulerEvent::TerminalGone), []);
    let lost = end(3, CommandState::Lost, None, Some(CommandEndReason::Gone));
    assert_eq!(harness.step(SchedulerEvent::Queued(job(3))), [lost]);
}

#[test]
fn a_shell_without_hooks_is_given_up() {
    let mut harness = SchedulerHarness::at_prompt(&[job(1)]);
    let lost = end(1, CommandState::Lost, None, Some(CommandEndReason::Gone));
    assert_eq!(
        harness.wait(),
        [lost, SchedulerEffect::TerminalEnded(TerminalEnd::NoMarks)]
    );
    assert_eq!(harness.now_ms, 10_000);
}
