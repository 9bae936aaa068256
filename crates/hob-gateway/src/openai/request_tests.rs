//! Request bodies: accepted fields, and errors with the name of the field.

use super::*;
use hob_wire::rooms::agent::ToolChoice;
use serde_json::json;

fn body(more: &Value) -> Value {
    let mut body = json!({ "model": "hob", "messages": [{ "role": "user", "content": "Hi" }] });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

fn read(more: &Value) -> CompletionRequest {
    CompletionRequest::parse(body(more)).unwrap()
}

#[test]
fn the_least_request_takes_the_defaults() {
    let ask = read(&json!({}));
    assert_eq!(ask.model, "hob");
    assert_eq!(ask.chosen_model(), None);
    assert!(!ask.stream && !ask.include_usage && !ask.single_tool_call);
    assert_eq!(ask.options, SamplingParams::default());
    assert_eq!((ask.session, ask.schema), (None, None));
}

#[test]
fn sampling_and_format_are_taken() {
    let ask = read(&json!({
        "model": "sim/one", "temperature": 0, "top_p": 0.5, "max_tokens": 9,
        "max_completion_tokens": 7, "stop": "END", "stream": true,
        "stream_options": { "include_usage": true }, "metadata": { "session": "chat:main" },
        "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "array" } } },
        "parallel_tool_calls": false,
    }));
    let options = SamplingParams {
        temperature: Some(0.0),
        top_p: Some(0.5),
        max_output_tokens: Some(7),
        stop: vec!["END".to_owned()],
        thinking: None,
    };
    assert_eq!(ask.options, options);
    assert_eq!(ask.chosen_model().as_deref(), Some("sim/one"));
    assert_eq!(ask.schema, Some(json!({ "type": "array" })));
    assert_eq!(ask.session.as_deref(), Some("chat:main"));
    assert!(ask.stream && ask.include_usage && ask.single_tool_call);
    let object = read(&json!({ "response_format": { "type": "json_object" }, "stop": ["a", "b"] }));
    assert_eq!(object.schema, Some(json!({ "type": "object" })));
    assert_eq!(object.options.stop, ["a", "b"]);
}

#[test]
fn null_and_unknown_fields_have_no_effect() {
    let plain = read(&json!({}));
    let more = json!({
        "temperature": null, "stop": null, "tools": null, "metadata": null, "n": 1,
        "user": "someone", "seed": 3, "frequency_penalty": 0.2, "what_is_this": { "deep": [1] },
        "metadata": { "colour": "blue" }, "logprobs": false, "modalities": ["text"],
    });
    assert_eq!(read(&more), plain);
}

#[test]
fn tools_and_choice_are_taken() {
    let tool = json!({ "type": "function", "function": { "name": "get_weather", "parameters": { "type": "object" }, "strict": true } });
    let ask = read(&json!({ "tools": [tool], "tool_choice": "required" }));
    assert_eq!(ask.tools[0].name, "get_weather");
    assert_eq!(ask.tool_choice, Some(ToolChoice::Required));
    let named = json!({ "type": "function", "function": { "name": "get_weather" } });
    let ask = read(&json!({ "tools": [tool], "tool_choice": named }));
    let named = ToolChoice::Named("get_weather".to_owned());
    assert_eq!(ask.tool_choice, Some(named));
    let bare = json!({ "type": "function", "function": { "name": "now" } });
    let ask = read(&json!({ "tools": [bare] }));
    assert_eq!(ask.tools[0].parameters["type"], "object");
}

#[test]
fn what_is_wrong_is_refused_under_its_name() {
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let cases = [
        (json!({ "model": null }), "model"),
        (json!({ "model": 5 }), "model"),
        (json!({ "model": "" }), "model"),
        (json!({ "messages": null }), "messages"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": "Hi" }), "messages"),
        (json!({ "messages": [5] }), "messages[0]"),
        (json!({ "n": 2 }), "n"),
        (json!({ "n": "1" }), "n"),
        (json!({ "stream": "yes" }), "stream"),
        (json!({ "stream_options": {} }), "stream_options"),
        (json!({ "temperature": "hot" }), "temperature"),
        (json!({ "temperature": 2.5 }), "temperature"),
        (json!({ "top_p": -0.1 }), "top_p"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (json!({ "max_tokens": 1.5 }), "max_tokens"),
        (json!({ "stop": 3 }), "stop"),
        (json!({ "stop": ["a", 3] }), "stop[1]"),
        (json!({ "stop": ["a", "b", "c", "d", "e"] }), "stop"),
        (json!({ "logprobs": true }), "logprobs"),
        (json!({ "functions": [] }), "functions"),
        (json!({ "modalities": ["audio"] }), "modalities"),
        (json!({ "metadata": { "session": 4 } }), "metadata.session"),
        (json!({ "metadata": { "session": "" } }), "metadata.session"),
        (
            json!({ "response_format": { "type": "xml" } }),
            "response_format.type",
        ),
        (
            json!({ "response_format": { "type": "json_schema" } }),
            "response_format.json_schema",
        ),
        (json!({ "tools": {} }), "tools"),
        (json!({ "tools": [{ "type": "custom" }] }), "tools[0].type"),
        (
            json!({ "tools": [tool("two words")] }),
            "tools[0].function.name",
        ),
        (json!({ "tools": [tool("a"), tool("a")] }), "tools[1]"),
        (json!({ "tool_choice": "auto" }), "tool_choice"),
        (
            json!({ "tools": [tool("a")], "tool_choice": "some" }),
            "tool_choice",
        ),
        (
            json!({ "tools": [tool("a")], "tool_choice": { "type": "function", "function": { "name": "b" } } }),
            "tool_choice.function.name",
        ),
    ];
    for (more, param) in cases {
        let error = CompletionRequest::parse(body(&more)).expect_err(param);
        assert_eq!(error.param.as_deref(), Some(param), "{}", error.message);
        assert_eq!(
            (error.status.as_u16(), error.kind),
            (400, "invalid_request_error")
        );
    }
    assert!(CompletionRequest::parse(json!([])).is_err());
}
