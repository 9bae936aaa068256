//! Conversations in OpenAI's format.

use super::*;
use serde_json::{Value, json};

fn read_all(messages: &Value) -> Result<Vec<ChatMessage>, OpenaiError> {
    let mut body = JsonField::root(json!({ "messages": messages }))?;
    parse_messages(body.require("messages")?.list(100)?)
}

fn call(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "add", "arguments": arguments } })
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text {
        text: text.to_owned(),
    }
}

#[test]
fn roles_become_ours() {
    let messages = read_all(&json!([
        { "role": "system", "content": "Be brief." },
        { "role": "developer", "content": [{ "type": "text", "text": "Be " }, { "type": "text", "text": "kind." }] },
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": "Hello" },
    ]));
    let part_text: Vec<(Role, MessageContent)> = messages
        .unwrap()
        .into_iter()
        .map(|message| (message.role, message.content))
        .collect();
    let expected = [
        (Role::System, MessageContent::from("Be brief.")),
        (Role::System, MessageContent::from("Be kind.")),
        (Role::User, MessageContent::from("Hi")),
        (Role::Assistant, MessageContent::from("Hello")),
    ];
    assert_eq!(part_text, expected);
}

#[test]
fn calls_and_their_answers_keep_their_ids() {
    let messages = read_all(&json!([
        { "role": "user", "content": "2+2, and 3+3?" },
        { "role": "assistant", "content": null, "tool_calls": [call("a", r#"{"x":2}"#), call("b", "{bad")] },
        { "role": "tool", "tool_call_id": "b", "content": "6" },
        { "role": "tool", "tool_call_id": "a", "content": [{ "type": "text", "text": "4" }] },
    ]))
    .unwrap();
    let MessageContent::Parts(calls) = &messages[1].content else {
        panic!("calls are parts");
    };
    let [ContentPart::ToolCall(first), ContentPart::ToolCall(second)] = calls.as_slice() else {
        panic!("two calls, no text: {calls:?}");
    };
    assert_eq!((first.id.as_str(), &first.args), ("a", &json!({ "x": 2 })));
    assert_eq!(second.args, json!("{bad"));
    let result = ToolResult {
        id: "a".to_owned(),
        content: vec![text("4")],
        is_error: false,
    };
    let answered = MessageContent::Parts(vec![ContentPart::ToolResult(result)]);
    assert_eq!(messages[3].content, answered);
}

#[test]
fn pictures_come_in_the_request_or_not_at_all() {
    let picture = |url: &str| {
        let part = json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } });
        let words = json!({ "type": "text", "text": "What is this?" });
        read_all(&json!([{ "role": "user", "content": [words, part] }]))
    };
    let messages = picture("data:image/png;base64,iVBORw0KGgo=").unwrap();
    let image = ContentPart::Image {
        mime_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    };
    let content = MessageContent::Parts(vec![text("What is this?"), image]);
    assert_eq!(messages[0].content, content);
    for url in [
        "https://example.com/cat.png",
        "file:///etc/passwd",
        "data:text/html;base64,AAAA",
        "data:image/png,AAAA",
        "data:image/png;base64,not base64",
        "data:image/png;base64,",
    ] {
        let error = picture(url).expect_err(url);
        let param = Some("messages[0].content[1].image_url.url");
        assert_eq!(error.param.as_deref(), param);
    }
}

#[test]
fn conversations_no_provider_takes_are_refused() {
    let user = json!({ "role": "user", "content": "Hi" });
    let asks = json!({ "role": "assistant", "tool_calls": [call("a", "{}")] });
    let answer = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "1" });
    let cases = [
        (
            json!([{ "role": "king", "content": "Hi" }]),
            "messages[0].role",
        ),
        (json!([{ "role": "user" }]), "messages[0].content"),
        (
            json!([{ "role": "user", "content": 5 }]),
            "messages[0].content",
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "input_audio" }] }]),
            "messages[0].content[0].type",
        ),
        (json!([{ "role": "assistant" }]), "messages[0].content"),
        (json!([user, asks]), "messages"),
        (json!([user, asks, user]), "messages[2]"),
        (json!([user, answer("a")]), "messages[1]"),
        (json!([user, asks, answer("a"), answer("a")]), "messages[3]"),
        (json!([user, asks, answer("b")]), "messages[2]"),
        (
            json!([{ "role": "tool", "content": "1" }]),
            "messages[0].tool_call_id",
        ),
    ];
    for (messages, param) in cases {
        let error = read_all(&messages).expect_err(param);
        assert_eq!(error.param.as_deref(), Some(param), "{}", error.message);
    }
}
