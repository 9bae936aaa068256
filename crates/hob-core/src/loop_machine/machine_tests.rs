//! One loop, table by table, and its promises over any story.

use super::*;
use proptest::prelude::*;

const POLICY: LoopPolicy = LoopPolicy {
    interval_ms: 1_000,
    max_iterations: 0,
    backoff_ms_max: 10_000,
    errors_max: 5,
    money_max: None,
    monitor: MonitorSchedule::Off,
};

const YES: LoopEvent = LoopEvent::IterationEnded {
    end: IterationEnd::Answered,
    micro_dollars: 10,
};
const TOO_DEAR: LoopEvent = LoopEvent::IterationEnded {
    end: IterationEnd::Unaffordable,
    micro_dollars: 0,
};
const NO: LoopEvent = LoopEvent::IterationEnded {
    end: IterationEnd::Failed,
    micro_dollars: 10,
};

fn step(machine: &mut LoopMachine, event: LoopEvent, now_ms: u64) -> Vec<LoopEffect> {
    let mut out = Vec::new();
    machine.step(event, now_ms, &mut out);
    out
}

/// Steps through a table of event, time and expected effects.
fn follow(machine: &mut LoopMachine, table: &[(LoopEvent, u64, &[LoopEffect])]) {
    for (at, (event, now_ms, expected)) in table.iter().enumerate() {
        let out = step(machine, *event, *now_ms);
        assert_eq!(out, *expected, "line {at}: {event:?} at {now_ms}");
    }
}

#[test]
fn a_ceiling_on_money_slows_a_loop_down_and_never_ends_it() {
    let policy = LoopPolicy {
        errors_max: 1,
        backoff_ms_max: 4_000,
        ..POLICY
    };
    let mut machine = LoopMachine::new(policy, 0);
    step(&mut machine, LoopEvent::Start, 0);
    let mut now_ms = 0;
    // The wait doubles with each, up to its bound.
    for (iteration, wait_ms) in (1..).zip([2_000, 4_000, 4_000, 4_000]) {
        assert_eq!(
            step(&mut machine, LoopEvent::IterationRecorded, now_ms),
            [LoopEffect::AskModel]
        );
        assert_eq!(step(&mut machine, TOO_DEAR, now_ms), []);
        assert_eq!(machine.errors(), 0);
        assert_eq!(machine.next_ms(), Some(now_ms + wait_ms));
        now_ms += wait_ms;
        let next = [LoopEffect::RecordIteration {
            iteration: iteration + 1,
        }];
        assert_eq!(step(&mut machine, LoopEvent::Tick, now_ms), next);
    }
    // Once it is affordable the interval is what it was.
    step(&mut machine, LoopEvent::IterationRecorded, now_ms);
    step(&mut machine, YES, now_ms);
    assert_eq!(machine.next_ms(), Some(now_ms + 1_000));
}

#[test]
fn an_iteration_follows_the_other_until_the_last() {
    let policy = LoopPolicy {
        max_iterations: 2,
        ..POLICY
    };
    let mut machine = LoopMachine::new(policy, 7);
    follow(
        &mut machine,
        &[
            (
                LoopEvent::Start,
                0,
                &[LoopEffect::RecordIteration { iteration: 8 }],
            ),
            (LoopEvent::Start, 1, &[]),
            (LoopEvent::IterationRecorded, 2, &[LoopEffect::AskModel]),
            (YES, 50, &[]),
            (LoopEvent::Tick, 1_049, &[]),
            (
                LoopEvent::Tick,
                1_050,
                &[LoopEffect::RecordIteration { iteration: 9 }],
            ),
            (LoopEvent::IterationRecorded, 1_051, &[LoopEffect::AskModel]),
            (YES, 1_060, &[LoopEffect::End(LoopEnd::MaxIterations)]),
            (LoopEvent::Tick, 9_999, &[]),
            (
                LoopEvent::Start,
                10_000,
                &[LoopEffect::RecordIteration { iteration: 10 }],
            ),
        ],
    );
    assert_eq!((machine.since_start(), machine.micro_dollars()), (1, 0));
}

#[test]
fn a_monitor_before_the_prompt_comes_first() {
    let policy = LoopPolicy {
        monitor: MonitorSchedule::BeforeIteration,
        ..POLICY
    };
    let mut machine = LoopMachine::new(policy, 0);
    follow(
        &mut machine,
        &[
            (
                LoopEvent::StartOnce,
                0,
                &[LoopEffect::RecordIteration { iteration: 1 }],
            ),
            (LoopEvent::IterationRecorded, 1, &[LoopEffect::RunMonitor]),
            (LoopEvent::MonitorEnded, 2, &[LoopEffect::AskModel]),
            (YES, 3, &[LoopEffect::End(LoopEnd::Once)]),
        ],
    );
    assert!(machine.is_idle());
}

