//! Each way a service's life can go.

use super::*;

pub(super) const POLICY: Policy = Policy {
    restart: Restart::OnFailure,
    has_health: true,
    ready_ms: 10_000,
    live_ms: 5_000,
    live_failures: 3,
    restarts_max: 10,
    window_ms: 300_000,
    idle_ms: None,
};

const PLAIN: Policy = Policy {
    has_health: false,
    ..POLICY
};

struct Life {
    machine: Machine,
    now_ms: u64,
}

impl Life {
    fn new(policy: Policy) -> Life {
        Life {
            machine: Machine::new(policy),
            now_ms: 1_000,
        }
    }

    fn feed(&mut self, event: Event) -> Vec<Effect> {
        let mut out = Vec::new();
        self.machine.step(event, self.now_ms, &mut out);
        out
    }

    /// Lets time pass until the machine is due, and says how long that was.
    fn wait(&mut self) -> (u64, Vec<Effect>) {
        let due_ms = self.machine.due_ms().expect("it waits for something");
        let waited = due_ms.saturating_sub(self.now_ms);
        self.now_ms = self.now_ms.max(due_ms);
        (waited, self.feed(Event::Tick))
    }

    fn running(policy: Policy) -> Life {
        let mut life = Life::new(policy);
        assert_eq!(life.feed(Event::Wanted), [Effect::Start]);
        let probes = life.feed(Event::Started);
        if policy.has_health {
            assert_eq!(probes, [Effect::Probe]);
            life.feed(Event::Probed { healthy: true });
        } else {
            assert_eq!(life.state(), State::Starting);
            assert_eq!(life.wait(), (SETTLE_MS, vec![]));
        }
        assert_eq!(life.state(), State::Running);
        life
    }

    fn state(&self) -> State {
        self.machine.state()
    }
}

const FAILED: Event = Event::Ended { success: false };
const HEALTHY: Event = Event::Probed { healthy: true };
const SICK: Event = Event::Probed { healthy: false };

#[test]
fn an_ordinary_life() {
    let mut life = Life::new(POLICY);
    assert_eq!(life.feed(Event::Wanted), [Effect::Start]);
    assert_eq!(life.state(), State::Starting);
    assert_eq!(life.feed(Event::Wanted), []);
    life.feed(Event::Started);
    assert_eq!(life.state(), State::Starting);
    life.feed(SICK);
    assert_eq!(life.wait(), (10, vec![Effect::Probe]));
    life.feed(HEALTHY);
    assert_eq!(life.state(), State::Running);
    assert_eq!(life.feed(Event::Wanted), []);
    assert_eq!(life.wait(), (5_000, vec![Effect::Probe]));
    life.feed(HEALTHY);
    assert_eq!(life.feed(Event::Unwanted), [Effect::Kill]);
    assert_eq!(life.state(), State::Stopping);
    assert_eq!(life.feed(Event::Ended { success: false }), []);
    assert_eq!(life.state(), State::Stopped);
    assert_eq!(life.machine.due_ms(), None);
}

#[test]
fn looks_at_one_that_is_not_ready_become_rarer() {
    let mut life = Life::new(POLICY);
    life.feed(Event::Wanted);
    life.feed(Event::Started);
    let mut waits = Vec::new();
    for _ in 0..6 {
        life.feed(SICK);
        waits.push(life.wait().0);
    }
    assert_eq!(waits, [10, 20, 40, 80, 100, 100]);
}

#[test]
fn one_that_is_not_ready_in_time_is_killed_and_counts_as_failed() {
    let mut life = Life::new(POLICY);
    life.feed(Event::Wanted);
    life.feed(Event::Started);
    // The probe under way never answers.
    assert_eq!(life.wait(), (10_000, vec![Effect::Kill]));
    life.feed(FAILED);
    assert_eq!(life.state(), State::Backoff);
}

#[test]
fn restarts_wait_longer_each_time_until_it_is_given_up() {
    let mut life = Life::running(PLAIN);
    let mut waits = Vec::new();
    for _ in 0..10 {
        life.feed(FAILED);
        assert_eq!(life.state(), State::Backoff);
        let (waited, effects) = life.wait();
        assert_eq!(effects, [Effect::Start]);
        waits.push(waited);
        life.feed(Event::Started);
    }
    let expected = [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ];
    assert_eq!(waits, expected);
    life.feed(FAILED);
    assert_eq!(life.state(), State::Failed);
    assert_eq!((life.machine.due_ms(), life.machine.restarts()), (None, 10));
    // A person's start begins anew.
    assert_eq!(life.feed(Event::Wanted), [Effect::Start]);
    assert_eq!(life.machine.restarts(), 0);
    life.feed(Event::Started);
    life.feed(FAILED);
    assert_eq!(life.wait().0, 500);
}

#[test]
fn a_minute_of_running_calms() {
    let mut life = Life::running(PLAIN);
    for _ in 0..3 {
        life.feed(FAILED);
        life.wait();
        life.feed(Event::Started);
        life.wait();
    }
    life.now_ms += CALM_MS;
    life.feed(FAILED);
    assert_eq!(life.wait().0, FIRST_WAIT_MS);
}

