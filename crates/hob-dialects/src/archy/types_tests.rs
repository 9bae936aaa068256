//! The JSON of Archy's requests and responses.

use super::{
    ArchyAnalysis, ArchyAnswer, ArchyBatch, ArchyBatchResult, ArchyMetadata, ArchyRequest,
    ArchyResponse, ArchyStatus,
};
use serde_json::{Value, json};

#[test]
fn a_plain_answer_has_all_four_fields_always() {
    let shown =
        |response: ArchyResponse| serde_json::to_value(ArchyAnswer::from(response)).unwrap();
    assert_eq!(
        shown(ArchyResponse::success_with("ok")),
        json!({ "success": true, "output": "ok", "error": null, "exists": null })
    );
    assert_eq!(
        shown(ArchyResponse::failed("no").with_exists(false)),
        json!({ "success": false, "output": null, "error": "no", "exists": false })
    );
}

#[test]
fn a_request_needs_action_and_data_and_tolerates_more() {
    let read = |value: Value| serde_json::from_value::<ArchyRequest>(value);
    let request = read(json!({ "action": "capture", "data": null, "id": 7 })).unwrap();
    assert_eq!((request.action.as_str(), request.keep), ("capture", false));
    assert!(
        read(json!({ "action": "capture", "data": {}, "keep": true }))
            .unwrap()
            .keep
    );
    let missing = read(json!({ "action": "capture" }))
        .unwrap_err()
        .to_string();
    assert!(missing.contains("missing field `data`"), "{missing}");
    assert!(read(json!({ "data": {} })).is_err());
    assert!(read(json!({ "action": 7, "data": {} })).is_err());
}

#[test]
fn longer_answers_hold_the_plain_one() {
    let analyzed = ArchyAnalysis {
        plain: ArchyResponse::success_with("x\n"),
        command: "echo x".to_owned(),
        status: ArchyStatus::Success,
        exit_code: Some(0),
        structured: json!({}),
        findings: Vec::new(),
        summary: "1 line".to_owned(),
        display: "x".to_owned(),
        display_plain: "x".to_owned(),
        metadata: ArchyMetadata {
            line_count: 1,
            byte_count: 2,
            duration_ms: Some(3),
            format_detected: "text".to_owned(),
        },
        parsed: None,
        raw_output: "x\n".to_owned(),
    };
    let shown = serde_json::to_value(ArchyAnswer::Analyzed(Box::new(analyzed))).unwrap();
    assert_eq!(
        shown,
        json!({
            "success": true, "output": "x\n", "error": null, "exists": null,
            "command": "echo x", "status": "success", "exit_code": 0, "structured": {},
            "findings": [], "summary": "1 line", "display": "x", "display_plain": "x",
            "metadata": {
                "line_count": 1, "byte_count": 2, "duration_ms": 3, "format_detected": "text",
            },
            "parsed": null, "raw_output": "x\n",
        })
    );
    let batch = ArchyBatch {
        plain: ArchyResponse::success_with("{}"),
        result: ArchyBatchResult {
            total_commands: 0,
            successful: 0,
            failed: 0,
            unfinished: 0,
            commands: Vec::new(),
            summary: "none".to_owned(),
        },
    };
    let shown = serde_json::to_value(ArchyAnswer::Batch(Box::new(batch))).unwrap();
    assert_eq!(
        shown,
        json!({
            "success": true, "output": "{}", "error": null, "exists": null, "total_commands": 0,
            "successful": 0, "failed": 0, "unfinished": 0, "commands": [], "summary": "none",
        })
    );
}
