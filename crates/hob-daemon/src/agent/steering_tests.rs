//! Which text may steer which run.

use super::*;
use serde_json::{Value, json};

fn params(more: &Value) -> AgentRunParams {
    let mut params = json!({ "sessionKey": "s", "task": "t" });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    serde_json::from_value(params).unwrap()
}

#[test]
fn text_joins_only_a_run_that_may_do_no_more_than_its_sender() {
    for (words, run, joins) in [
        (json!({}), json!({}), true),
        (json!({}), json!({ "channel": "mail" }), true),
        (json!({ "channel": "mail" }), json!({}), false),
        (
            json!({ "channel": "mail" }),
            json!({ "channel": "mail" }),
            true,
        ),
        (
            json!({ "channel": "mail" }),
            json!({ "channel": "chat" }),
            false,
        ),
        (json!({ "ceiling": "read" }), json!({}), false),
        // What may only look does not look into another's folder.
        (
            json!({ "ceiling": "read" }),
            json!({ "ceiling": "read", "workspace": "/" }),
            false,
        ),
        (
            json!({ "ceiling": "read", "workspace": "/w" }),
            json!({ "ceiling": "read", "workspace": "/w" }),
            true,
        ),
        (json!({}), json!({ "workspace": "/" }), true),
        (
            json!({ "ceiling": "read" }),
            json!({ "ceiling": "exec" }),
            false,
        ),
        (
            json!({ "ceiling": "exec" }),
            json!({ "ceiling": "read" }),
            true,
        ),
        (json!({}), json!({ "ceiling": "read" }), true),
        (json!({ "tools": [] }), json!({}), false),
        (
            json!({ "tools": ["read"] }),
            json!({ "tools": ["read", "exec"] }),
            false,
        ),
        (
            json!({ "tools": ["read", "exec"] }),
            json!({ "tools": ["read"] }),
            true,
        ),
    ] {
        let joined = may_join(&params(&words), &params(&run));
        assert_eq!(joined, joins, "{words} into {run}");
    }
}