#[test]
fn a_monitor_beside_keeps_its_own_time() {
    let policy = LoopPolicy {
        monitor: MonitorSchedule::Interval(300),
        ..POLICY
    };
    let mut machine = LoopMachine::new(policy, 0);
    follow(
        &mut machine,
        &[
            (
                LoopEvent::Start,
                0,
                &[
                    LoopEffect::RecordIteration { iteration: 1 },
                    LoopEffect::RunBackgroundMonitor,
                ],
            ),
            (LoopEvent::IterationRecorded, 1, &[LoopEffect::AskModel]),
            (LoopEvent::BackgroundMonitorEnded, 10, &[]),
            (LoopEvent::Tick, 310, &[LoopEffect::RunBackgroundMonitor]),
            (YES, 400, &[]),
            (LoopEvent::Tick, 500, &[]),
            (LoopEvent::BackgroundMonitorEnded, 600, &[]),
            (LoopEvent::Tick, 900, &[LoopEffect::RunBackgroundMonitor]),
            (
                LoopEvent::Tick,
                1_400,
                &[LoopEffect::RecordIteration { iteration: 2 }],
            ),
            (LoopEvent::Stop, 1_401, &[LoopEffect::Interrupt]),
            (LoopEvent::IterationRecorded, 1_402, &[]),
            (
                LoopEvent::BackgroundMonitorEnded,
                1_403,
                &[LoopEffect::End(LoopEnd::Stopped)],
            ),
            (LoopEvent::Tick, 9_999, &[]),
        ],
    );
}

#[test]
fn a_stop_ends_whatever_is_under_way() {
    let watching = LoopPolicy {
        monitor: MonitorSchedule::BeforeIteration,
        ..POLICY
    };
    let stories: [(LoopPolicy, &[LoopEvent], LoopEvent); 3] = [
        (POLICY, &[LoopEvent::Start], LoopEvent::IterationNotRecorded),
        (
            watching,
            &[LoopEvent::Start, LoopEvent::IterationRecorded],
            LoopEvent::MonitorEnded,
        ),
        (
            POLICY,
            &[LoopEvent::Start, LoopEvent::IterationRecorded],
            NO,
        ),
    ];
    for (policy, before, last) in stories {
        let mut machine = LoopMachine::new(policy, 0);
        for event in before {
            step(&mut machine, *event, 0);
        }
        assert_eq!(
            step(&mut machine, LoopEvent::Stop, 1),
            [LoopEffect::Interrupt]
        );
        assert_eq!(machine.phase(), LoopPhase::Stopping);
        assert_eq!(step(&mut machine, LoopEvent::Stop, 2), []);
        let ended = step(&mut machine, last, 3);
        assert_eq!(ended, [LoopEffect::End(LoopEnd::Stopped)], "{last:?}");
        assert!(machine.is_idle());
    }
    let mut asleep = LoopMachine::new(POLICY, 0);
    for event in [LoopEvent::Start, LoopEvent::IterationRecorded, YES] {
        step(&mut asleep, event, 0);
    }
    let ended = step(&mut asleep, LoopEvent::Stop, 1);
    assert_eq!(ended, [LoopEffect::End(LoopEnd::Stopped)]);
    assert_eq!(step(&mut asleep, LoopEvent::Stop, 2), []);
}

#[test]
fn failures_slow_it_down_and_then_end_it() {
    let mut machine = LoopMachine::new(POLICY, 0);
    step(&mut machine, LoopEvent::Start, 0);
    let mut now_ms = 0;
    for wait in [2_000, 4_000, 8_000, 10_000] {
        step(&mut machine, LoopEvent::IterationRecorded, now_ms);
        assert_eq!(step(&mut machine, NO, now_ms), []);
        assert_eq!(machine.next_ms(), Some(now_ms + wait));
        now_ms += wait;
        assert_eq!(step(&mut machine, LoopEvent::Tick, now_ms).len(), 1);
    }
    step(&mut machine, LoopEvent::IterationRecorded, now_ms);
    let ended = step(&mut machine, NO, now_ms);
    assert_eq!(ended, [LoopEffect::End(LoopEnd::Errors)]);
    assert_eq!(machine.errors(), 5);
    assert_eq!(backoff_ms(5_000, 3, 1_000), 5_000);
    assert_eq!(backoff_ms(u64::MAX, 60, u64::MAX), u64::MAX);
}

#[test]
fn what_could_not_be_recorded_is_tried_under_the_same_number() {
    let mut machine = LoopMachine::new(POLICY, 3);
    follow(
        &mut machine,
        &[
            (
                LoopEvent::Start,
                0,
                &[LoopEffect::RecordIteration { iteration: 4 }],
            ),
            (LoopEvent::IterationNotRecorded, 1, &[]),
            (
                LoopEvent::Tick,
                2_001,
                &[LoopEffect::RecordIteration { iteration: 4 }],
            ),
            (LoopEvent::IterationRecorded, 2_002, &[LoopEffect::AskModel]),
            (YES, 2_003, &[]),
        ],
    );
    assert_eq!((machine.errors(), machine.since_start()), (0, 1));
}

