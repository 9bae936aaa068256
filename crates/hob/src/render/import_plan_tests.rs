//! A plan and its report as people see them, at 80 columns.

use super::{is_empty, plan, report};
use crate::commands::import::{ImportCount, ImportReport};
use crate::render::ScreenStyle;
use crate::render::text::width;
use hob_dialects::import_builder::{PlanBuilder, SessionDraft, SourceJob};
use hob_dialects::import_plan::{ImportedLoop, SkippedItem};
use hob_wire::Role;
use hob_wire::loop_config::{LoopChange, MonitorConfig};
use serde_json::json;

fn screen() -> ScreenStyle {
    ScreenStyle::plain(0)
}

fn whole() -> PlanBuilder {
    let mut builder = PlanBuilder::new("other", "Other", "/home/me/.other".to_owned());
    for number in 0..12 {
        let mut session = SessionDraft::new(&format!("cli:{number}"));
        session.label = format!(
            "Talk {number}\u{1b}[2J of many things {}",
            "long ".repeat(30)
        );
        session.add(Role::User, "hello", "1");
        session.add(Role::Assistant, "Hello.", "2");
        builder.add_session(session);
    }
    builder.add_job(SourceJob {
        name: "Daily news".to_owned(),
        schedule: "0 9 * * *".to_owned(),
        zone: Some("UTC".to_owned()),
        task: "Summarise what happened,\nin ten lines at most, and say where each of them is from."
            .to_owned(),
        enabled: true,
        ..SourceJob::default()
    });
    builder.add_loop(ImportedLoop {
        name: "other".to_owned(),
        config: LoopChange {
            user: Some("What changed in the log?".to_owned()),
            monitor: Some(Some(MonitorConfig {
                command: "tail -n 20 app.log".to_owned(),
                interval_ms: None,
                network: hob_wire::NetworkGrant::default(),
                timeout_ms: None,
            })),
            ..LoopChange::default()
        },
        persistent: String::new(),
        working: String::new(),
    });
    builder.add_setting("a.lines", json!(50));
    builder.add_setting("a.servers", json!(["127.0.0.1:12345"]));
    builder.set_default_model("anthropic", "claude");
    builder.add_key("anthropic", "sk-test-0123456789", "config.json");
    builder.add_key("openai", "sk-test-0123456789", "config.json");
    builder.set_persona("SOUL.md", "Be kind.".to_owned());
    builder.skip(
        "sessions/x.jsonl",
        "line 3 is damaged: expected `,` or `}` at line 1 column 17",
    );
    builder.skip("channels\u{202e}", "hob has no channels yet");
    builder
}

#[test]
fn a_plan_says_what_comes_and_what_does_not() {
    let lines = plan(&whole().build(), &screen());
    for line in &lines {
        assert!(width(line) <= 80, "{line:?}");
        assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
    }
    let text = lines.join("\n");
    assert!(!text.contains("sk-test"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_plan_of_nothing_says_so() {
    let builder = PlanBuilder::new("other", "Other", "/x".to_owned());
    let empty = builder.build();
    assert!(is_empty(&empty));
    assert_eq!(
        plan(&empty, &screen()),
        ["Other in /x", "There is nothing to import."]
    );
    assert!(!is_empty(&whole().build()));
}

#[test]
fn a_report_counts_and_says_what_to_do_next() {
    let done = ImportReport {
        from: "other",
        sessions: ImportCount {
            added: 12,
            present: 1,
        },
        messages: ImportCount {
            added: 24,
            present: 3,
        },
        jobs: ImportCount {
            added: 1,
            present: 0,
        },
        disabled_jobs: vec!["other-daily-news".to_owned()],
        keys: ImportCount {
            added: 0,
            present: 2,
        },
        skipped: vec![SkippedItem {
            what: "SOUL.md".to_owned(),
            reason: "hob has a persona already, which stays: /home/me/persona.md".to_owned(),
        }],
        ..ImportReport::default()
    };
    insta::assert_snapshot!(report(&done, &screen()).join("\n"));
    let nothing = report(&ImportReport::default(), &screen());
    assert_eq!(nothing, ["Nothing new was imported."]);
}
