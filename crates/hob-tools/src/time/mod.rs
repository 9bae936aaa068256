//! `time`: the current time, because models do not know it and guess.

use crate::outcome::{failed, succeeded};
use crate::{ToolEntry, ToolEnv, ToolFuture};
use hob_core::permission::{Approved, PreparedCall};
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, run);

fn spec() -> ToolSpec {
    ToolSpec {
        name: "time".to_owned(),
        aliases: vec!["time.now".to_owned()],
        description: "Tells the present date and time, in this machine's time zone or in another."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "zone": {
                    "type": "string",
                    "maxLength": 64,
                    "description": "A time zone such as Europe/Berlin; this machine's when missing.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "Tell the time".to_owned(),
        timeout_ms: None,
    }
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move { current_time(call.call(), &env) })
}

fn current_time(work: &PreparedCall, env: &ToolEnv) -> ToolExecuteResult {
    let zone = match work.args["zone"].as_str() {
        None => TimeZone::system(),
        Some(name) => match TimeZone::get(name) {
            Ok(zone) => zone,
            Err(_) => {
                return failed(format!(
                    "'{name}' is not a time zone this machine knows. Use a name of the IANA database, such as UTC or America/New_York."
                ));
            }
        },
    };
    let wall_ms = env.clock().wall_ms();
    let at = i64::try_from(wall_ms).ok();
    let Some(at) = at.and_then(|ms| Timestamp::from_millisecond(ms).ok()) else {
        return failed("This machine's clock shows a time beyond the calendar.");
    };
    let local = at.to_zoned(zone);
    let words = local.strftime("%A, %Y-%m-%d %H:%M:%S %:z (%Z)").to_string();
    ToolExecuteResult {
        metadata: Some(json!({
            "iso": local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            "unixMs": wall_ms,
        })),
        ..succeeded(words)
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
