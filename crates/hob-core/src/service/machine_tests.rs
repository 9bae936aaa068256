//! Each way a service's life can go.

use super::*;

pub(super) const POLICY: ServicePolicy = ServicePolicy {
    restart: RestartPolicy::OnFailure,
    has_health_check: true,
    ready_timeout_ms: 10_000,
    probe_interval_ms: 5_000,
    probe_failures_max: 3,
    restarts_max: 10,
    window_ms: 300_000,
    idle_ms: None,
};

const PLAIN: ServicePolicy = ServicePolicy {
    has_health_check: false,
    ..POLICY
};

struct Life {
    machine: ServiceMachine,
    now_ms: u64,
}

impl Life {
    fn new(policy: ServicePolicy) -> Life {
        Life {
            machine: ServiceMachine::new(policy),
            now_ms: 1_000,
        }
    }

    fn feed(&mut self, event: ServiceEvent) -> Vec<ServiceEffect> {
        let mut out = Vec::new();
        self.machine.step(event, self.now_ms, &mut out);
        out
    }

    /// Lets time pass until the machine is due, and says how long that was.
    fn wait(&mut self) -> (u64, Vec<ServiceEffect>) {
        let due_ms = self.machine.due_ms().expect("it waits for something");
        let waited = due_ms.saturating_sub(self.now_ms);
        self.now_ms = self.now_ms.max(due_ms);
        (waited, self.feed(ServiceEvent::Tick))
    }

    fn running(policy: ServicePolicy) -> Life {
        let mut life = Life::new(policy);
        assert_eq!(life.feed(ServiceEvent::Wanted), [ServiceEffect::Start]);
        let probes = life.feed(ServiceEvent::Started);
        if policy.has_health_check {
            assert_eq!(probes, [ServiceEffect::Probe]);
            life.feed(ServiceEvent::Probed { healthy: true });
        } else {
            assert_eq!(life.state(), ServiceMachineState::Starting);
            assert_eq!(life.wait(), (SETTLE_MS, vec![]));
        }
        assert_eq!(life.state(), ServiceMachineState::Running);
        life
    }

    fn state(&self) -> ServiceMachineState {
        self.machine.state()
    }
}

const FAILED: ServiceEvent = ServiceEvent::Ended { success: false };
const HEALTHY: ServiceEvent = ServiceEvent::Probed { healthy: true };
const SICK: ServiceEvent = ServiceEvent::Probed { healthy: false };

#[test]
fn an_ordinary_life() {
    let mut life = Life::new(POLICY);
    assert_eq!(life.feed(ServiceEvent::Wanted), [ServiceEffect::Start]);
    assert_eq!(life.state(), ServiceMachineState::Starting);
    assert_eq!(life.feed(ServiceEvent::Wanted), []);
    life.feed(ServiceEvent::Started);
    assert_eq!(life.state(), ServiceMachineState::Starting);
    life.feed(SICK);
    assert_eq!(life.wait(), (10, vec![ServiceEffect::Probe]));
    life.feed(HEALTHY);
    assert_eq!(life.state(), ServiceMachineState::Running);
    assert_eq!(life.feed(ServiceEvent::Wanted), []);
    assert_eq!(life.wait(), (5_000, vec![ServiceEffect::Probe]));
    life.feed(HEALTHY);
    assert_eq!(life.feed(ServiceEvent::Unwanted), [ServiceEffect::Kill]);
    assert_eq!(life.state(), ServiceMachineState::Stopping);
    assert_eq!(life.feed(ServiceEvent::Ended { success: false }), []);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
    assert_eq!(life.machine.due_ms(), None);
}

#[test]
fn looks_at_one_that_is_not_ready_become_rarer() {
    let mut life = Life::new(POLICY);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Started);
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
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Started);
    // The probe under way never answers.
    assert_eq!(life.wait(), (10_000, vec![ServiceEffect::Kill]));
    life.feed(FAILED);
    assert_eq!(life.state(), ServiceMachineState::Backoff);
}

#[test]
fn restarts_wait_longer_each_time_until_it_is_given_up() {
    let mut life = Life::running(PLAIN);
    let mut waits = Vec::new();
    for _ in 0..10 {
        life.feed(FAILED);
        assert_eq!(life.state(), ServiceMachineState::Backoff);
        let (waited, effects) = life.wait();
        assert_eq!(effects, [ServiceEffect::Start]);
        waits.push(waited);
        life.feed(ServiceEvent::Started);
    }
    let expected = [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ];
    assert_eq!(waits, expected);
    life.feed(FAILED);
    assert_eq!(life.state(), ServiceMachineState::Failed);
    assert_eq!((life.machine.due_ms(), life.machine.restarts()), (None, 10));
    // A person's start begins anew.
    assert_eq!(life.feed(ServiceEvent::Wanted), [ServiceEffect::Start]);
    assert_eq!(life.machine.restarts(), 0);
    life.feed(ServiceEvent::Started);
    life.feed(FAILED);
    assert_eq!(life.wait().0, 500);
}

#[test]
fn a_minute_of_running_calms() {
    let mut life = Life::running(PLAIN);
    for _ in 0..3 {
        life.feed(FAILED);
        life.wait();
        life.feed(ServiceEvent::Started);
        life.wait();
    }
    life.now_ms += CALM_MS;
    life.feed(FAILED);
    assert_eq!(life.wait().0, FIRST_WAIT_MS);
}

