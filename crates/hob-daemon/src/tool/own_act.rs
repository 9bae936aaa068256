//! What a person does with their own hands is not asked for, but recorded before it is done.

use super::Shared;
use hob_core::permission::{Approved, Work, recorded};
use hob_store::{Judgement, NewEntry};
use hob_wire::WireError;
use hob_wire::id::RunId;
use serde_json::{Value, json};

/// Records a call that a person makes; without its record it is not run.
pub(super) async fn record_call(
    shared: &Shared,
    by: &str,
    approved: &Approved<Work>,
) -> Result<(), WireError> {
    let work = approved.call();
    let matter = json!({
        "args": work.args,
        "workspace": work.context.workspace,
    });
    let mut entry = entry(shared, by, &work.tool, &matter);
    // A digest looks like a token, and is none.
    entry.matter["digest"] = json!(approved.digest());
    entry.session_key.clone_from(&work.context.session_key);
    record(shared, entry).await
}

/// Records that a person takes back what a run changed.
pub(super) async fn record_undo(shared: &Shared, by: &str, run: RunId) -> Result<(), WireError> {
    let mut entry = entry(shared, by, "undo", &json!({}));
    entry.run_id = Some(run);
    record(shared, entry).await
}

fn entry(shared: &Shared, by: &str, tool: &str, matter: &Value) -> NewEntry {
    NewEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(tool.to_owned()),
        matter: recorded(matter, &|text| shared.mask.apply(text).into_owned()),
    }
}

async fn record(shared: &Shared, entry: NewEntry) -> Result<(), WireError> {
    let judgement = Judgement {
        entries: vec![entry],
        ..Judgement::default()
    };
    shared.store.judge(judgement).await?;
    Ok(())
}
