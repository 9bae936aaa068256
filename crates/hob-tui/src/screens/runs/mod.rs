//! The runs, newest first. Pure.

use super::{ListContent, ListRow, RowAction};
use crate::text::{Role, ago, count, dollars, duration};
use hob_wire::rooms::agent::{AgentListResult, RunEndCause, RunState, RunView};

pub(super) fn content(list: &AgentListResult, wall_ms: u64) -> ListContent {
    let damaged = list.damaged.len();
    let notes = (damaged > 0).then(|| format!("{damaged} damaged runs are left out: hob verify"));
    ListContent {
        heads: vec![
            "TASK", "STATE", "SESSION", "TOKENS", "COST", "TOOK", "STARTED",
        ],
        rows: list.runs.iter().map(|run| row(run, wall_ms)).collect(),
        notes: notes.into_iter().collect(),
        empty: "There are no runs yet.",
    }
}

fn row(run: &RunView, wall_ms: u64) -> ListRow {
    let (state, role) = match (run.state, run.cause) {
        (RunState::Queued, _) => ("queued", Role::Quiet),
        (RunState::Running, _) => ("running", Role::Accent),
        (RunState::Waiting, _) => ("waiting", Role::Warning),
        (RunState::InDoubt, _) => ("in doubt", Role::Warning),
        (RunState::Paused, _) => ("paused", Role::Warning),
        (RunState::Done, Some(RunEndCause::Answered)) => ("answered", Role::Good),
        (RunState::Done, Some(RunEndCause::Aborted)) => ("stopped", Role::Quiet),
        (RunState::Done, _) => ("failed", Role::Bad),
    };
    let took = run.started_at.map_or_else(String::new, |started| {
        duration(run.ended_at.unwrap_or(wall_ms).saturating_sub(started))
    });
    let tokens = run.cost.input_tokens + run.cost.output_tokens;
    let cells = vec![
        (run.task.clone(), Role::Plain),
        (state.to_owned(), role),
        (run.session_key.clone(), Role::Quiet),
        (count(tokens), Role::Quiet),
        (
            run.cost
                .micro_dollars
                .map_or_else(|| "?".to_owned(), dollars),
            Role::Quiet,
        ),
        (took, Role::Quiet),
        (ago(run.queued_at, wall_ms), Role::Quiet),
    ];
    let key = run.session_key.clone();
    ListRow::new(run.run_id.to_string(), cells).doing(RowAction::OpenSession(key))
}
