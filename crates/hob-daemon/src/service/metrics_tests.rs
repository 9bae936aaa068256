//! Samples over time.

use super::*;

fn at(ms: u64) -> SampleTime {
    SampleTime {
        wall_ms: 1_000_000 + ms,
        monotonic_ms: ms,
    }
}

fn usage(cpu_ms: u64) -> ProcessUsage {
    ProcessUsage {
        processes: 2,
        cpu_ms,
        memory_bytes: 4_096,
    }
}

#[test]
fn processor_time_is_counted_between_two_samples_of_one_process() {
    let history = SampleHistory::default();
    history.add("web", 1, at(0), usage(500));
    history.add("web", 1, at(10_000), usage(5_500));
    // Another process begins again, and one whose time shrank used nothing.
    history.add("web", 2, at(20_000), usage(90));
    history.add("web", 2, at(20_000), usage(90));
    history.add("web", 2, at(30_000), usage(80));
    let samples = history.of("web");
    let cpu: Vec<Option<u64>> = samples.iter().map(|it| it.cpu_millis).collect();
    assert_eq!(cpu, [None, Some(500), None, None, Some(0)]);
    assert_eq!(samples[0].at, 1_000_000);
    assert_eq!(history.of("other"), []);
}

#[test]
fn a_history_is_bounded_and_goes_with_its_service() {
    let history = SampleHistory::default();
    for number in 0..SAMPLES_MAX as u64 + 5 {
        history.add("web", 1, at(number * 10_000), usage(0));
    }
    let samples = history.of("web");
    assert_eq!(samples.len(), SAMPLES_MAX);
    assert_eq!(samples[0].at, 1_000_000 + 50_000);
    history.retain(|name| name != "web");
    assert_eq!(history.of("web"), []);
}

#[test]
fn a_request_takes_a_sample_only_if_the_last_one_is_old() {
    let history = SampleHistory::default();
    assert!(history.is_due("web", 1, 0));
    history.add("web", 1, at(0), usage(0));
    assert!(!history.is_due("web", 1, FRESH_MS - 1));
    assert!(history.is_due("web", 1, FRESH_MS));
    assert!(history.is_due("web", 2, 1), "another process");
}
