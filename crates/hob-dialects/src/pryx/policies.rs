//! Policies: the stored rules, to read. Only their owner changes them.

use crate::pryx::client::{PathParameter, PryxAnswer, PryxClient, json, not_found};
use crate::pryx::timestamp;
use hob_gateway::http_error::HttpError;
use hob_wire::WireError;
use hob_wire::rooms::permission::{
    self, PermissionListParams, PermissionMode, PermissionRule, RuleDecision,
};
use serde_json::{Value, json};

/// Maximum pages of rules that are read for one list.
const PAGES_MAX: usize = 16;

/// `GET /api/policies`.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    let (mode, rules) = list_rules(&client).await?;
    let policies: Vec<Value> = rules.iter().map(policy_json).collect();
    json(&json!({ "policies": policies, "default": mode.name() }))
}

/// `GET /api/policies/{id}`.
pub(crate) async fn show(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let (_, rules) = list_rules(&client).await?;
    let found = rules.iter().find(|rule| rule.id == id);
    let found = found.ok_or_else(|| {
        not_found("There is no such policy; GET /api/policies lists those there are.")
    })?;
    json(&policy_json(found))
}

/// Every request that would change a policy.
pub(crate) async fn refuse_change(_: PryxClient) -> PryxAnswer {
    Err(HttpError::forbidden(
        "Rules are changed by their owner alone: 'hob permission add' stores one, 'hob permission remove ID' takes one away.",
    ))
}

async fn list_rules(
    client: &PryxClient,
) -> Result<(PermissionMode, Vec<PermissionRule>), WireError> {
    let mut rules: Vec<PermissionRule> = Vec::new();
    let mut mode = PermissionMode::default();
    for _ in 0..PAGES_MAX {
        let params = PermissionListParams {
            after: rules.last().map(|rule| rule.id.clone()),
            ..PermissionListParams::default()
        };
        let Some(page) = client.call_if_served::<permission::List>(&params).await? else {
            break;
        };
        mode = page.mode;
        rules.extend(page.rules);
        if !page.more {
            break;
        }
    }
    Ok((mode, rules))
}

fn policy_json(rule: &PermissionRule) -> Value {
    let terms = &rule.terms;
    let action = match terms.decision {
        RuleDecision::Allow => "allow",
        RuleDecision::Deny => "deny",
        RuleDecision::Ask => "require_review",
    };
    json!({
        "id": rule.id,
        "name": format!("{} {}", terms.decision.name(), terms.tool),
        "tool": terms.tool,
        "tools": [terms.tool],
        "scope": terms.scope,
        "conditions": {
            "arguments": terms.matches,
            "path": terms.path,
            "host": terms.host,
            "folder": terms.folder,
            "session_id": terms.session_key,
        },
        "decision": terms.decision,
        "action": action,
        "autoApprove": terms.decision == RuleDecision::Allow,
        "active": true,
        "createdBy": rule.created_by,
        "createdAt": timestamp::from_ms(rule.created_at),
        "expiresAt": rule.expires_at.map(timestamp::from_ms),
    })
}
