//! One loop, table by table, and its promises over any story.

use super::*;
use proptest::prelude::*;

const POLICY: Policy = Policy {
    interval_ms: 1_000,
    max_iterations: 0,
    backoff_ms_max: 10_000,
    errors_max: 5,
    money_max: None,
    watch: Watch::Never,
};

const YES: Event = Event::Asked {
    end: AskedEnd::Answered,
    micro_dollars: 10,
};
const TOO_DEAR: Event = Event::Asked {
    end: AskedEnd::Unaffordable,
    micro_dollars: 0,
};
const NO: Event = Event::Asked {
    end: AskedEnd::Failed,
    micro_dollars: 10,
};

fn step(machine: &mut Machine, event: Event, now_ms: u64) -> Vec<Effect> {
    let mut out = Vec::new();
    machine.step(event, now_ms, &mut out);
    out
}

/// Steps through a table of event, time and expected effects.
fn follow(machine: &mut Machine, table: &[(Event, u64, &[Effect])]) {
    for (at, (event, now_ms, expected)) in table.iter().enumerate() {
        let out = step(machine, *event, *now_ms);
        assert_eq!(out, *expected, "line {at}: {event:?} at {now_ms}");
    }
}

#[test]
fn a_ceiling_on_money_slows_a_loop_down_and_never_ends_it() {
    let policy = Policy {
        errors_max: 1,
        backoff_ms_max: 4_000,
        ..POLICY
    };
    let mut machine = Machine::new(policy, 0);
    step(&mut machine, Event::Start, 0);
    let mut now_ms = 0;
    // The wait doubles with each, up to its bound.
    for (iteration, wait_ms) in (1..).zip([2_000, 4_000, 4_000, 4_000]) {
        assert_eq!(step(&mut machine, Event::Opened, now_ms), [Effect::Ask]);
        assert_eq!(step(&mut machine, TOO_DEAR, now_ms), []);
        assert_eq!(machine.errors(), 0);
        assert_eq!(machine.next_ms(), Some(now_ms + wait_ms));
        now_ms += wait_ms;
        let next = [Effect::Open {
            iteration: iteration + 1,
        }];
        assert_eq!(step(&mut machine, Event::Tick, now_ms), next);
    }
    // Once it is affordable the interval is what it was.
    step(&mut machine, Event::Opened, now_ms);
    step(&mut machine, YES, now_ms);
    assert_eq!(machine.next_ms(), Some(now_ms + 1_000));
}

#[test]
fn an_iteration_follows_the_other_until_the_last() {
    let policy = Policy {
        max_iterations: 2,
        ..POLICY
    };
    let mut machine = Machine::new(policy, 7);
    follow(
        &mut machine,
        &[
            (Event::Start, 0, &[Effect::Open { iteration: 8 }]),
            (Event::Start, 1, &[]),
            (Event::Opened, 2, &[Effect::Ask]),
            (YES, 50, &[]),
            (Event::Tick, 1_049, &[]),
            (Event::Tick, 1_050, &[Effect::Open { iteration: 9 }]),
            (Event::Opened, 1_051, &[Effect::Ask]),
            (YES, 1_060, &[Effect::End(LoopEnd::MaxIterations)]),
            (Event::Tick, 9_999, &[]),
            (Event::Start, 10_000, &[Effect::Open { iteration: 10 }]),
        ],
    );
    assert_eq!((machine.since_start(), machine.micro_dollars()), (1, 0));
}

#[test]
fn a_monitor_before_the_prompt_comes_first() {
    let policy = Policy {
        watch: Watch::Before,
        ..POLICY
    };
    let mut machine = Machine::new(policy, 0);
    follow(
        &mut machine,
        &[
            (Event::Once, 0, &[Effect::Open { iteration: 1 }]),
            (Event::Opened, 1, &[Effect::Watch]),
            (Event::Watched, 2, &[Effect::Ask]),
            (YES, 3, &[Effect::End(LoopEnd::Once)]),
        ],
    );
    assert!(machine.is_idle());
}

#[test]
fn a_monitor_beside_keeps_its_own_time() {
    let policy = Policy {
        watch: Watch::Every(300),
        ..POLICY
    };
    let mut machine = Machine::new(policy, 0);
    follow(
        &mut machine,
        &[
            (
                Event::Start,
                0,
                &[Effect::Open { iteration: 1 }, Effect::WatchBeside],
            ),
            (Event::Opened, 1, &[Effect::Ask]),
            (Event::WatchedBeside, 10, &[]),
            (Event::Tick, 310, &[Effect::WatchBeside]),
            (YES, 400, &[]),
            (Event::Tick, 500, &[]),
            (Event::WatchedBeside, 600, &[]),
            (Event::Tick, 900, &[Effect::WatchBeside]),
            (Event::Tick, 1_400, &[Effect::Open { iteration: 2 }]),
            (Event::Stop, 1_401, &[Effect::Interrupt]),
            (Event::Opened, 1_402, &[]),
            (
                Event::WatchedBeside,
                1_403,
                &[Effect::End(LoopEnd::Stopped)],
            ),
            (Event::Tick, 9_999, &[]),
        ],
    );
}

