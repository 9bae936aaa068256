//! Params of runs.

use super::*;
use hob_wire::rooms::agent::ThinkingLevel;

fn read(fields: Value) -> Result<(AgentRunParams, bool), WireError> {
    let Value::Object(mut fields) = fields else {
        panic!("an object");
    };
    fields.insert("sessionKey".to_owned(), json!("cli:chat"));
    fields.insert("task".to_owned(), json!("dig"));
    run_params(VargosParams::new(fields), Some("/default".to_owned()))
}

#[test]
fn each_parameter_has_its_effect() {
    let (plain, is_verbose) = read(json!({})).expect("fine");
    assert!(plain.wait && !is_verbose);
    assert_eq!(plain.workspace.as_deref(), Some("/default"));
    assert_eq!(
        (plain.model, plain.thinking, plain.system),
        (None, None, None)
    );
    let (full, is_verbose) = read(json!({
        "provider": "sim", "model": "one", "workspaceDir": "/work", "thinkingLevel": "high",
        "verbose": true, "agentId": "main", "channel": null,
        "bootstrapOverrides": {"SOUL.md": "Be a pirate."},
    }))
    .expect("fine");
    assert!(is_verbose);
    assert_eq!(full.model.as_deref(), Some("sim/one"));
    assert_eq!(full.workspace.as_deref(), Some("/work"));
    assert_eq!(full.thinking, Some(ThinkingLevel::High));
    let system = full.system.expect("a layer");
    assert!(system.contains("SOUL.md") && system.contains("Be a pirate."));
}

#[test]
fn a_model_that_names_its_provider_is_not_named_twice() {
    let name = |provider, model: &str| model_name(provider, Some(model.to_owned()));
    assert_eq!(name(Some("sim"), "sim/one"), Ok(Some("sim/one".to_owned())));
    assert_eq!(
        name(Some("openrouter"), "meta/llama"),
        Ok(Some("openrouter/meta/llama".to_owned()))
    );
    assert_eq!(name(None, "one"), Ok(Some("one".to_owned())));
}

#[test]
fn what_hob_does_not_have_is_refused_by_its_name() {
    for (params, named) in [
        (json!({"agentId": "researcher"}), "agentId"),
        (json!({"provider": "sim"}), "provider"),
        (json!({"thinkingLevel": "galactic"}), "galactic"),
        (json!({"verbose": 3}), "verbose"),
        (
            json!({"bootstrapOverrides": {"SOUL.md": 1}}),
            "bootstrapOverrides",
        ),
        (
            json!({"bootstrapOverrides": {"SOUL.md": "x".repeat(20_001)}}),
            "bootstrapOverrides",
        ),
        (json!({"retrigger": true}), "retrigger"),
    ] {
        let error = read(params).expect_err(named);
        assert_eq!(error.code, ErrorCode::InvalidParams);
        assert!(error.message.contains(named), "{}", error.message);
    }
}

#[test]
fn a_foreign_run_id_is_no_run() {
    let params = |fields: Value| VargosParams::new(fields.as_object().expect("one").clone());
    let foreign = selector(params(json!({"runId": "run-1700000000000-ab12c"})));
    assert!(foreign.expect("no fault").is_none());
    let session = selector(params(json!({"sessionKey": "a"}))).expect("no fault");
    assert_eq!(session.and_then(|it| it.session_key).as_deref(), Some("a"));
    assert!(selector(params(json!({"colour": "red"}))).is_err());
}
