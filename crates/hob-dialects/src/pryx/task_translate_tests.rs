//! Tasks to jobs and back.

use super::*;
use hob_wire::rooms::cron::{AgentWork, JobDefinition};

fn fields(json: &str) -> PryxTaskFields {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_task_becomes_a_job_that_asks_the_agent() {
    let job = fields(
        r#"{"name":"Morning News!","cron_expression":"@every 10m","task_type":"reminder",
            "payload":"What is new?","timezone":"Europe/Berlin","enabled":false}"#,
    );
    let job = job.into_job().unwrap();
    assert_eq!(
        (job.name.as_str(), job.schedule.as_str()),
        ("morning-news", "@every 10m")
    );
    assert_eq!(job.task.as_deref(), Some("What is new?"));
    assert_eq!(job.description.as_deref(), Some("Morning News!"));
    assert_eq!(job.zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(job.enabled, Some(false));
    assert!(job.command.is_none() && job.grants.is_none());
}

#[test]
fn what_hob_cannot_do_is_refused_by_name() {
    for absent in [
        r#"{"task_type":"webhook"}"#,
        r#"{"task_type":"workflow"}"#,
        r#"{"cron_expression":"event:build.done"}"#,
    ] {
        let refused = fields(absent).into_change("x".to_owned()).unwrap_err();
        assert!(matches!(refused, TaskRefusal::Absent(_)), "{absent}");
    }
    for wrong in [
        r#"{"task_type":"magic"}"#,
        r#"{"cron_expression":"@daily","payload":"x"}"#,
        r#"{"name":"!!!","cron_expression":"@daily","payload":"x"}"#,
        r#"{"name":"x","payload":"x"}"#,
        r#"{"name":"x","cron_expression":"@daily"}"#,
    ] {
        let refused = fields(wrong).into_job().unwrap_err();
        assert!(matches!(refused, TaskRefusal::Wrong(_)), "{wrong}");
    }
}

#[test]
fn a_change_names_only_what_it_changes() {
    let change = fields(r#"{"payload":"Again"}"#).into_change("7".to_owned());
    let expected = CronUpdateParams {
        id: "7".to_owned(),
        task: Some("Again".to_owned()),
        ..CronUpdateParams::default()
    };
    assert_eq!(change.unwrap(), expected);
}

#[test]
fn a_name_is_short_and_plain() {
    assert_eq!(job_name("--Ünder  Score_9--").unwrap(), "nder-score-9");
    assert_eq!(job_name(&"a b".repeat(100)).unwrap().len(), NAME_BYTES_MAX);
    assert_eq!(job_name("ü"), None);
}

#[test]
fn a_job_is_shown_as_a_task() {
    let job = CronJob {
        id: "1".to_owned(),
        terms: JobDefinition {
            name: "news".to_owned(),
            schedule: "@daily".to_owned(),
            work: JobWork::Agent(AgentWork {
                task: "Go".to_owned(),
                ..AgentWork::default()
            }),
            ..JobDefinition::default()
        },
        enabled: true,
        next: vec![1_000],
        about: String::new(),
        last: None,
        active: 0,
        failures: 0,
        problem: None,
        created_at: 0,
        updated_at: 0,
    };
    let task = task_json(&job);
    assert_eq!(task["cron_expression"], "@daily");
    assert_eq!(task["payload"], "Go");
    assert_eq!(task["next_run_at"], "1970-01-01T00:00:01Z");
    assert_eq!(task["last_run_at"], Value::Null);
}
