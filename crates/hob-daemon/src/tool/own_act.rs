//! Audit of calls that a person makes directly. Nobody is asked for them, but they are recorded
//! before they run.

use super::ToolRoomContext;
use hob_core::permission::{Approved, PreparedCall, to_audit_value};
use hob_store::{AuditedDecision, NewAuditEntry};
use hob_wire::WireError;
use hob_wire::id::RunId;
use serde_json::{Value, json};

/// Records a call that a person makes. Without its record it does not run.
pub(super) async fn record_call(
    shared: &ToolRoomContext,
    by: &str,
    approved: &Approved<PreparedCall>,
) -> Result<(), WireError> {
    let work = approved.call();
    let matter = json!({
        "args": work.args,
        "workspace": work.context.workspace,
    });
    let mut entry = entry(shared, by, &work.tool, &matter);
    // Added after masking: a digest looks like a secret and would be masked.
    entry.matter["digest"] = json!(approved.digest());
    entry.session_key.clone_from(&work.context.session_key);
    record(shared, entry).await
}

/// Records that a person undoes the changes of a run.
pub(super) async fn record_undo(
    shared: &ToolRoomContext,
    by: &str,
    run: RunId,
) -> Result<(), WireError> {
    let mut entry = entry(shared, by, "undo", &json!({}));
    entry.run_id = Some(run);
    record(shared, entry).await
}

fn entry(shared: &ToolRoomContext, by: &str, tool: &str, matter: &Value) -> NewAuditEntry {
    NewAuditEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(tool.to_owned()),
        matter: to_audit_value(matter, &|text| shared.deps.mask.apply(text).into_owned()),
    }
}

async fn record(shared: &ToolRoomContext, entry: NewAuditEntry) -> Result<(), WireError> {
    let decision = AuditedDecision {
        entries: vec![entry],
        ..AuditedDecision::default()
    };
    shared.deps.store.record_decision(decision).await?;
    Ok(())
}
