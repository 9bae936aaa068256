//! Reading the folder of Archy's program.

use super::IMPORTER;
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;
use serde_json::json;
use std::path::Path;

const KEY: &str = "AIza-test-0123456789";

fn read(root: &Path) -> ImportPlan {
    IMPORTER.read(&SourceFolder::open(root).unwrap())
}

fn reason<'p>(plan: &'p ImportPlan, what: &str) -> &'p str {
    let found = plan.skipped.iter().find(|item| item.what.contains(what));
    &found
        .unwrap_or_else(|| panic!("{what:?} in {:#?}", plan.skipped))
        .reason
}

#[test]
fn keys_the_model_and_settings_of_both_files() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    write(
        ".env",
        &format!(
            "AI_PROVIDER=Gemini\nAI_API_KEY={KEY}\nAI_MODEL=gemini-2.5-flash\nARCHY_CAPTURE_LINES=250\nARCHY_POLL_INTERVAL=many\nARCHY_SOCKET=/tmp/archy.sock\nARCHY_TERMINAL=foot\nOTHER=1\n"
        ),
    );
    // The first file wins.
    write(
        ".api",
        &format!("GEMINI_API_KEY={KEY}\nAI_MODEL=another\nARCHY_TMUX_SESSION=mine\n"),
    );
    write("learnings.db", "x");
    let plan = read(root.path());
    assert_eq!(plan.keys.len(), 1);
    assert_eq!(plan.keys[0].provider, "gemini");
    assert_eq!(
        plan.default_model.as_deref(),
        Some("gemini/gemini-2.5-flash")
    );
    let settings: Vec<_> = plan
        .settings
        .iter()
        .map(|it| (it.key.as_str(), it.value.clone()))
        .collect();
    assert_eq!(
        settings,
        [
            ("archy.capture_lines", json!(250)),
            ("archy.session", json!("mine"))
        ]
    );
    for (what, words) in [
        (
            ".env: ARCHY_SOCKET",
            "hob config set listen.archy /tmp/archy.sock",
        ),
        (".env: ARCHY_TERMINAL", "only a person"),
        (".env: ARCHY_POLL_INTERVAL", "many"),
        (".env: OTHER", "no such setting"),
        ("learnings.db", "no memory"),
        ("conversations", "keeps none"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
    let shown = format!("{plan:?}{}", serde_json::to_string(&plan).unwrap());
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn a_key_for_another_address_stays_where_it_is() {
    let root = tempfile::tempdir().unwrap();
    let text = format!(
        "OPENAI_HOST=http://10.0.0.5/v1\nOPENAI_API_KEY={KEY}\nAI_PROVIDER=openai\nAI_MODEL=x\n"
    );
    std::fs::write(root.path().join(".env"), text).unwrap();
    let plan = read(root.path());
    assert!(plan.keys.is_empty() && plan.default_model.is_none());
    assert!(reason(&plan, "OPENAI_API_KEY").contains("address of its own"));
    assert!(reason(&plan, "the model x").contains("address of its own"));
}
