//! An answer as Gemini writes it: candidates with parts, each chunk a response of its own.

use crate::answer::AnswerEnding;
use crate::draft::{AnswerDraft, DraftCall, ReportedUsage, StreamFrame, signature, total};
use serde_json::{Value, json};

/// The context every model of the list claims.
const INPUT_TOKENS: u64 = 1_048_576;
/// The longest answer every model of the list claims.
const OUTPUT_TOKENS: u64 = 65_536;

/// The stream: as events, or as the one long JSON array that `alt=sse` avoids.
pub(crate) fn frames(draft: &AnswerDraft, events: bool) -> Vec<StreamFrame> {
    let mut chunks: Vec<(Value, GeminiFrameKind)> = Vec::new();
    for piece in &draft.thinking {
        let part = json!({ "text": piece, "thought": true });
        chunks.push((
            chunk(draft, chunks.len(), &[part], None),
            GeminiFrameKind::Token,
        ));
    }
    for word in &draft.words {
        let part = json!({ "text": word });
        chunks.push((
            chunk(draft, chunks.len(), &[part], None),
            GeminiFrameKind::Word,
        ));
    }
    // Calls come whole, all of them in one chunk.
    if !draft.calls.is_empty() {
        let parts = call_parts(draft);
        chunks.push((
            chunk(draft, chunks.len(), &parts, None),
            GeminiFrameKind::Token,
        ));
    }
    let last = json!({ "text": "" });
    let ending = chunk(draft, chunks.len(), &[last], Some(stop(draft)));
    chunks.push((ending, GeminiFrameKind::Around));
    let many = chunks.len();
    let encoded = chunks.into_iter().enumerate().map(|(at, (chunk, kind))| {
        let text = if events {
            format!("data: {chunk}\r\n\r\n")
        } else {
            let before = if at == 0 { "[" } else { ",\r\n" };
            let after = if at + 1 == many { "]" } else { "" };
            format!("{before}{chunk}{after}")
        };
        match kind {
            GeminiFrameKind::Token => StreamFrame::token(text),
            GeminiFrameKind::Word => draft.word_frame(text),
            GeminiFrameKind::Around => StreamFrame::around(text),
        }
    });
    encoded.collect()
}

/// The answer in one piece.
pub(crate) fn whole(draft: &AnswerDraft) -> Value {
    let mut parts = Vec::new();
    if !draft.thinking.is_empty() {
        parts.push(json!({ "text": draft.thinking.concat(), "thought": true }));
    }
    if !draft.words.is_empty() {
        parts.push(json!({ "text": draft.words.concat() }));
    }
    parts.extend(call_parts(draft));
    chunk(draft, 0, &parts, Some(stop(draft)))
}

/// The list of models, or the one that was asked for.
pub(crate) fn models(models: &[String], one: bool) -> Value {
    let rows = models.iter().map(|id| {
        json!({
            "name": format!("models/{id}"),
            "version": "001",
            "displayName": id,
            "description": "A scripted model.",
            "inputTokenLimit": INPUT_TOKENS,
            "outputTokenLimit": OUTPUT_TOKENS,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "temperature": 1,
            "topP": 0.95,
            "topK": 64,
            "maxTemperature": 2,
        })
    });
    let mut rows: Vec<Value> = rows.collect();
    match rows.pop() {
        Some(row) if one => row,
        last => {
            rows.extend(last);
            json!({ "models": rows })
        }
    }
}

/// A failure inside the stream, after which nothing follows.
pub(crate) fn error_frames() -> Vec<StreamFrame> {
    let error = json!({ "error": {
        "code": 503,
        "message": "The model is overloaded. Please try again later.",
        "status": "UNAVAILABLE",
    }});
    vec![StreamFrame::around(format!("data: {error}\r\n\r\n"))]
}

/// The proof that comes with a call and has to come back with it.
pub(super) fn call_signature(name: &str, args: &Value) -> String {
    signature(&format!("{name}{args}"))
}

enum GeminiFrameKind {
    Token,
    Word,
    Around,
}

fn chunk(draft: &AnswerDraft, at: usize, parts: &[Value], stop: Option<&str>) -> Value {
    let mut candidate = json!({
        "content": { "parts": parts, "role": "model" },
        "index": if draft.wrong_ids { at + 40 } else { 0 },
    });
    if let Some(stop) = stop {
        candidate["finishReason"] = json!(stop);
    }
    let mut chunk = json!({ "candidates": [candidate] });
    if let Some(usage) = usage(draft) {
        chunk["usageMetadata"] = usage;
    }
    chunk["modelVersion"] = json!(draft.model);
    let suffix = if draft.wrong_ids {
        at.to_string()
    } else {
        String::new()
    };
    chunk["responseId"] = json!(format!("{}{suffix}", draft.id));
    chunk
}

/// The calls as parts; the first of a turn carries the proof of the thinking before it.
fn call_parts(draft: &AnswerDraft) -> Vec<Value> {
    let calls = draft.calls.iter().enumerate();
    calls
        .map(|(at, call)| call_part(at, call, has_ids(&draft.model)))
        .collect()
}

/// True if a model gives its calls ids; models before generation 3 do not.
fn has_ids(model: &str) -> bool {
    !model.starts_with("gemini-1") && !model.starts_with("gemini-2")
}

fn call_part(at: usize, call: &DraftCall, named: bool) -> Value {
    let args = call.value();
    let mut part = json!({ "functionCall": { "name": call.name, "args": args } });
    if named {
        part["functionCall"]["id"] = json!(call.id(""));
    }
    if at == 0 {
        part["thoughtSignature"] = json!(call_signature(&call.name, &args));
    }
    part
}

fn stop(draft: &AnswerDraft) -> &'static str {
    match draft.ending {
        AnswerEnding::Length => "MAX_TOKENS",
        AnswerEnding::Content => "SAFETY",
        AnswerEnding::Done => "STOP",
    }
}

fn usage(draft: &AnswerDraft) -> Option<Value> {
    match &draft.usage {
        ReportedUsage::Said(input, output) => Some(json!({
            "promptTokenCount": input,
            "candidatesTokenCount": output,
            "thoughtsTokenCount": draft.thinking.len(),
            "totalTokenCount": total(input, output),
            "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": input }],
        })),
        ReportedUsage::Raw(raw) => Some(raw.clone()),
        ReportedUsage::Missing => None,
    }
}