#[test]
fn restart_classes() {
    let cases = [
        (Restart::Always, true, State::Backoff),
        (Restart::Always, false, State::Backoff),
        (Restart::OnFailure, true, State::Stopped),
        (Restart::OnFailure, false, State::Backoff),
        (Restart::Never, true, State::Stopped),
        (Restart::Never, false, State::Failed),
    ];
    for (restart, success, expected) in cases {
        let mut life = Life::running(Policy { restart, ..PLAIN });
        life.feed(Event::Ended { success });
        assert_eq!(life.state(), expected, "{restart:?} {success}");
    }
}

#[test]
fn one_that_ends_at_once_never_counts_as_running() {
    let cases = [
        (Restart::Never, true, State::Stopped),
        (Restart::Never, false, State::Failed),
        (Restart::OnFailure, false, State::Backoff),
    ];
    for (restart, success, expected) in cases {
        let mut life = Life::new(Policy { restart, ..PLAIN });
        life.feed(Event::Wanted);
        life.feed(Event::Started);
        life.now_ms += SETTLE_MS - 1;
        assert_eq!(life.feed(Event::Tick), []);
        assert_eq!(life.state(), State::Starting);
        life.feed(Event::Ended { success });
        assert_eq!(life.state(), expected, "{restart:?} {success}");
    }
}

#[test]
fn one_that_settles_can_be_stopped() {
    let mut life = Life::new(PLAIN);
    life.feed(Event::Wanted);
    life.feed(Event::Started);
    assert_eq!(life.feed(Event::Wanted), []);
    assert_eq!(life.feed(Event::Unwanted), [Effect::Kill]);
    life.feed(FAILED);
    assert_eq!(life.state(), State::Stopped);
}

#[test]
fn one_that_ends_well_before_it_is_ready_has_failed() {
    let mut life = Life::new(POLICY);
    life.feed(Event::Wanted);
    life.feed(Event::Started);
    life.feed(Event::Ended { success: true });
    assert_eq!(life.state(), State::Backoff);
}

#[test]
fn one_that_hangs_is_killed_after_three_misses_in_a_row() {
    let mut life = Life::running(POLICY);
    for healthy in [false, false, true, false, false] {
        assert_eq!(life.wait(), (5_000, vec![Effect::Probe]));
        assert_eq!(life.feed(Event::Probed { healthy }), []);
    }
    life.wait();
    assert_eq!(life.feed(SICK), [Effect::Kill]);
    life.feed(FAILED);
    assert_eq!(life.wait(), (500, vec![Effect::Start]));
    assert_eq!(life.machine.restarts(), 1);
}

#[test]
fn an_adopted_one_is_never_killed() {
    for (restart, expected) in [
        (Restart::OnFailure, State::Stopped),
        (Restart::Always, State::Backoff),
    ] {
        let idle_ms = Some(1);
        let mut life = Life::new(Policy {
            restart,
            idle_ms,
            ..POLICY
        });
        life.feed(Event::Wanted);
        life.feed(Event::Adopted);
        assert!(life.machine.is_adopted());
        for _ in 0..3 {
            assert_eq!(life.wait().1, [Effect::Probe]);
            assert_eq!(life.feed(SICK), []);
        }
        assert_eq!(life.state(), expected);
    }
    let mut life = Life::new(POLICY);
    life.feed(Event::Wanted);
    life.feed(Event::Adopted);
    assert_eq!(life.feed(Event::Unwanted), []);
    assert_eq!(life.state(), State::Stopped);
}

#[test]
fn nothing_to_start_and_nothing_that_can_be_started() {
    let mut life = Life::new(POLICY);
    life.feed(Event::Wanted);
    life.feed(Event::Absent);
    assert_eq!(life.state(), State::Stopped);
    life.feed(Event::Wanted);
    life.feed(Event::Refused);
    assert_eq!(life.state(), State::Failed);
    life.feed(Event::Unwanted);
    assert_eq!(life.state(), State::Stopped);
}

#[test]
fn a_start_while_it_stops_follows_the_stop() {
    let mut life = Life::running(POLICY);
    life.feed(Event::Unwanted);
    assert_eq!(life.feed(Event::Wanted), []);
    assert_eq!(life.state(), State::Stopping);
    assert_eq!(life.feed(FAILED), [Effect::Start]);
}

#[test]
fn a_stop_wins_over_a_restart_under_way() {
    let mut life = Life::running(POLICY);
    for _ in 0..3 {
        life.wait();
        life.feed(SICK);
    }
    assert_eq!(life.state(), State::Stopping);
    life.feed(Event::Unwanted);
    assert_eq!(life.feed(FAILED), []);
    assert_eq!(life.state(), State::Stopped);
}

#[test]
fn an_unused_one_leaves_and_a_used_one_stays() {
    let idle_ms = Some(30_000);
    let mut life = Life::running(Policy { idle_ms, ..PLAIN });
    life.now_ms += 20_000;
    let at_ms = life.now_ms;
    life.feed(Event::Used { at_ms });
    assert_eq!(life.wait(), (30_000, vec![Effect::Kill]));
    life.feed(FAILED);
    assert_eq!(life.state(), State::Stopped);
}
