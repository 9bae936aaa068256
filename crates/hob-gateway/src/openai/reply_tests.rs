//! Answers in OpenAI's format, and errors with their status.

use super::*;

fn given(content: Vec<ContentPart>, cause: RunEndCause) -> AgentChatResult {
    AgentChatResult {
        content,
        earlier: Vec::new(),
        success: cause == RunEndCause::Answered,
        cause,
        message: None,
        cut: false,
        cost: Cost {
            input_tokens: 7,
            output_tokens: 5,
            ..Cost::default()
        },
        model: Some("sim/one".to_owned()),
    }
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text {
        text: text.to_owned(),
    }
}

fn call(id: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "add".to_owned(),
        args: json!({ "x": 1 }),
    })
}

fn tools(one_call: bool) -> ClientToolNames {
    ClientToolNames {
        names: vec!["add".to_owned()],
        single_call: one_call,
    }
}

#[test]
fn a_call_of_a_tool_of_ours_is_not_the_clients() {
    let called = given(vec![text("Once"), call("a")], RunEndCause::StepLimit);
    let reply = CompletionReply::from_agent(called, &ClientToolNames::default()).unwrap();
    assert_eq!((reply.calls.len(), reply.finish), (0, FinishReason::Length));
}

#[test]
fn an_answer_has_openais_form() {
    let reply = CompletionReply::from_agent(
        given(vec![text("Hel"), text("lo")], RunEndCause::Answered),
        &tools(false),
    )
    .unwrap();
    let expected = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 9, "model": "sim/one",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": "Hello", "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12 },
    });
    assert_eq!(reply.to_json("chatcmpl-1", 9, "hob"), expected);
}

#[test]
fn calls_come_with_null_content_and_their_arguments_as_text() {
    let calls = || given(vec![call("a"), call("b")], RunEndCause::Answered);
    let reply = CompletionReply::from_agent(calls(), &tools(false)).unwrap();
    let choice = &reply.to_json("c", 0, "hob")["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let first = json!({ "id": "a", "type": "function", "function": { "name": "add", "arguments": "{\"x\":1}" } });
    assert_eq!(choice["message"]["tool_calls"][0], first);
    assert_eq!(choice["message"]["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(
        CompletionReply::from_agent(calls(), &tools(true))
            .unwrap()
            .calls
            .len(),
        1
    );
}

#[test]
fn what_is_cut_short_says_so() {
    let mut cut = given(vec![text("Once upon")], RunEndCause::Answered);
    cut.cut = true;
    assert_eq!(
        CompletionReply::from_agent(cut, &tools(false))
            .unwrap()
            .finish,
        FinishReason::Length
    );
    let limited = given(vec![text("Once upon")], RunEndCause::TokenLimit);
    assert_eq!(
        CompletionReply::from_agent(limited, &tools(false))
            .unwrap()
            .finish,
        FinishReason::Length
    );
}

#[test]
fn failures_have_their_status() {
    let cases = [
        (RunEndCause::ModelFailed, 502, "model_failed"),
        (RunEndCause::ErrorStreak, 502, "model_failed"),
        (RunEndCause::MoneyLimit, 429, "insufficient_quota"),
        (RunEndCause::Denied, 403, "permission_denied"),
        (RunEndCause::Aborted, 499, "cancelled"),
        (RunEndCause::TimeLimit, 500, "limit_reached"),
    ];
    for (cause, status, code) in cases {
        let mut failed = given(Vec::new(), cause);
        failed.message = Some("Because.".to_owned());
        let error = CompletionReply::from_agent(failed, &tools(false)).unwrap_err();
        assert_eq!((error.status.as_u16(), error.code), (status, Some(code)));
        assert_eq!(error.message, "Because.");
    }
}
