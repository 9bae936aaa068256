//! `time`: what time it is. Models do not know, and guess.

use crate::outcome::{failed, said};
use crate::{Entry, Ground, Running};
use hob_core::permission::{Approved, Work};
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run,
    check: None,
    looks: None,
};

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
        effect: Effect::Pure,
        needs: Vec::new(),
        approval: "Tell the time".to_owned(),
        timeout_ms: None,
    }
}

fn run(call: Approved<Work>, ground: Ground) -> Running {
    Box::pin(async move { tell(call.call(), &ground) })
}

fn tell(work: &Work, ground: &Ground) -> Executed {
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
    let wall_ms = ground.clock().wall_ms();
    let at = i64::try_from(wall_ms).ok();
    let Some(at) = at.and_then(|ms| Timestamp::from_millisecond(ms).ok()) else {
        return failed("This machine's clock shows a time beyond the calendar.");
    };
    let local = at.to_zoned(zone);
    let words = local.strftime("%A, %Y-%m-%d %H:%M:%S %:z (%Z)").to_string();
    Executed {
        metadata: Some(json!({
            "iso": local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            "unixMs": wall_ms,
        })),
        ..said(words)
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
