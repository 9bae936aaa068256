//! The desk, case by case.

use super::{Before, Desk, Effect, End, Event, Handed, Job, Over, Waited, Who, Why};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;

fn job(number: u64) -> Job {
    Job {
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

/// A desk and the time it is told.
struct Told {
    desk: Desk,
    now_ms: u64,
}

impl Told {
    fn at_prompt(jobs: &[Job]) -> Told {
        let mut told = Told {
            desk: Desk::new(Before::Starting, jobs.to_vec(), 0),
            now_ms: 0,
        };
        assert_eq!(told.step(Event::Live(None)), []);
        assert_eq!(told.desk.waited(), Waited::Starting);
        told
    }

    fn step(&mut self, event: Event<'_>) -> Vec<Effect> {
        let mut out = Vec::new();
        self.desk.step(event, self.now_ms, &mut out);
        out
    }

    fn began(&mut self, number: u64) -> Vec<Effect> {
        let name = name(number);
        let mut out = self.step(Event::Taken { id: &name });
        out.extend(self.step(Event::Began {
            id: &name,
            ago_ms: 0,
        }));
        out
    }

    fn ended(&mut self, number: u64, status: i32) -> Vec<Effect> {
        let name = name(number);
        self.step(Event::Ended { id: &name, status })
    }

    /// Lives until the desk wants something.
    fn wait(&mut self) -> Vec<Effect> {
        self.now_ms = self.desk.due_ms().expect("it waits for time");
        self.step(Event::Tick)
    }
}

fn end(number: u64, state: CommandState, exit_code: Option<i32>, why: Option<Why>) -> Effect {
    let end = End {
        state,
        exit_code,
        why,
    };
    Effect::Ended(Who::Hob(id(number)), end)
}

fn done(number: u64, status: i32) -> Effect {
    end(number, CommandState::Done, Some(status), None)
}

fn dropped(number: u64, why: Why) -> Effect {
    end(number, CommandState::Cancelled, None, Some(why))
}

#[test]
fn commands_go_one_after_the_other_in_the_order_of_the_record() {
    let mut told = Told::at_prompt(&[job(1)]);
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(1))]);
    assert_eq!(told.step(Event::Queued(job(3))), []);
    assert_eq!(told.step(Event::Queued(job(2))), []);
    assert_eq!(told.desk.queued(), 3);
    assert_eq!(told.began(1), [Effect::Began(Who::Hob(id(1)))]);
    assert_eq!(told.desk.running(), Some(id(1)));
    assert_eq!(told.ended(1, 7), [done(1, 7)]);
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(2))]);
    told.began(2);
    assert_eq!(told.ended(2, 0), [done(2, 0)]);
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(3))]);
}

#[test]
fn a_chain_breaks_at_its_first_failure() {
    let of_chain = |number| Job {
        chain: Some(1),
        ..job(number)
    };
    let mut told = Told::at_prompt(&[of_chain(1), of_chain(2), job(3), of_chain(4)]);
    told.step(Event::Prompt);
    told.began(1);
    assert_eq!(
        told.ended(1, 1),
        [done(1, 1), dropped(2, Why::Chain), dropped(4, Why::Chain)]
    );
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(3))]);
}

#[test]
fn nothing_is_typed_while_a_line_of_the_persons_runs() {
    let mut told = Told::at_prompt(&[]);
    told.step(Event::Prompt);
    let line = Event::Began {
        id: "p7.1",
        ago_ms: 0,
    };
    assert_eq!(told.step(line), [Effect::Began(Who::Person)]);
    assert_eq!(told.step(Event::Queued(job(1))), []);
    // A shell within the shell may show the same prompt.
    assert_eq!(told.step(Event::Prompt), []);
    assert_eq!(told.desk.due_ms(), None);
    let over = Event::Ended {
        id: "p7.1",
        status: 130,
    };
    let end = End {
        state: CommandState::Done,
        exit_code: Some(130),
        why: None,
    };
    assert_eq!(told.step(over), [Effect::Ended(Who::Person, end)]);
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(1))]);
}