#[test]
fn a_stop_ends_whatever_is_under_way() {
    let watching = Policy {
        watch: Watch::Before,
        ..POLICY
    };
    let stories: [(Policy, &[Event], Event); 3] = [
        (POLICY, &[Event::Start], Event::NotOpened),
        (watching, &[Event::Start, Event::Opened], Event::Watched),
        (POLICY, &[Event::Start, Event::Opened], NO),
    ];
    for (policy, before, last) in stories {
        let mut machine = Machine::new(policy, 0);
        for event in before {
            step(&mut machine, *event, 0);
        }
        assert_eq!(step(&mut machine, Event::Stop, 1), [Effect::Interrupt]);
        assert_eq!(machine.phase(), LoopPhase::Stopping);
        assert_eq!(step(&mut machine, Event::Stop, 2), []);
        let ended = step(&mut machine, last, 3);
        assert_eq!(ended, [Effect::End(LoopEnd::Stopped)], "{last:?}");
        assert!(machine.is_idle());
    }
    let mut asleep = Machine::new(POLICY, 0);
    for event in [Event::Start, Event::Opened, YES] {
        step(&mut asleep, event, 0);
    }
    let ended = step(&mut asleep, Event::Stop, 1);
    assert_eq!(ended, [Effect::End(LoopEnd::Stopped)]);
    assert_eq!(step(&mut asleep, Event::Stop, 2), []);
}

#[test]
fn failures_slow_it_down_and_then_end_it() {
    let mut machine = Machine::new(POLICY, 0);
    step(&mut machine, Event::Start, 0);
    let mut now_ms = 0;
    for wait in [2_000, 4_000, 8_000, 10_000] {
        step(&mut machine, Event::Opened, now_ms);
        assert_eq!(step(&mut machine, NO, now_ms), []);
        assert_eq!(machine.next_ms(), Some(now_ms + wait));
        now_ms += wait;
        assert_eq!(step(&mut machine, Event::Tick, now_ms).len(), 1);
    }
    step(&mut machine, Event::Opened, now_ms);
    let ended = step(&mut machine, NO, now_ms);
    assert_eq!(ended, [Effect::End(LoopEnd::Errors)]);
    assert_eq!(machine.errors(), 5);
    assert_eq!(wait_ms(5_000, 3, 1_000), 5_000);
    assert_eq!(wait_ms(u64::MAX, 60, u64::MAX), u64::MAX);
}

#[test]
fn what_could_not_be_recorded_is_tried_under_the_same_number() {
    let mut machine = Machine::new(POLICY, 3);
    follow(
        &mut machine,
        &[
            (Event::Start, 0, &[Effect::Open { iteration: 4 }]),
            (Event::NotOpened, 1, &[]),
            (Event::Tick, 2_001, &[Effect::Open { iteration: 4 }]),
            (Event::Opened, 2_002, &[Effect::Ask]),
            (YES, 2_003, &[]),
        ],
    );
    assert_eq!((machine.errors(), machine.since_start()), (0, 1));
}

#[test]
fn money_that_is_used_up_ends_it() {
    let policy = Policy {
        money_max: Some(15),
        ..POLICY
    };
    let mut machine = Machine::new(policy, 0);
    step(&mut machine, Event::Start, 0);
    step(&mut machine, Event::Opened, 0);
    assert_eq!(machine.money_left(), Some(15));
    assert_eq!(step(&mut machine, YES, 0), []);
    assert_eq!(machine.money_left(), Some(5));
    step(&mut machine, Event::Tick, 1_000);
    step(&mut machine, Event::Opened, 1_000);
    let ended = step(&mut machine, YES, 1_000);
    assert_eq!(ended, [Effect::End(LoopEnd::Money)]);
}

#[test]
fn a_change_holds_from_the_sleep_on() {
    let mut machine = Machine::new(POLICY, 0);
    for event in [Event::Start, Event::Opened, YES] {
        step(&mut machine, event, 0);
    }
    let slower = Policy {
        interval_ms: 5_000,
        ..POLICY
    };
    assert_eq!(step(&mut machine, Event::Changed(slower), 500), []);
    assert_eq!(machine.next_ms(), Some(5_000));
    let watched = Policy {
        watch: Watch::Every(100),
        ..slower
    };
    let out = step(&mut machine, Event::Changed(watched), 600);
    assert_eq!(out, [Effect::WatchBeside]);
    let fewer = Policy {
        max_iterations: 1,
        ..slower
    };
    assert_eq!(step(&mut machine, Event::Changed(fewer), 700), []);
    let out = step(&mut machine, Event::Tick, 5_000);
    let expected = [Effect::Interrupt, Effect::End(LoopEnd::MaxIterations)];
    assert_eq!(out, expected);
}

