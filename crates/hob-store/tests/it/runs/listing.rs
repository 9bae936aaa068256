//! Listings: newest first, filtered, paged through thousands.

use super::rig::{run, step};
use crate::support::{Home, Open, count, together, wait_for};
use hob_store::{NewRun, RunRow};
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{AgentListParams, RunState};
use std::sync::Arc;

async fn pages(store: &Open, params: AgentListParams) -> Vec<RunRow> {
    let mut runs = Vec::new();
    let mut before = None;
    loop {
        let page = store
            .list_runs(AgentListParams {
                before,
                ..params.clone()
            })
            .await
            .unwrap();
        assert!(page.runs.len() <= params.limit.unwrap_or(50) as usize);
        runs.extend(page.runs);
        before = page.next;
        if before.is_none() {
            return runs;
        }
    }
}

fn ids(runs: &[RunRow]) -> Vec<RunId> {
    runs.iter().map(|run| run.id).collect()
}

#[tokio::test]
async fn ten_thousand_runs_are_paged_without_a_hole() {
    const RUNS: usize = 10_000;
    const CALLERS: usize = 100;
    let home = Home::new();
    let store = Arc::new(home.open());
    together(CALLERS, |caller| {
        let store = Arc::clone(&store);
        async move {
            for number in 0..RUNS / CALLERS {
                let run = NewRun {
                    queue_max: 10_000,
                    ..run(&format!("s{}", caller % 10), &number.to_string())
                };
                let run = store.accept(run).await;
                if number % 10 != 0 {
                    let end = step(&run, 0, RunState::Done);
                    store.write_step(end).await.unwrap();
                }
            }
        }
    })
    .await;
    let all = pages(
        &store,
        AgentListParams {
            limit: Some(500),
            ..AgentListParams::default()
        },
    )
    .await;
    assert_eq!(all.len(), RUNS);
    let mut unique = ids(&all);
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), RUNS);

    let of = |session: Option<&str>, state: Option<RunState>| AgentListParams {
        session_key: session.map(ToOwned::to_owned),
        folder: None,
        state,
        limit: Some(97),
        before: None,
    };
    let kept = |session: Option<&str>, state: Option<RunState>| {
        let matches = |run: &&RunRow| {
            session.is_none_or(|session| run.session_key == session)
                && state.is_none_or(|state| run.summary.state == state)
        };
        all.iter()
            .filter(matches)
            .map(|run| run.id)
            .collect::<Vec<_>>()
    };
    for session in [None, Some("s3")] {
        for state in [None, Some(RunState::Queued), Some(RunState::Done)] {
            let listed = pages(&store, of(session, state)).await;
            assert_eq!(ids(&listed), kept(session, state), "{session:?} {state:?}");
        }
    }
    let mut unfinished = ids(&store.unfinished_runs().await.unwrap());
    unfinished.reverse();
    assert_eq!(unfinished, kept(None, Some(RunState::Queued)));
    let stats = store.run_stats().await.unwrap();
    assert_eq!((stats.runs, stats.queued, stats.active), (10_000, 1_000, 0));
    store.close().await;
}

#[tokio::test]
async fn a_cursor_survives_new_runs_and_the_end_of_its_own() {
    let home = Home::new();
    let store = home.open();
    let mut made = Vec::new();
    for number in 0..6 {
        let session = if number == 3 { "gone" } else { "s" };
        made.push(store.whole_run(session, &number.to_string()).await.id);
    }
    let page = |before| AgentListParams {
        limit: Some(3),
        before,
        ..AgentListParams::default()
    };
    let first = store.list_runs(page(None)).await.unwrap();
    assert_eq!(ids(&first.runs), [made[5], made[4], made[3]]);
    assert_eq!(first.next, Some(made[3]));
    store.whole_run("s", "late").await;
    let gone = SessionRef::parse("gone");
    store.delete_session(&gone).await.unwrap();
    wait_for("the sweep", || {
        count(&home.database(), "SELECT count(*) FROM runs") == 6
    })
    .await;
    let second = store.list_runs(page(first.next)).await.unwrap();
    assert_eq!(ids(&second.runs), [made[2], made[1], made[0]]);
    assert_eq!(second.next, None);
    store.close().await;
}

#[tokio::test]
async fn heavy_runs_make_small_pages() {
    let home = Home::new();
    let store = home.open();
    for number in 0..4 {
        store
            .whole_run("s", &number.to_string().repeat(1_500_000))
            .await;
    }
    let first = store.list_runs(AgentListParams::default()).await.unwrap();
    assert_eq!(first.runs.len(), 2);
    assert_eq!(pages(&store, AgentListParams::default()).await.len(), 4);
    store.close().await;
}

#[tokio::test]
async fn the_latest_is_the_one_under_way_or_else_the_newest() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    let session = SessionRef::parse("s");
    assert_eq!(store.latest_run(&session).await.unwrap(), None);
    let old = store.whole_run("s", "old").await;
    let latest = async || store.latest_run(&session).await.unwrap().unwrap().id;
    assert_eq!(latest().await, old.id);
    let first = store.accept(run("s", "1")).await;
    let second = store.accept(run("s", "2")).await;
    assert_eq!(latest().await, second.id);
    store
        .write_step(step(&first, 0, RunState::Waiting))
        .await
        .unwrap();
    assert_eq!(latest().await, first.id);
    let nobody = store.latest_run(&SessionRef::parse("nobody")).await;
    assert!(nobody.is_err());
    store.close().await;
}
