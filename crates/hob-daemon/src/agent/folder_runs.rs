//! Finds the newest runs of a folder: "the latest run here" of `hob undo` and `hob run show`.
//!
//! Invariant: at most [`SEARCHED_RUNS_MAX`] runs are looked at, so a folder without runs costs as
//! little as one with many.

use hob_store::{RunPage, RunRow, Store};
use hob_wire::WireError;
use hob_wire::limits::PAGE_ROWS_DEFAULT;
use hob_wire::rooms::agent::{AgentListParams, AgentRunParams};
use std::path::Path;

/// The newest runs that are looked at.
const SEARCHED_RUNS_MAX: usize = 500;
/// The runs of one page of the search; the wanted run is mostly on the first.
const SEARCH_PAGE: u32 = 20;

/// Lists the newest runs of a folder. Runs that other runs started are left out: they belong to
/// their parent. There is no next page.
pub(super) async fn find(
    store: &Store,
    params: AgentListParams,
    folder: &str,
) -> Result<RunPage, WireError> {
    let wanted = params.limit.unwrap_or(PAGE_ROWS_DEFAULT) as usize;
    let mut search = AgentListParams {
        folder: None,
        limit: Some(SEARCH_PAGE),
        ..params
    };
    let mut found = RunPage::default();
    let mut searched = 0;
    loop {
        let page = store.list_runs(search.clone()).await?;
        found.damaged.extend(page.damaged);
        for row in page.runs {
            searched += 1;
            if row.parent.is_none() && is_of(store, &row, folder).await {
                found.runs.push(row);
            }
            if found.runs.len() >= wanted || searched >= SEARCHED_RUNS_MAX {
                return Ok(found);
            }
        }
        match page.next {
            Some(next) => search.before = Some(next),
            None => return Ok(found),
        }
    }
}

/// Returns true if the run worked in the folder or was asked from it. Unreadable parameters are no
/// match.
async fn is_of(store: &Store, row: &RunRow, folder: &str) -> bool {
    let Ok(params) = store.run_params(&row.id).await else {
        return false;
    };
    let Ok(params) = serde_json::from_value::<AgentRunParams>(params) else {
        return false;
    };
    let place = params.folder.or(params.workspace);
    place.is_some_and(|place| Path::new(&place) == Path::new(folder))
}
