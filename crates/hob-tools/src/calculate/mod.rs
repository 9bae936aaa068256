//! `calculate`: exact arithmetic, because models guess at digits.

use crate::outcome::{failed, succeeded};
use crate::{ToolEntry, ToolFuture};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde_json::json;

mod expression;
mod ratio;

/// Letters of one expression.
const EXPRESSION_CHARS_MAX: usize = 1_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, _| -> ToolFuture {
    Box::pin(async move { calculate(call.call()) })
});

fn spec() -> ToolSpec {
    ToolSpec {
        name: "calculate".to_owned(),
        aliases: Vec::new(),
        description: "Calculates exactly: + - * / % ^ and parentheses over decimal numbers, with abs, floor, ceil, round, min and max."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": EXPRESSION_CHARS_MAX,
                    "description": "Such as (1.1 + 2) * 3^4 / 7.",
                },
            },
            "required": ["expression"],
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "Calculate {expression}".to_owned(),
        timeout_ms: None,
    }
}

fn calculate(work: &PreparedCall) -> ToolExecuteResult {
    let text = work.args["expression"].as_str().unwrap_or_default();
    match expression::value(text) {
        Ok(value) => ToolExecuteResult {
            metadata: Some(json!({ "exact": value.exact() })),
            ..succeeded(value.to_string())
        },
        Err(reason) => failed(reason),
    }
}

#[cfg(test)]
#[path = "calculate_tests.rs"]
mod tests;