#[test]
fn what_a_former_process_left_goes_on_where_it_was() {
    let saved = |under| Saved {
        iteration: 9,
        since_start: 4,
        errors: 0,
        micro_dollars: 70,
        once: false,
        under,
    };
    let watching = Policy {
        watch: Watch::Before,
        ..POLICY
    };
    for (policy, under, expected) in [
        (POLICY, Under::Opened, Effect::Ask),
        (watching, Under::Opened, Effect::Watch),
        (watching, Under::Asking, Effect::Ask),
    ] {
        let mut out = Vec::new();
        let machine = Machine::resume(policy, saved(under), 100, &mut out);
        assert_eq!(out, [expected]);
        assert_eq!((machine.iteration(), machine.since_start()), (9, 4));
        assert_eq!(machine.micro_dollars(), 70);
    }
    for (left_ms, due_ms) in [(300, 400), (u64::MAX, 1_100)] {
        let mut out = Vec::new();
        let asleep = Under::Sleep { left_ms };
        let mut machine = Machine::resume(POLICY, saved(asleep), 100, &mut out);
        assert_eq!((out.len(), machine.due_ms()), (0, Some(due_ms)));
        let out = step(&mut machine, Event::Tick, due_ms);
        assert_eq!(out, [Effect::Open { iteration: 10 }]);
    }
}

fn policies() -> impl Strategy<Value = Policy> {
    let watch = prop_oneof![
        Just(Watch::Never),
        Just(Watch::Before),
        (1_000..20_000_u64).prop_map(Watch::Every)
    ];
    let money = prop::option::of(0..200_u64);
    (1_000..9_000_u64, 0..6_u32, 0..4_u32, money, watch).prop_map(
        |(interval_ms, max_iterations, errors_max, money_max, watch)| Policy {
            interval_ms,
            max_iterations,
            errors_max,
            money_max,
            watch,
            ..POLICY
        },
    )
}

fn stories() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        3 => Just(Event::Start),
        1 => Just(Event::Once),
        2 => Just(Event::Stop),
        1 => policies().prop_map(Event::Changed),
        6 => Just(Event::Opened),
        1 => Just(Event::NotOpened),
        4 => Just(Event::Watched),
        4 => Just(Event::WatchedBeside),
        6 => (0..3_usize).prop_map(|end| Event::Asked {
            end: [AskedEnd::Answered, AskedEnd::Failed, AskedEnd::Unaffordable][end],
            micro_dollars: 7,
        }),
        8 => Just(Event::Tick),
    ];
    let gap = prop_oneof![Just(0_u64), 0..2_000_u64, 0..30_000_u64];
    prop::collection::vec((gap, event), 0..200)
}

/// What the world believes is under way, from effects alone.
#[derive(Default)]
struct World {
    front: Option<Effect>,
    beside: bool,
    running: bool,
    stopping: bool,
    opened: Vec<u32>,
    rested_at: Option<u64>,
}

impl World {
    /// Whether this can happen now: nothing ends that was not begun.
    fn can(&self, event: Event) -> bool {
        match event {
            Event::Opened | Event::NotOpened => {
                matches!(self.front, Some(Effect::Open { .. }))
            }
            Event::Watched => self.front == Some(Effect::Watch),
            Event::Asked { .. } => self.front == Some(Effect::Ask),
            Event::WatchedBeside => self.beside,
            _ => true,
        }
    }

    fn happened(&mut self, event: Event, now_ms: u64) {
        match event {
            Event::NotOpened => {
                self.opened.pop();
                self.front = None;
                self.rested_at = Some(now_ms);
            }
            Event::Asked { .. } => {
                self.front = None;
                self.rested_at = Some(now_ms);
            }
            Event::Opened | Event::Watched => self.front = None,
            Event::WatchedBeside => self.beside = false,
            Event::Stop => self.stopping = self.running,
            Event::Start | Event::Once if !self.running => {
                (self.running, self.stopping, self.rested_at) = (true, false, None);
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn every_promise_holds(policy in policies(), story in stories()) {
        let mut machine = Machine::new(policy, 0);
        let mut world = World::default();
        let mut policy = policy;
        let mut now_ms = 0;
        for (gap_ms, event) in story {
            now_ms += gap_ms;
            if !world.can(event) {
                continue;
            }
            if let Event::Changed(changed) = event {
                policy = changed;
            }
            world.happened(event, now_ms);
            let out = step(&mut machine, event, now_ms);
            for effect in out {
                match effect {
                    Effect::Open { iteration } => {
                        prop_assert!(world.front.is_none() && !world.stopping);
                        let last = world.opened.last().copied().unwrap_or(0);
                        prop_assert_eq!(iteration, last + 1, "numbers rise by one");
                        if let Some(rested_at) = world.rested_at {
                            prop_assert!(now_ms - rested_at >= policy.interval_ms, "too soon");
                        }
                        world.opened.push(iteration);
                        world.front = Some(effect);
                    }
                    Effect::Watch | Effect::Ask => {
                        prop_assert!(world.front.is_none() && !world.stopping, "{effect:?}");
                        world.front = Some(effect);
                    }
                    Effect::WatchBeside => {
                        prop_assert!(!world.beside && !world.stopping);
                        world.beside = true;
                    }
                    Effect::Interrupt => {
                        prop_assert!(world.front.is_some() || world.beside);
                        // What is interrupted at the loop's own end tells nobody.
                        if world.front.is_none() && !world.stopping {
                            world.beside = false;
                        }
                    }
                    Effect::End(end) => {
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
