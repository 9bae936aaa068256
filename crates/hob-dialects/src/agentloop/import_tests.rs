//! Reading AgentLoop's folder.

use super::{IMPORTER, server_address};
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;
use serde_json::json;

fn reason<'p>(plan: &'p ImportPlan, what: &str) -> &'p str {
    let found = plan.skipped.iter().find(|item| item.what.contains(what));
    &found
        .unwrap_or_else(|| panic!("{what:?} in {:#?}", plan.skipped))
        .reason
}

#[test]
fn the_environment_file_and_the_prompt_files() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    write(
        "env",
        "export AGENTLOOP_MLX_URL=http://127.0.0.1:12345/v1\nAGENTLOOP_SYSTEM_PROMPT=\"Be kind.\"\nAGENTLOOP_PORT=7777\nAGENTLOOP_HF_TOKEN=hf_secret_token\nOPENAI_API_KEY=sk-test-0123456789\nAGENTLOOP_THEME=forge\nodd line\n",
    );
    std::fs::create_dir(root.path().join("agents")).unwrap();
    write(
        "agents/code.review.md",
        "---\nname: code.review\n---\nReview.",
    );
    write("workspace.md", "x");
    write("odd", "x");
    let plan = IMPORTER.read(&SourceFolder::open(root.path()).unwrap());
    assert_eq!(plan.settings.len(), 1);
    assert_eq!(plan.settings[0].key, "llm.servers");
    assert_eq!(plan.settings[0].value, json!(["127.0.0.1:12345"]));
    assert_eq!(plan.persona.as_ref().unwrap().text, "Be kind.");
    assert_eq!(plan.keys[0].provider, "openai");
    for (what, words) in [
        ("env: lines 7", "not understood"),
        ("env: AGENTLOOP_PORT", "grant"),
        ("env: AGENTLOOP_HF_TOKEN", "no key"),
        ("env: AGENTLOOP_THEME", "no such setting"),
        ("agents/code.review.md", "no other named agents"),
        ("workspace.md", "AGENTS.md"),
        ("sessions", "keeps none"),
        ("odd", "does not know"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
    let shown = format!("{plan:?}{}", serde_json::to_string(&plan).unwrap());
    assert!(
        !shown.contains("hf_secret") && !shown.contains("sk-test"),
        "{shown}"
    );
}

#[test]
fn only_a_server_of_this_machine_is_taken() {
    assert_eq!(
        server_address("http://localhost:1/x").as_deref(),
        Some("localhost:1")
    );
    for other in [
        "http://10.0.0.1:1",
        "https://127.0.0.1:1",
        "127.0.0.1",
        "http://127.0.0.1:x",
        "",
    ] {
        assert_eq!(server_address(other), None, "{other}");
    }
}
