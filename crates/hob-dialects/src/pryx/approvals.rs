//! Approvals: the questions of runs, shown to every client and answered for those that may.
//!
//! Invariants: a question is answered only while `dialect.pryx.approvals` is true, and only once: no answer
//! stores a rule. It is bound to the digest of the question that is open now. The client itself
//! never gets the scope that answering needs.

use crate::pryx::client::{PathParameter, PryxAnswer, PryxClient, json};
use crate::pryx::{settings, timestamp};
use hob_wire::rooms::permission::{
    self, AnswerReach, PermissionAnswer, PermissionAnswerParams, PermissionDecision,
    PermissionPendingParams, PermissionQuestion,
};
use hob_wire::rooms::tool::Tier;
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde_json::{Value, json};

/// `GET /api/approvals` and `/api/approvals/pending`.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    let questions = pending(&client, None).await?;
    let can_resolve = may_answer(&client);
    let requests = questions.iter().map(|question| {
        let mut request = question_json(question, can_resolve);
        request["status"] = "pending".into();
        request["timestamp"] = timestamp::from_ms(question.asked_at).into();
        request["agentName"] = question.session_key.as_str().into();
        request["actionType"] = action_type(question.tier).into();
        request
    });
    json(&json!({ "requests": requests.collect::<Vec<_>>() }))
}

/// `POST /api/approvals/{id}/approve`.
pub(crate) async fn approve(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    answer_to(&client, &id, true).await
}

/// `POST /api/approvals/{id}/deny`.
pub(crate) async fn deny(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    answer_to(&client, &id, false).await
}

async fn answer_to(client: &PryxClient, id: &str, approved: bool) -> PryxAnswer {
    json(&answer_json(&answer(client, id, approved).await?))
}

/// Answers a question for a client.
pub(crate) async fn answer(
    client: &PryxClient,
    id: &str,
    approved: bool,
) -> Result<PermissionAnswer, WireError> {
    if !may_answer(client) {
        return Err(WireError::new(ErrorCode::Forbidden, refusal(id, approved)));
    }
    let open = pending(client, None).await?;
    let Some(question) = open.into_iter().find(|question| question.id == id) else {
        let why = "This question is not open: it was answered, its time passed, or its run ended.";
        return Err(WireError::new(ErrorCode::NotFound, why));
    };
    let decision = if approved {
        PermissionDecision::Allow
    } else {
        PermissionDecision::Deny
    };
    let params = PermissionAnswerParams {
        id: question.id,
        decision,
        scope: Some(AnswerReach::Once),
        digest: Some(question.digest),
    };
    // The setting is the grant. It reaches exactly this one call.
    let mut answering = client.principal.clone();
    answering.scopes = Scopes::rank(Scope::Admin);
    client
        .call_as::<permission::Answer>(&answering, &params)
        .await
}

/// Returns the open questions of a session, or all.
pub(crate) async fn pending(
    client: &PryxClient,
    session_key: Option<String>,
) -> Result<Vec<PermissionQuestion>, WireError> {
    let params = PermissionPendingParams { session_key };
    let pending = client
        .call_if_served::<permission::Pending>(&params)
        .await?;
    Ok(pending.map(|pending| pending.questions).unwrap_or_default())
}

pub(crate) fn may_answer(client: &PryxClient) -> bool {
    settings::may_answer(&client.state.shared.settings.borrow())
}

/// A question, for events and lists.
pub(crate) fn question_json(question: &PermissionQuestion, can_resolve: bool) -> Value {
    json!({
        "id": question.id,
        "approval_id": question.id,
        "tool": question.tool,
        "args": question.args,
        "reason": question.sentence,
        "description": question.sentence,
        "preview": question.preview,
        "tier": question.tier,
        "session_key": question.session_key,
        "run_id": question.run_id,
        "call_id": question.call_id,
        "can_resolve": can_resolve,
        "resolve_with": (!can_resolve).then(|| format!("hob permission answer {} y", question.id)),
        "expires_at": (!question.attended).then(|| timestamp::from_ms(question.deadline_at)),
    })
}

pub(crate) fn answer_json(answered: &PermissionAnswer) -> Value {
    json!({
        "id": answered.id,
        "approval_id": answered.id,
        "approved": answered.decision == PermissionDecision::Allow,
        "by": answered.by,
        "run_id": answered.run_id,
    })
}

fn refusal(id: &str, approved: bool) -> String {
    // The client's text is repeated in the command, so only what looks like an id is taken.
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let id = if !id.is_empty() && id.chars().all(is_id) {
        id
    } else {
        "ID"
    };
    let word = if approved { "y" } else { "n" };
    format!(
        "Programs on this listener may not answer questions. Answer with 'hob permission answer {id} {word}', or let them with 'hob config set {} true'.",
        settings::APPROVALS
    )
}

/// The kind of action in the TUI's view.
fn action_type(tier: Tier) -> &'static str {
    match tier {
        Tier::Read | Tier::Write => "file_ops",
        Tier::Exec => "shell",
        Tier::External => "network",
    }
}