#[test]
fn money_that_is_used_up_ends_it() {
    let policy = LoopPolicy {
        money_max: Some(15),
        ..POLICY
    };
    let mut machine = LoopMachine::new(policy, 0);
    step(&mut machine, LoopEvent::Start, 0);
    step(&mut machine, LoopEvent::IterationRecorded, 0);
    assert_eq!(machine.money_left(), Some(15));
    assert_eq!(step(&mut machine, YES, 0), []);
    assert_eq!(machine.money_left(), Some(5));
    step(&mut machine, LoopEvent::Tick, 1_000);
    step(&mut machine, LoopEvent::IterationRecorded, 1_000);
    let ended = step(&mut machine, YES, 1_000);
    assert_eq!(ended, [LoopEffect::End(LoopEnd::Money)]);
}

#[test]
fn a_change_holds_from_the_sleep_on() {
    let mut machine = LoopMachine::new(POLICY, 0);
    for event in [LoopEvent::Start, LoopEvent::IterationRecorded, YES] {
        step(&mut machine, event, 0);
    }
    let slower = LoopPolicy {
        interval_ms: 5_000,
        ..POLICY
    };
    assert_eq!(
        step(&mut machine, LoopEvent::PolicyChanged(slower), 500),
        []
    );
    assert_eq!(machine.next_ms(), Some(5_000));
    let watched = LoopPolicy {
        monitor: MonitorSchedule::Interval(100),
        ..slower
    };
    let out = step(&mut machine, LoopEvent::PolicyChanged(watched), 600);
    assert_eq!(out, [LoopEffect::RunBackgroundMonitor]);
    let fewer = LoopPolicy {
        max_iterations: 1,
        ..slower
    };
    assert_eq!(step(&mut machine, LoopEvent::PolicyChanged(fewer), 700), []);
    let out = step(&mut machine, LoopEvent::Tick, 5_000);
    let expected = [
        LoopEffect::Interrupt,
        LoopEffect::End(LoopEnd::MaxIterations),
    ];
    assert_eq!(out, expected);
}

#[test]
fn what_a_former_process_left_goes_on_where_it_was() {
    let saved = |under| SavedLoop {
        iteration: 9,
        since_start: 4,
        errors: 0,
        micro_dollars: 70,
        run_once: false,
        step: under,
    };
    let watching = LoopPolicy {
        monitor: MonitorSchedule::BeforeIteration,
        ..POLICY
    };
    for (policy, under, expected) in [
        (POLICY, SavedStep::Recorded, LoopEffect::AskModel),
        (watching, SavedStep::Recorded, LoopEffect::RunMonitor),
        (watching, SavedStep::Asking, LoopEffect::AskModel),
    ] {
        let mut out = Vec::new();
        let machine = LoopMachine::resume(policy, saved(under), 100, &mut out);
        assert_eq!(out, [expected]);
        assert_eq!((machine.iteration(), machine.since_start()), (9, 4));
        assert_eq!(machine.micro_dollars(), 70);
    }
    for (left_ms, due_ms) in [(300, 400), (u64::MAX, 1_100)] {
        let mut out = Vec::new();
        let asleep = SavedStep::Sleeping { left_ms };
        let mut machine = LoopMachine::resume(POLICY, saved(asleep), 100, &mut out);
        assert_eq!((out.len(), machine.due_ms()), (0, Some(due_ms)));
        let out = step(&mut machine, LoopEvent::Tick, due_ms);
        assert_eq!(out, [LoopEffect::RecordIteration { iteration: 10 }]);
    }
}

fn policies() -> impl Strategy<Value = LoopPolicy> {
    let watch = prop_oneof![
        Just(MonitorSchedule::Off),
        Just(MonitorSchedule::BeforeIteration),
        (1_000..20_000_u64).prop_map(MonitorSchedule::Interval)
    ];
    let money = prop::option::of(0..200_u64);
    (1_000..9_000_u64, 0..6_u32, 0..4_u32, money, watch).prop_map(
        |(interval_ms, max_iterations, errors_max, money_max, watch)| LoopPolicy {
            interval_ms,
            max_iterations,
            errors_max,
            money_max,
            monitor: watch,
            ..POLICY
        },
    )
}

