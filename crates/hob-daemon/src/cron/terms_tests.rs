//! What may be said of a job, and what it becomes.

use super::*;
use hob_wire::rooms::cron::{AddJobParams, Missed, Notify};

fn said(schedule: &str) -> AddJobParams {
    AddJobParams {
        name: "daily".to_owned(),
        schedule: schedule.to_owned(),
        ..AddJobParams::default()
    }
}

fn made(params: AddJobParams) -> Result<JobTerms, WireError> {
    let mut terms = blank();
    change(&mut terms, params.into(), true)?;
    read(&terms, &TimeZone::UTC, 0)?;
    Ok(terms)
}

fn task(schedule: &str) -> AddJobParams {
    AddJobParams {
        task: Some("look".to_owned()),
        ..said(schedule)
    }
}

#[test]
fn exactly_one_kind_of_work_is_named() {
    assert!(matches!(made(task("@daily")).unwrap().work, Work::Agent(_)));
    let refused = made(said("@daily")).unwrap_err();
    assert!(refused.message.contains("exactly one"));
    let both = AddJobParams {
        command: Some("true".to_owned()),
        ..task("@daily")
    };
    made(both).unwrap_err();
    let mixed = AddJobParams {
        command: Some("true".to_owned()),
        model: Some("m".to_owned()),
        ..said("@daily")
    };
    assert!(made(mixed).unwrap_err().message.contains("`model`"));
}

#[test]
fn wrong_words_are_refused_with_a_sentence() {
    let cases = [
        AddJobParams {
            name: "Über".to_owned(),
            ..task("@daily")
        },
        AddJobParams {
            name: String::new(),
            ..task("@daily")
        },
        AddJobParams {
            zone: Some("Mars/Base".to_owned()),
            ..task("@daily")
        },
        AddJobParams {
            active_hours: Some("8 to 9".to_owned()),
            ..task("@daily")
        },
        AddJobParams {
            window_ms: Some(0),
            ..task("@daily")
        },
        AddJobParams {
            jitter_ms: Some(u64::MAX),
            ..task("@daily")
        },
        AddJobParams {
            workspace: Some("here".to_owned()),
            ..task("@daily")
        },
        AddJobParams {
            task: Some("  ".to_owned()),
            ..said("@daily")
        },
        task("now and then"),
    ];
    for case in cases {
        let refused = made(case.clone()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{case:?}");
        assert!(refused.message.ends_with('.'), "{}", refused.message);
    }
}

#[test]
fn a_change_keeps_what_it_does_not_name_and_an_empty_text_goes_back() {
    let mut terms = made(AddJobParams {
        zone: Some("Europe/Berlin".to_owned()),
        missed: Some(Missed::All),
        model: Some("a/b".to_owned()),
        notify: Some(Notify {
            session_key: "chat:main".to_owned(),
            failures_only: true,
        }),
        ..task("@daily")
    })
    .unwrap();
    let update = UpdateJobParams {
        schedule: Some("every 10m".to_owned()),
        zone: Some(String::new()),
        task: Some("look again".to_owned()),
        ..UpdateJobParams::default()
    };
    change(&mut terms, update, false).unwrap();
    assert_eq!(terms.schedule, "every 10m");
    assert_eq!((terms.zone.as_deref(), terms.missed), (None, Missed::All));
    let Work::Agent(agent) = &terms.work else {
        panic!("{terms:?}")
    };
    assert_eq!(
        (agent.task.as_str(), agent.model.as_deref()),
        ("look again", Some("a/b"))
    );
    let quiet = UpdateJobParams {
        notify: Some(Notify {
            session_key: String::new(),
            failures_only: false,
        }),
        command: Some("true".to_owned()),
        ..UpdateJobParams::default()
    };
    change(&mut terms, quiet, false).unwrap();
    assert_eq!(terms.notify, None);
    assert!(matches!(terms.work, Work::Command(_)));
}

#[test]
fn calls_wait_for_each_other_unless_told() {
    assert_eq!(made(task("webhook")).unwrap().overlap, Overlap::Queue);
    assert_eq!(made(task("@daily")).unwrap().overlap, Overlap::Skip);
    let told = AddJobParams {
        overlap: Some(Overlap::Replace),
        ..task("webhook")
    };
    assert_eq!(made(told).unwrap().overlap, Overlap::Replace);
}

#[test]
fn what_would_never_be_due_is_refused() {
    let ruled = |terms: &JobTerms| read(terms, &TimeZone::UTC, 0).unwrap();
    let past = made(task("at 2020-01-01T00:00")).unwrap();
    let now = 1_800_000_000_000;
    assert!(
        check_ahead(&ruled(&past), now)
            .unwrap_err()
            .message
            .contains("passed")
    );
    let never = made(AddJobParams {
        active_hours: Some("08:00-09:00".to_owned()),
        ..task("0 3 * * *")
    });
    assert!(
        check_ahead(&ruled(&never.unwrap()), now)
            .unwrap_err()
            .message
            .contains("never")
    );
    check_ahead(&ruled(&made(task("webhook")).unwrap()), now).unwrap();
}
