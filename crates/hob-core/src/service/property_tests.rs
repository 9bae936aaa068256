//! The promises of the machine, over any story.

use super::tests::POLICY;
use super::*;
use proptest::prelude::*;

/// What the world does next: an event, after so much time.
fn stories() -> impl Strategy<Value = Vec<(u64, ServiceEvent)>> {
    let event = prop_oneof![
        2 => Just(ServiceEvent::Wanted),
        1 => Just(ServiceEvent::Unwanted),
        4 => Just(ServiceEvent::Started),
        1 => Just(ServiceEvent::Adopted),
        1 => Just(ServiceEvent::Absent),
        1 => Just(ServiceEvent::Refused),
        4 => any::<bool>().prop_map(|healthy| ServiceEvent::Probed { healthy }),
        6 => any::<bool>().prop_map(|success| ServiceEvent::Ended { success }),
        8 => Just(ServiceEvent::Tick),
    ];
    let gap = prop_oneof![Just(0_u64), 0..2_000_u64, 0..90_000_u64];
    prop::collection::vec((gap, event), 0..200)
}

fn policies() -> impl Strategy<Value = ServicePolicy> {
    let restart = prop_oneof![
        Just(RestartPolicy::Always),
        Just(RestartPolicy::OnFailure),
        Just(RestartPolicy::Never)
    ];
    let idle = prop::option::of(1_000..100_000_u64);
    (restart, any::<bool>(), 0..6_u32, idle).prop_map(
        |(restart, has_health, restarts_max, idle_ms)| ServicePolicy {
            restart,
            has_health_check: has_health,
            restarts_max,
            idle_ms,
            ..POLICY
        },
    )
}

proptest! {
    #[test]
    fn every_promise_holds(policy in policies(), story in stories()) {
        let mut machine = ServiceMachine::new(policy);
        let mut now_ms = 0;
        let mut wanted = false;
        let mut ours = false;
        let mut backoff_until = 0;
        let mut restarts: Vec<u64> = Vec::new();
        for (gap_ms, event) in story {
            now_ms += gap_ms;
            let before = machine.state();
            let was_adopted = machine.is_adopted();
            let mut out = Vec::new();
            machine.step(event, now_ms, &mut out);
            match event {
                ServiceEvent::Wanted => {
                    wanted = true;
                    restarts.clear();
                }
                ServiceEvent::Unwanted => wanted = false,
                _ => {}
            }
            if out.contains(&ServiceEffect::Start) {
                prop_assert!(wanted, "a start nobody wanted, after {event:?}");
                if event == ServiceEvent::Tick {
                    prop_assert_eq!(before, ServiceMachineState::Backoff);
                    prop_assert!(now_ms >= backoff_until, "sooner than its backoff");
                    restarts.push(now_ms);
                }
                ours = true;
            }
            if out.contains(&ServiceEffect::Kill) {
                prop_assert!(ours && !was_adopted, "killed what is not ours");
            }
            if machine.state() == ServiceMachineState::Backoff && before != ServiceMachineState::Backoff {
                backoff_until = now_ms + FIRST_WAIT_MS;
                prop_assert!(machine.due_ms() >= Some(backoff_until));
            }
            let recent = restarts.iter().filter(|at| now_ms - **at < policy.window_ms);
            prop_assert!(recent.count() <= policy.restarts_max as usize, "beyond the intensity");
            prop_assert!(out.len() <= 1, "{out:?}");
        }
    }

    #[test]
    fn a_service_that_only_fails_comes_to_rest(policy in policies()) {
        let policy = ServicePolicy { has_health_check: false, ..policy };
        let mut machine = ServiceMachine::new(policy);
        let mut now_ms = 0;
        let mut starts = 0;
        let mut out = Vec::new();
        machine.step(ServiceEvent::Wanted, now_ms, &mut out);
        while out.contains(&ServiceEffect::Start) {
            starts += 1;
            prop_assert!(starts <= policy.restarts_max + 1, "restarts do not end");
            out.clear();
            machine.step(ServiceEvent::Started, now_ms, &mut out);
            machine.step(ServiceEvent::Ended { success: false }, now_ms, &mut out);
            if let Some(due_ms) = machine.due_ms() {
                now_ms = due_ms;
                machine.step(ServiceEvent::Tick, now_ms, &mut out);
            }
        }
        prop_assert_eq!(machine.state(), ServiceMachineState::Failed);
    }
}