fn stories() -> impl Strategy<Value = Vec<(u64, LoopEvent)>> {
    let event = prop_oneof![
        3 => Just(LoopEvent::Start),
        1 => Just(LoopEvent::StartOnce),
        2 => Just(LoopEvent::Stop),
        1 => policies().prop_map(LoopEvent::PolicyChanged),
        6 => Just(LoopEvent::IterationRecorded),
        1 => Just(LoopEvent::IterationNotRecorded),
        4 => Just(LoopEvent::MonitorEnded),
        4 => Just(LoopEvent::BackgroundMonitorEnded),
        6 => (0..3_usize).prop_map(|end| LoopEvent::IterationEnded {
            end: [IterationEnd::Answered, IterationEnd::Failed, IterationEnd::Unaffordable][end],
            micro_dollars: 7,
        }),
        8 => Just(LoopEvent::Tick),
    ];
    let gap = prop_oneof![Just(0_u64), 0..2_000_u64, 0..30_000_u64];
    prop::collection::vec((gap, event), 0..200)
}

/// What the world believes is under way, from effects alone.
#[derive(Default)]
struct World {
    front: Option<LoopEffect>,
    beside: bool,
    running: bool,
    stopping: bool,
    opened: Vec<u32>,
    rested_at: Option<u64>,
}

impl World {
    /// Whether this can happen now: nothing ends that was not begun.
    fn can(&self, event: LoopEvent) -> bool {
        match event {
            LoopEvent::IterationRecorded | LoopEvent::IterationNotRecorded => {
                matches!(self.front, Some(LoopEffect::RecordIteration { .. }))
            }
            LoopEvent::MonitorEnded => self.front == Some(LoopEffect::RunMonitor),
            LoopEvent::IterationEnded { .. } => self.front == Some(LoopEffect::AskModel),
            LoopEvent::BackgroundMonitorEnded => self.beside,
            _ => true,
        }
    }

    fn happened(&mut self, event: LoopEvent, now_ms: u64) {
        match event {
            LoopEvent::IterationNotRecorded => {
                self.opened.pop();
                self.front = None;
                self.rested_at = Some(now_ms);
            }
            LoopEvent::IterationEnded { .. } => {
                self.front = None;
                self.rested_at = Some(now_ms);
            }
            LoopEvent::IterationRecorded | LoopEvent::MonitorEnded => self.front = None,
            LoopEvent::BackgroundMonitorEnded => self.beside = false,
            LoopEvent::Stop => self.stopping = self.running,
            LoopEvent::Start | LoopEvent::StartOnce if !self.running => {
                (self.running, self.stopping, self.rested_at) = (true, false, None);
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn every_promise_holds(policy in policies(), story in stories()) {
        let mut machine = LoopMachine::new(policy, 0);
        let mut world = World::default();
        let mut policy = policy;
        let mut now_ms = 0;
        for (gap_ms, event) in story {
            now_ms += gap_ms;
            if !world.can(event) {
                continue;
            }
            if let LoopEvent::PolicyChanged(changed) = event {
                policy = changed;
            }
            world.happened(event, now_ms);
            let out = step(&mut machine, event, now_ms);
            for effect in out {
                match effect {
                    LoopEffect::RecordIteration { iteration } => {
                        prop_assert!(world.front.is_none() && !world.stopping);
                        let last = world.opened.last().copied().unwrap_or(0);
                        prop_assert_eq!(iteration, last + 1, "numbers rise by one");
                        if let Some(rested_at) = world.rested_at {
                            prop_assert!(now_ms - rested_at >= policy.interval_ms, "too soon");
                        }
                        world.opened.push(iteration);
                        world.front = Some(effect);
                    }
                    LoopEffect::RunMonitor | LoopEffect::AskModel => {
                        prop_assert!(world.front.is_none() && !world.stopping, "{effect:?}");
                        world.front = Some(effect);
                    }
                    LoopEffect::RunBackgroundMonitor => {
                        prop_assert!(!world.beside && !world.stopping);
                        world.beside = true;
                    }
                    LoopEffect::Interrupt => {
                        prop_assert!(world.front.is_some() || world.beside);
                        // What is interrupted at the loop's own end tells nobody.
                        if world.front.is_none() && !world.stopping {
                            world.beside = false;
                        }
                    }
                    LoopEffect::End(end) => {
                        prop_assert!(world.front.is_none() && !world.beside, "{end:?}");
                        prop_assert!(world.running);
                        prop_assert_eq!(world.stopping, end == LoopEnd::Stopped);
                        (world.running, world.stopping) = (false, false);
                    }
                }
            }
            prop_assert_eq!(machine.is_idle(), !world.running);
            if policy.max_iterations > 0 && machine.phase() == LoopPhase::Sleep && event == YES {
                prop_assert!(machine.since_start() < policy.max_iterations);
            }
            // It never waits for nothing: something is under way or a time is set.
            let waits = world.front.is_some() || world.beside || machine.due_ms().is_some();
            prop_assert!(machine.is_idle() || waits, "stuck in {machine:?}");
        }
    }
}
