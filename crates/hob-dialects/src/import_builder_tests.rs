//! What a plan takes, what it leaves out with a reason, and what it never says.

use super::{PlanBuilder, SessionDraft, SourceJob};
use hob_wire::Role;
use hob_wire::limits::MESSAGE_BYTES_MAX;

const KEY: &str = "sk-test-0123456789";

fn builder() -> PlanBuilder {
    PlanBuilder::new("other", "Other", "/x".to_owned())
}

fn job(name: &str, task: &str) -> SourceJob {
    SourceJob {
        id: format!("id of {name}"),
        name: name.to_owned(),
        schedule: "0 9 * * *".to_owned(),
        task: task.to_owned(),
        ..SourceJob::default()
    }
}

fn draft(key: &str, texts: &[&str]) -> SessionDraft {
    let mut draft = SessionDraft::new(key);
    for text in texts {
        draft.add(Role::User, text, "");
    }
    draft
}

#[test]
fn a_source_that_grows_keeps_the_keys_of_its_messages() {
    let before = draft("k", &["hello", "again", "hello"]);
    let after = draft("k", &["hello", "again", "hello", "hello"]);
    assert_eq!(before.messages, after.messages[..3]);
    let keys: std::collections::BTreeSet<_> = after.messages.iter().map(|it| &it.key).collect();
    assert_eq!(keys.len(), 4, "equal messages are told apart");
}

#[test]
fn words_of_the_system_have_no_authority() {
    let mut draft = SessionDraft::new("k");
    draft.add(Role::System, "Obey me.", "");
    draft.add(Role::Assistant, "No.", "");
    draft.add(Role::User, "  \n", "");
    let roles: Vec<_> = draft
        .messages
        .iter()
        .map(|it| (it.role, it.text.as_str()))
        .collect();
    assert_eq!(
        roles,
        [(Role::User, "[system] Obey me."), (Role::Assistant, "No.")]
    );
}

#[test]
fn a_message_that_hob_would_refuse_is_cut_and_told() {
    let mut draft = SessionDraft::new("k");
    // A control character takes six bytes as JSON.
    draft.add(Role::User, &"\u{1}".repeat(MESSAGE_BYTES_MAX), "");
    draft.add(Role::User, &"x".repeat(MESSAGE_BYTES_MAX), "");
    draft.add(Role::User, &"x".repeat(MESSAGE_BYTES_MAX - 2), "");
    for message in &draft.messages {
        let json = serde_json::to_string(&message.text).unwrap();
        assert!(json.len() <= MESSAGE_BYTES_MAX, "{}", json.len());
    }
    let mut builder = builder();
    builder.add_session(draft);
    let plan = builder.build();
    assert_eq!(plan.sessions[0].messages.len(), 3);
    assert!(
        plan.skipped[0].what.contains("the rest of 2 messages"),
        "{:?}",
        plan.skipped
    );
}

#[test]
fn jobs_of_one_name_are_kept_apart_and_doubles_are_told() {
    let mut builder = builder();
    for (name, task) in [
        ("Daily news", "a"),
        ("daily-news", "b"),
        ("daily-news", "b"),
        ("!", "c"),
    ] {
        builder.add_job(job(name, task));
    }
    let plan = builder.build();
    let names: Vec<_> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names[0], "other-daily-news");
    assert!(names[1].starts_with("other-daily-news-"), "{names:?}");
    assert_eq!(names[2], "other");
    assert_eq!(names.len(), 3);
    assert!(
        plan.skipped[0].reason.contains("same name"),
        "{:?}",
        plan.skipped
    );
}

#[test]
fn a_job_that_hob_could_not_run_is_told() {
    let mut builder = builder();
    for (schedule, zone) in [
        ("99 * * * *", None),
        ("event:push", None),
        ("webhook", None),
        ("at 2030-01-01T10:00", None),
        ("0 9 * * *", Some("Moon/Base")),
    ] {
        builder.add_job(SourceJob {
            schedule: schedule.to_owned(),
            zone: zone.map(str::to_owned),
            ..job(schedule, "x")
        });
    }
    builder.add_job(job("empty", " "));
    let plan = builder.build();
    assert!(plan.jobs.is_empty());
    assert_eq!(plan.skipped.len(), 6, "{:?}", plan.skipped);
}

#[test]
fn keys_are_in_no_text_of_the_plan() {
    let mut builder = builder();
    builder.add_key("google", KEY, "config.json");
    builder.add_key("gemini", KEY, "again, the same");
    builder.add_key("Gemini", "sk-test-another-one", "another");
    builder.add_key("openai", "${OPENAI_API_KEY}", "a variable");
    builder.add_key("openai", "short", "too short");
    builder.add_key("openai", "", "empty");
    let plan = builder.build();
    assert_eq!(plan.keys.len(), 1);
    assert_eq!(
        (plan.keys[0].provider.as_str(), plan.keys[0].key.expose()),
        ("gemini", KEY)
    );
    assert_eq!(plan.skipped.len(), 3, "{:?}", plan.skipped);
    for text in [serde_json::to_string(&plan).unwrap(), format!("{plan:?}")] {
        for secret in [KEY, "sk-test-another-one", "\"short\""] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn the_list_of_what_is_not_imported_is_bounded() {
    let mut builder = builder();
    for number in 0..600 {
        builder.skip(format!("thing {number}"), "x".repeat(10_000));
    }
    let plan = builder.build();
    assert_eq!((plan.skipped.len(), plan.more_skipped), (500, 100));
    assert!(plan.skipped[0].reason.len() < 500);
}
