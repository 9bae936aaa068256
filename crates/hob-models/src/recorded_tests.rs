//! For tests: streams as providers send them, decoded whole, cut and twisted.

use crate::dialect::{DecodedReply, ProviderDialect, ProviderRequest, RequestInput};
use crate::error::ModelError;
use crate::history;
use crate::prompt::{Prompt, PromptMessage, ReplyDelta, ToolDefinition};
use crate::providers::ProviderQuirks;
use hob_core::failover::ErrorClass;
use hob_net::SseParser;
use hob_wire::content::{ContentPart, Role, ToolCall, ToolResult};
use serde_json::{Value, json};

/// Decodes the bytes of a stream that then ended in order.
pub(crate) fn decode(
    dialect: &dyn ProviderDialect,
    bytes: &[u8],
) -> (Vec<ReplyDelta>, Result<DecodedReply, ModelError>) {
    let mut events = Vec::new();
    let parsed = SseParser::default().push(bytes, &mut events);
    let mut decoder = dialect.decoder();
    let mut pieces = Vec::new();
    for event in &events {
        match decoder.push_event(event, &mut pieces) {
            Ok(true) => return (pieces, decoder.finish()),
            Ok(false) => {}
            Err(error) => return (pieces, Err(error)),
        }
    }
    if parsed.is_err() {
        return (pieces, Err(ModelError::protocol("no event stream")));
    }
    (pieces, decoder.finish())
}

/// Decodes a stream that is sound.
pub(crate) fn whole(
    dialect: &dyn ProviderDialect,
    stream: &str,
) -> (Vec<ReplyDelta>, DecodedReply) {
    let (pieces, decoded) = decode(dialect, stream.as_bytes());
    (pieces, decoded.expect("is a whole answer"))
}

/// The class of the error a stream ends with.
pub(crate) fn fails(dialect: &dyn ProviderDialect, stream: &str) -> ErrorClass {
    let (_, decoded) = decode(dialect, stream.as_bytes());
    decoded.expect_err("is no answer").class
}

/// A stream cut after any byte gives no answer, or, once its answer was whole, the same parts;
/// what was shown is always a beginning of what would have been shown. Line ends do not matter.
pub(crate) fn survives_cuts(dialect: &dyn ProviderDialect, stream: &str) {
    let (all, expected) = whole(dialect, stream);
    for cut in 0..stream.len() {
        let (pieces, decoded) = decode(dialect, &stream.as_bytes()[..cut]);
        assert_eq!(pieces[..], all[..pieces.len()], "cut at {cut}");
        match decoded {
            Ok(decoded) => assert_eq!(decoded.parts, expected.parts, "cut at {cut}"),
            Err(error) => assert_eq!(error.class, ErrorClass::Network, "cut at {cut}: {error}"),
        }
    }
    for end in ["\r\n", "\r"] {
        assert_eq!(
            whole(dialect, &stream.replace('\n', end)),
            (all.clone(), expected.clone())
        );
    }
}

/// The request a prompt becomes.
pub(crate) fn call(
    dialect: &dyn ProviderDialect,
    prompt: &Prompt,
    quirks: &ProviderQuirks,
) -> ProviderRequest {
    let (said, turns) = history::to_turns(&prompt.messages);
    let mut system = prompt.system.clone();
    system.extend(said);
    dialect.build_request(&RequestInput {
        prompt,
        system: &system,
        turns: &turns,
        quirks,
    })
}

/// What was shown as text.
pub(crate) fn shown(pieces: &[ReplyDelta]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        ReplyDelta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> ContentPart {
    ContentPart::Thinking {
        text: text.into(),
        signature: signature.map(str::to_owned),
    }
}

pub(crate) fn image() -> ContentPart {
    ContentPart::Image {
        mime_type: "image/png".into(),
        data: "iVBORw0KGgo=".into(),
    }
}

pub(crate) fn tool_call(id: &str, name: &str, args: Value) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        args,
    })
}

pub(crate) fn tool_result(id: &str, content: Vec<ContentPart>, is_error: bool) -> ContentPart {
    ContentPart::ToolResult(ToolResult {
        id: id.into(),
        content,
        is_error,
    })
}

pub(crate) fn message(role: Role, parts: Vec<ContentPart>) -> PromptMessage {
    PromptMessage { role, parts }
}

/// A prompt with something of everything: two system layers, an image, thoughts, two calls and
/// their results, a tool, a schema.
pub(crate) fn rich_prompt(model: &str, signature: &str) -> Prompt {
    Prompt {
        model: model.into(),
        system: vec!["You are hob.".into(), "Be brief.".into()],
        messages: vec![
            message(Role::User, vec![text("What is this?"), image()]),
            message(
                Role::Assistant,
                vec![
                    thinking("Let me look.", Some(signature)),
                    text("I look."),
                    tool_call("call_1", "read", json!({ "path": "a" })),
                    tool_call("call_2", "read", json!("{\"path\":")),
                ],
            ),
            message(
                Role::Tool,
                vec![
                    tool_result("call_1", vec![text("A"), image()], false),
                    tool_result("call_2", vec![text("not JSON")], true),
                ],
            ),
        ],
        tools: vec![ToolDefinition {
            name: "read".into(),
            description: "Reads a file.".into(),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
            }),
        }],
        schema: Some(json!({
            "type": "object",
            "properties": { "answer": { "type": "string" } },
            "required": ["answer"],
            "additionalProperties": false,
        })),
        ..Prompt::default()
    }
}
