//! Answers `run.timeline` from the journal, the ledger and the audit record.
//!
//! Invariants: the journal is read page by page and folded, so that its results are never in memory
//! together; the ledger and the audit record are read only for the rows of the page; damaged data
//! ends the timeline and is named.

use super::handlers::AgentHandlers;
use super::journal::JournalEntry;
use super::timeline_rows::TimelineRows;
use hob_store::{RunRow, Store, StoreError};
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::audit::AuditListParams;
use hob_wire::rooms::timeline::{
    RunTimeline, RunTimelineParams, TimelineKind, TimelineRow, TimelineState,
};
use hob_wire::rule::AuditEntry;
use hob_wire::{DamagedRow, ErrorCode, RunId, WireError};
use std::collections::BTreeMap;

/// Pages of the audit record that are read for one page of a timeline, [`PAGE_ROWS_MAX`] entries
/// each.
const AUDIT_PAGES_MAX: usize = 20;

impl AgentHandlers {
    pub(crate) async fn timeline(
        &self,
        params: RunTimelineParams,
    ) -> Result<RunTimeline, WireError> {
        let limit = params.limit.unwrap_or(PAGE_ROWS_DEFAULT);
        if limit == 0 {
            let message = "`limit` is at least 1.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        let limit = limit.min(PAGE_ROWS_MAX) as usize;
        Ok(read(&self.shared.deps.store, &params, limit).await?)
    }
}

async fn read(
    store: &Store,
    params: &RunTimelineParams,
    limit: usize,
) -> Result<RunTimeline, StoreError> {
    let run = store.run(&params.run_id).await?;
    let mut damaged = Vec::new();
    let rows = fold(store, &run, &mut damaged).await?;
    let after = params.after.unwrap_or(0);
    let mut rows = rows.into_iter().filter(|row| row.number > after);
    let mut page: Vec<TimelineRow> = rows.by_ref().take(limit).collect();
    let next = rows.next().and(page.last()).map(|row| row.number);
    add_costs(store, run.id, &mut page).await?;
    add_deciders(store, run.id, &mut page).await?;
    Ok(RunTimeline {
        run_id: run.id,
        session_key: run.session_key,
        rows: page,
        next,
        damaged,
    })
}

/// Folds the journal into rows, and adds what the run's row knows.
async fn fold(
    store: &Store,
    run: &RunRow,
    damaged: &mut Vec<DamagedRow>,
) -> Result<Vec<TimelineRow>, StoreError> {
    let mut timeline = TimelineRows::new(run.limits, run.queued_at);
    let mut from = Some(0);
    while let Some(place) = from.take() {
        let (entries, next) = match store.journal_page(&run.id, place).await {
            Ok(page) => page,
            // The rest cannot be told; what came before can.
            Err(StoreError::DamagedRow(row)) => {
                damaged.push(*row);
                break;
            }
            Err(error) => return Err(error),
        };
        for json in entries {
            let entry = JournalEntry::from_json(json).map_err(|error| {
                let message = format!("the journal of run {} cannot be read: {error}", run.id);
                StoreError::Internal(message)
            })?;
            timeline.apply(&entry);
        }
        from = next;
    }
    let summary = &run.summary;
    let last = timeline.rows.last().map_or(run.queued_at, |row| row.at);
    // A stop of a queued run, and an end that damage caused, are in the row alone.
    if let Some((cause, at)) = summary.cause.zip(summary.ended_at) {
        timeline.end(cause, at);
    }
    let end = timeline.rows.pop_if(|row| row.kind == TimelineKind::End);
    for note in &summary.notes {
        timeline.add_note(note, summary.ended_at.unwrap_or(last));
    }
    if let Some(mut end) = end {
        end.number = timeline.rows.len() as u64 + 1;
        end.text.clone_from(&summary.message);
        timeline.rows.push(end);
    }
    Ok(timeline.rows)
}

/// Adds what the ledger knows about the model calls of a page.
async fn add_costs(store: &Store, run: RunId, page: &mut [TimelineRow]) -> Result<(), StoreError> {
    let of_call = |row: &TimelineRow| Some(super::ledger_key(run, row.step?, row.attempt?));
    // A call that lasts has only what is set aside for it.
    let is_model = |row: &&mut TimelineRow| {
        row.kind == TimelineKind::Model && row.state != TimelineState::Open
    };
    let keys = page.iter_mut().filter(is_model);
    let keys: Vec<String> = keys.filter_map(|row| of_call(row)).collect();
    let mut costs = store.ledger_calls(keys).await?;
    for row in page.iter_mut().filter(is_model) {
        let Some(call) = of_call(row).and_then(|key| costs.remove(&key)) else {
            continue;
        };
        row.usage = Some(call.usage);
        row.micro_dollars = call.micro_dollars;
        row.model = row.model.take().or(Some(call.model));
    }
    Ok(())
}

/// Adds who decided about the calls of a page.
async fn add_deciders(
    store: &Store,
    run: RunId,
    page: &mut [TimelineRow],
) -> Result<(), StoreError> {
    let has_decision = |row: &&TimelineRow| row.approval.is_some();
    let Some(first) = page.iter().find(has_decision) else {
        return Ok(());
    };
    let (since, mut before) = (first.at, None);
    let mut decisions: BTreeMap<String, Vec<AuditEntry>> = BTreeMap::new();
    for _ in 0..AUDIT_PAGES_MAX {
        let params = AuditListParams {
            run_id: Some(run),
            before,
            limit: Some(PAGE_ROWS_MAX),
            ..AuditListParams::default()
        };
        let found = store.list_audit(params).await?;
        let oldest = found.entries.last().map(|entry| (entry.seq, entry.at));
        for entry in found.entries {
            if let Some(call) = entry.matter["callId"].as_str() {
                let of_call = decisions.entry(call.to_owned()).or_default();
                of_call.push(entry);
            }
        }
        match oldest {
            // Entries of earlier calls are not needed.
            Some((seq, at)) if found.more && at >= since => before = Some(seq),
            _ => break,
        }
    }
    for row in page.iter_mut() {
        let of_call = row.call_id.as_ref().and_then(|id| decisions.get(id));
        let (Some(approval), Some(entries)) = (&mut row.approval, of_call) else {
            continue;
        };
        approval.person = entries.iter().any(|entry| entry.act == "asked");
        // The newest first: a call that is asked about again has its last decision.
        let decision = entries.iter().find(|entry| entry.act != "asked");
        approval.by = decision.map(|entry| entry.by.clone());
    }
    Ok(())
}