#[test]
fn restart_classes() {
    let cases = [
        (RestartPolicy::Always, true, ServiceMachineState::Backoff),
        (RestartPolicy::Always, false, ServiceMachineState::Backoff),
        (RestartPolicy::OnFailure, true, ServiceMachineState::Stopped),
        (
            RestartPolicy::OnFailure,
            false,
            ServiceMachineState::Backoff,
        ),
        (RestartPolicy::Never, true, ServiceMachineState::Stopped),
        (RestartPolicy::Never, false, ServiceMachineState::Failed),
    ];
    for (restart, success, expected) in cases {
        let mut life = Life::running(ServicePolicy { restart, ..PLAIN });
        life.feed(ServiceEvent::Ended { success });
        assert_eq!(life.state(), expected, "{restart:?} {success}");
    }
}

#[test]
fn one_that_ends_at_once_never_counts_as_running() {
    let cases = [
        (RestartPolicy::Never, true, ServiceMachineState::Stopped),
        (RestartPolicy::Never, false, ServiceMachineState::Failed),
        (
            RestartPolicy::OnFailure,
            false,
            ServiceMachineState::Backoff,
        ),
    ];
    for (restart, success, expected) in cases {
        let mut life = Life::new(ServicePolicy { restart, ..PLAIN });
        life.feed(ServiceEvent::Wanted);
        life.feed(ServiceEvent::Started);
        life.now_ms += SETTLE_MS - 1;
        assert_eq!(life.feed(ServiceEvent::Tick), []);
        assert_eq!(life.state(), ServiceMachineState::Starting);
        life.feed(ServiceEvent::Ended { success });
        assert_eq!(life.state(), expected, "{restart:?} {success}");
    }
}

#[test]
fn one_that_settles_can_be_stopped() {
    let mut life = Life::new(PLAIN);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Started);
    assert_eq!(life.feed(ServiceEvent::Wanted), []);
    assert_eq!(life.feed(ServiceEvent::Unwanted), [ServiceEffect::Kill]);
    life.feed(FAILED);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
}

#[test]
fn one_that_ends_well_before_it_is_ready_has_failed() {
    let mut life = Life::new(POLICY);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Started);
    life.feed(ServiceEvent::Ended { success: true });
    assert_eq!(life.state(), ServiceMachineState::Backoff);
}

#[test]
fn one_that_hangs_is_killed_after_three_misses_in_a_row() {
    let mut life = Life::running(POLICY);
    for healthy in [false, false, true, false, false] {
        assert_eq!(life.wait(), (5_000, vec![ServiceEffect::Probe]));
        assert_eq!(life.feed(ServiceEvent::Probed { healthy }), []);
    }
    life.wait();
    assert_eq!(life.feed(SICK), [ServiceEffect::Kill]);
    life.feed(FAILED);
    assert_eq!(life.wait(), (500, vec![ServiceEffect::Start]));
    assert_eq!(life.machine.restarts(), 1);
}

#[test]
fn an_adopted_one_is_never_killed() {
    for (restart, expected) in [
        (RestartPolicy::OnFailure, ServiceMachineState::Stopped),
        (RestartPolicy::Always, ServiceMachineState::Backoff),
    ] {
        let idle_ms = Some(1);
        let mut life = Life::new(ServicePolicy {
            restart,
            idle_ms,
            ..POLICY
        });
        life.feed(ServiceEvent::Wanted);
        life.feed(ServiceEvent::Adopted);
        assert!(life.machine.is_adopted());
        for _ in 0..3 {
            assert_eq!(life.wait().1, [ServiceEffect::Probe]);
            assert_eq!(life.feed(SICK), []);
        }
        assert_eq!(life.state(), expected);
    }
    let mut life = Life::new(POLICY);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Adopted);
    assert_eq!(life.feed(ServiceEvent::Unwanted), []);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
}

#[test]
fn nothing_to_start_and_nothing_that_can_be_started() {
    let mut life = Life::new(POLICY);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Absent);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
    life.feed(ServiceEvent::Wanted);
    life.feed(ServiceEvent::Refused);
    assert_eq!(life.state(), ServiceMachineState::Failed);
    life.feed(ServiceEvent::Unwanted);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
}

#[test]
fn a_start_while_it_stops_follows_the_stop() {
    let mut life = Life::running(POLICY);
    life.feed(ServiceEvent::Unwanted);
    assert_eq!(life.feed(ServiceEvent::Wanted), []);
    assert_eq!(life.state(), ServiceMachineState::Stopping);
    assert_eq!(life.feed(FAILED), [ServiceEffect::Start]);
}

#[test]
fn a_stop_wins_over_a_restart_under_way() {
    let mut life = Life::running(POLICY);
    for _ in 0..3 {
        life.wait();
        life.feed(SICK);
    }
    assert_eq!(life.state(), ServiceMachineState::Stopping);
    life.feed(ServiceEvent::Unwanted);
    assert_eq!(life.feed(FAILED), []);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
}

#[test]
fn an_unused_one_leaves_and_a_used_one_stays() {
    let idle_ms = Some(30_000);
    let mut life = Life::running(ServicePolicy { idle_ms, ..PLAIN });
    life.now_ms += 20_000;
    let at_ms = life.now_ms;
    life.feed(ServiceEvent::Used { at_ms });
    assert_eq!(life.wait(), (30_000, vec![ServiceEffect::Kill]));
    life.feed(FAILED);
    assert_eq!(life.state(), ServiceMachineState::Stopped);
}