#[test]
fn a_person_who_is_faster_keeps_the_command_waiting() {
    let mut told = Told::at_prompt(&[job(1)]);
    told.step(Event::Prompt);
    told.step(Event::Began {
        id: "p7.1",
        ago_ms: 0,
    });
    assert_eq!(told.desk.due_ms(), None);
    told.step(Event::Ended {
        id: "p7.1",
        status: 0,
    });
    assert_eq!(told.step(Event::Prompt), [Effect::Nudge]);
    assert_eq!(told.wait(), [Effect::Nudge]);
    assert_eq!(told.began(1), [Effect::Began(Who::Hob(id(1)))]);
}

#[test]
fn a_command_that_is_never_taken_is_taken_back() {
    let mut told = Told::at_prompt(&[job(1), job(2)]);
    told.step(Event::Prompt);
    for _ in 1..30 {
        assert_eq!(told.wait(), [Effect::Nudge]);
    }
    let lost = end(1, CommandState::Lost, None, Some(Why::Untaken));
    assert_eq!(
        told.wait(),
        [Effect::Withdraw, lost, Effect::HandOver(id(2))]
    );
}

#[test]
fn a_command_that_does_not_heed_is_killed_and_then_given_up() {
    let mut told = Told::at_prompt(&[job(1), job(2)]);
    told.step(Event::Prompt);
    told.began(1);
    assert_eq!(told.step(Event::Cancel(Some(id(1)))), [Effect::Interrupt]);
    assert_eq!(told.step(Event::Cancel(Some(id(1)))), []);
    assert_eq!(told.wait(), [Effect::Terminate]);
    assert_eq!(told.wait(), [Effect::Kill]);
    let mut heeded = Told {
        desk: told.desk.clone(),
        now_ms: told.now_ms,
    };
    let cancelled = end(1, CommandState::Cancelled, Some(137), None);
    assert_eq!(heeded.ended(1, 137), [cancelled]);
    // What the line starts next is killed too.
    for _ in 2..=8 {
        assert_eq!(told.wait(), [Effect::Kill]);
    }
    assert_eq!(
        told.wait(),
        [
            end(1, CommandState::Cancelled, None, Some(Why::Stubborn)),
            end(2, CommandState::Lost, None, Some(Why::Gone)),
            Effect::Over(Over::Stubborn),
        ]
    );
    assert_eq!(told.now_ms, 4_000);
}

#[test]
fn a_deadline_counts_from_the_beginning() {
    let timed = Job {
        timeout_ms: Some(500),
        ..job(1)
    };
    let mut told = Told::at_prompt(&[timed]);
    told.step(Event::Prompt);
    told.now_ms = 300;
    told.began(1);
    assert_eq!(told.wait(), [Effect::Interrupt]);
    assert_eq!(told.now_ms, 800);
    let late = end(1, CommandState::Timeout, Some(130), None);
    assert_eq!(told.ended(1, 130), [late]);
    let before = Before::Command {
        job: timed,
        ago_ms: 400,
    };
    assert_eq!(
        {
            let mut desk = Desk::new(before, Vec::new(), 1_000);
            desk.step(Event::Live(None), 1_000, &mut Vec::new());
            desk.due_ms()
        },
        Some(1_100)
    );
}

#[test]
fn what_waits_is_dropped_and_what_lies_there_is_taken_back() {
    let mut told = Told::at_prompt(&[job(1), job(2), job(3)]);
    told.step(Event::Prompt);
    assert_eq!(
        told.step(Event::Cancel(Some(id(3)))),
        [dropped(3, Why::Dropped)]
    );
    assert_eq!(
        told.step(Event::Cancel(None)),
        [Effect::Withdraw, dropped(2, Why::Dropped)]
    );
    let mut taken = Told {
        desk: told.desk.clone(),
        now_ms: told.now_ms,
    };
    assert_eq!(told.wait(), [dropped(1, Why::Dropped)]);
    assert!(!told.desk.has(id(1)));
    // The shell had taken it just before.
    let name = name(1);
    assert_eq!(taken.step(Event::Taken { id: &name }), [Effect::Interrupt]);
    assert_eq!(taken.step(Event::Prompt), [dropped(1, Why::Dropped)]);
}

