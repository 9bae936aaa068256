//! Arguments and contexts of tool calls.

use super::*;

fn spec(name: &str, properties: &Value) -> ToolSpec {
    serde_json::from_value(json!({
        "name": name, "description": "", "parameters": {"type": "object", "properties": properties},
        "tier": "read", "effect": "pure", "approval": "",
    }))
    .expect("a spec")
}

fn fields(of: Value) -> Map<String, Value> {
    match of {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

#[test]
fn the_timeout_of_a_command_has_hobs_name() {
    let exec = spec("exec", &json!({"command": {}, "timeoutMs": {}}));
    let none = ToolContext::default();
    let args = fields(json!({"command": "true", "timeout": 500}));
    let args = translate_args(&exec, args, &none);
    assert_eq!(
        Value::Object(args),
        json!({"command": "true", "timeoutMs": 500})
    );
    // Another tool's argument of that name is its own.
    let other = spec("mill_grind", &json!({"timeout": {}}));
    let args = translate_args(&other, fields(json!({"timeout": 1})), &none);
    assert_eq!(Value::Object(args), json!({"timeout": 1}));
}

#[test]
fn a_session_among_the_arguments_is_dropped_where_the_tool_has_none() {
    let context = ToolContext {
        session_key: Some("mcp:default".to_owned()),
        ..ToolContext::default()
    };
    let args = || fields(json!({"sessionKey": "mcp:default"}));
    let read = spec("read", &json!({"path": {}}));
    assert!(translate_args(&read, args(), &context).is_empty());
    let history = spec("sessions_history", &json!({"sessionKey": {}}));
    assert_eq!(translate_args(&history, args(), &context), args());
}

#[test]
fn a_context_names_its_folder_or_gets_the_default() {
    let read = |context: Value| {
        translate_context(
            VargosParams::new(fields(context)),
            Some("/default".to_owned()),
        )
    };
    let folder = |context: Value| read(context).expect("fine").workspace;
    assert_eq!(folder(json!({"workingDir": "/a"})).as_deref(), Some("/a"));
    assert_eq!(
        folder(json!({"sessionKey": "a"})).as_deref(),
        Some("/default")
    );
    assert_eq!(
        folder(json!({"env": {}, "abortSignal": {}})).as_deref(),
        Some("/default")
    );
    let env = read(json!({"env": {"A": "1"}})).expect_err("refused");
    assert!(env.message.contains("`context.env`"), "{}", env.message);
    assert!(read(json!({"colour": 1})).is_err());
}
