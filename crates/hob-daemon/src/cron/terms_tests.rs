//! Checks of job definitions, and changes to them.

use super::*;
use hob_wire::rooms::cron::{CronAddParams, MissedPolicy, NotifyTarget};

fn params(schedule: &str) -> CronAddParams {
    CronAddParams {
        name: "daily".to_owned(),
        schedule: schedule.to_owned(),
        ..CronAddParams::default()
    }
}

fn define(params: CronAddParams) -> Result<JobDefinition, WireError> {
    let mut terms = blank();
    apply_change(&mut terms, params.into(), true)?;
    parse_timing(&terms, &TimeZone::UTC, 0)?;
    Ok(terms)
}

fn task(schedule: &str) -> CronAddParams {
    CronAddParams {
        task: Some("look".to_owned()),
        ..params(schedule)
    }
}

#[test]
fn exactly_one_kind_of_work_is_named() {
    assert!(matches!(
        define(task("@daily")).unwrap().work,
        JobWork::Agent(_)
    ));
    let refused = define(params("@daily")).unwrap_err();
    assert!(refused.message.contains("exactly one"));
    let both = CronAddParams {
        command: Some("true".to_owned()),
        ..task("@daily")
    };
    define(both).unwrap_err();
    let mixed = CronAddParams {
        command: Some("true".to_owned()),
        model: Some("m".to_owned()),
        ..params("@daily")
    };
    assert!(define(mixed).unwrap_err().message.contains("`model`"));
}

#[test]
fn wrong_words_are_refused_with_a_sentence() {
    let cases = [
        CronAddParams {
            name: "Über".to_owned(),
            ..task("@daily")
        },
        CronAddParams {
            name: String::new(),
            ..task("@daily")
        },
        CronAddParams {
            zone: Some("Mars/Base".to_owned()),
            ..task("@daily")
        },
        CronAddParams {
            active_hours: Some("8 to 9".to_owned()),
            ..task("@daily")
        },
        CronAddParams {
            window_ms: Some(0),
            ..task("@daily")
        },
        CronAddParams {
            jitter_ms: Some(u64::MAX),
            ..task("@daily")
        },
        CronAddParams {
            workspace: Some("here".to_owned()),
            ..task("@daily")
        },
        CronAddParams {
            task: Some("  ".to_owned()),
            ..params("@daily")
        },
        task("now and then"),
    ];
    for case in cases {
        let refused = define(case.clone()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{case:?}");
        assert!(refused.message.ends_with('.'), "{}", refused.message);
    }
}

#[test]
fn a_change_keeps_what_it_does_not_name_and_an_empty_text_goes_back() {
    let mut terms = define(CronAddParams {
        zone: Some("Europe/Berlin".to_owned()),
        missed: Some(MissedPolicy::All),
        model: Some("a/b".to_owned()),
        notify: Some(NotifyTarget {
            session_key: "chat:main".to_owned(),
            failures_only: true,
        }),
        ..task("@daily")
    })
    .unwrap();
    let update = CronUpdateParams {
        schedule: Some("every 10m".to_owned()),
        zone: Some(String::new()),
        task: Some("look again".to_owned()),
        ..CronUpdateParams::default()
    };
    apply_change(&mut terms, update, false).unwrap();
    assert_eq!(terms.schedule, "every 10m");
    assert_eq!(
        (terms.zone.as_deref(), terms.missed),
        (None, MissedPolicy::All)
    );
    let JobWork::Agent(agent) = &terms.work else {
        panic!("{terms:?}")
    };
    assert_eq!(
        (agent.task.as_str(), agent.model.as_deref()),
        ("look again", Some("a/b"))
    );
    let quiet = CronUpdateParams {
        notify: Some(NotifyTarget {
            session_key: String::new(),
            failures_only: false,
        }),
        command: Some("true".to_owned()),
        ..CronUpdateParams::default()
    };
    apply_change(&mut terms, quiet, false).unwrap();
    assert_eq!(terms.notify, None);
    assert!(matches!(terms.work, JobWork::Command(_)));
}

#[test]
fn calls_wait_for_each_other_unless_told() {
    assert_eq!(
        define(task("webhook")).unwrap().overlap,
        OverlapPolicy::Queue
    );
    assert_eq!(define(task("@daily")).unwrap().overlap, OverlapPolicy::Skip);
    let replace = CronAddParams {
        overlap: Some(OverlapPolicy::Replace),
        ..task("webhook")
    };
    assert_eq!(define(replace).unwrap().overlap, OverlapPolicy::Replace);
}

#[test]
fn what_would_never_be_due_is_refused() {
    let timing = |terms: &JobDefinition| parse_timing(terms, &TimeZone::UTC, 0).unwrap();
    let past = define(task("at 2020-01-01T00:00")).unwrap();
    let now = 1_800_000_000_000;
    assert!(
        check_future(&timing(&past), now)
            .unwrap_err()
            .message
            .contains("passed")
    );
    let never = define(CronAddParams {
        active_hours: Some("08:00-09:00".to_owned()),
        ..task("0 3 * * *")
    });
    assert!(
        check_future(&timing(&never.unwrap()), now)
            .unwrap_err()
            .message
            .contains("never")
    );
    check_future(&timing(&define(task("webhook")).unwrap()), now).unwrap();
}