#[test]
fn an_incomplete_line_is_interrupted() {
    let mut told = Told::at_prompt(&[job(1)]);
    told.step(Event::Prompt);
    let name = name(1);
    told.step(Event::Taken { id: &name });
    assert_eq!(told.step(Event::Prompt), []);
    assert_eq!(told.step(Event::Incomplete), [Effect::Interrupt]);
    assert_eq!(told.step(Event::Incomplete), []);
    // An interruption may be lost while the shell prepares to read.
    assert_eq!(told.wait(), [Effect::Interrupt]);
    let refused = end(1, CommandState::Done, Some(2), Some(Why::Incomplete));
    assert_eq!(told.ended(1, 130), [refused]);
    // A line of the person's that goes on keeps hob waiting.
    told.step(Event::Prompt);
    told.step(Event::Incomplete);
    assert_eq!(told.step(Event::Queued(job(2))), []);
    assert_eq!(told.step(Event::Prompt), [Effect::HandOver(id(2))]);
}

#[test]
fn what_another_life_handed_over_is_not_handed_over_again() {
    let restart = |there| {
        let mut told = Told {
            desk: Desk::new(Before::Prompt, vec![job(1), job(2)], 0),
            now_ms: 0,
        };
        assert_eq!(told.step(Event::Prompt), []);
        let handed = Handed {
            id: id(1),
            is_there: there,
        };
        (told.step(Event::Live(Some(handed))), told)
    };
    let (effects, mut told) = restart(true);
    assert_eq!(effects, [Effect::Nudge]);
    assert_eq!(told.began(1), [Effect::Began(Who::Hob(id(1)))]);
    let (effects, mut told) = restart(false);
    assert_eq!(effects, []);
    assert_eq!(told.began(1), [Effect::Began(Who::Hob(id(1)))]);
    let (_, mut told) = restart(false);
    for _ in 1..30 {
        assert_eq!(told.wait(), []);
    }
    let lost = end(1, CommandState::Lost, None, Some(Why::Doubtful));
    assert_eq!(
        told.wait(),
        [Effect::Withdraw, lost, Effect::HandOver(id(2))]
    );
}

#[test]
fn marks_that_are_lived_through_again_change_nothing() {
    let mut told = Told {
        desk: Desk::new(Before::Prompt, vec![job(1), job(2)], 0),
        now_ms: 0,
    };
    // Both ran while nobody was there.
    assert_eq!(told.began(1), [Effect::Began(Who::Hob(id(1)))]);
    assert_eq!(told.ended(1, 0), [done(1, 0)]);
    assert_eq!(told.step(Event::Prompt), []);
    assert_eq!(told.ended(1, 0), []);
    assert_eq!(told.began(1), []);
    told.step(Event::Prompt);
    assert_eq!(told.ended(2, 3), [done(2, 3)]);
    assert_eq!(told.step(Event::Live(None)), []);
}

#[test]
fn an_end_that_is_missing_is_told_at_the_next_prompt() {
    let mut told = Told::at_prompt(&[job(1)]);
    told.step(Event::Prompt);
    told.began(1);
    assert_eq!(told.step(Event::Prompt), []);
    told.step(Event::Skipped);
    let unseen = end(1, CommandState::Lost, None, Some(Why::Unseen));
    assert_eq!(told.step(Event::Prompt), [unseen]);
}

#[test]
fn a_shell_that_is_left_ends_the_terminal() {
    let mut told = Told::at_prompt(&[job(1), job(2)]);
    told.step(Event::Prompt);
    told.began(1);
    assert_eq!(
        told.step(Event::Left { status: 3 }),
        [
            end(1, CommandState::Done, Some(3), Some(Why::LeftShell)),
            end(2, CommandState::Lost, None, Some(Why::Gone)),
            Effect::Over(Over::Left { status: 3 }),
        ]
    );
    assert_eq!(told.step(Event::Gone), []);
    let lost = end(3, CommandState::Lost, None, Some(Why::Gone));
    assert_eq!(told.step(Event::Queued(job(3))), [lost]);
}

#[test]
fn a_shell_without_hooks_is_given_up() {
    let mut told = Told::at_prompt(&[job(1)]);
    let lost = end(1, CommandState::Lost, None, Some(Why::Gone));
    assert_eq!(told.wait(), [lost, Effect::Over(Over::Silent)]);
    assert_eq!(told.now_ms, 10_000);
}
