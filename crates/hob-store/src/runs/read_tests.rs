//! Every query about runs and money walks an index: no table is scanned, nothing is sorted.

use super::*;
use crate::blobs;
use crate::connection::open_draft;
use crate::migrations::migrate;
use crate::runs::{accept, journal, ledger, remove, row, step};
use rusqlite::StatementStatus;
use std::path::Path;

fn plan_of(sql: &Connection, query: &str) -> Vec<String> {
    let mut explain = sql.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
    for index in 1..=explain.parameter_count() {
        explain.raw_bind_parameter(index, 1).unwrap();
    }
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

fn with_schema(check: impl Fn(&Connection)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let sql = open_draft(&path).unwrap();
    migrate(&sql, Path::new("x.db")).unwrap();
    check(&sql);
}

fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        step::UNDER_WAY,
        accept::BY_ID,
        accept::BY_KEY,
        accept::COUNT_LIVE,
        row::UPDATE,
        ledger::FIND,
        ledger::SESSION_SPENT,
        ledger::DAY_SPENT,
        ledger::TOTAL_SPENT,
        ledger::MARK_ABANDONED,
        costs::BY_DAY,
        costs::OF_SESSION,
        remove::HAS_LIVE,
        remove::IS_COUNTED,
        remove::HAS_RUNS,
        remove::NEXT,
        remove::ENTRIES,
        blobs::SELECT_REFERENCE,
        OLDER,
    ]
    .map(ToOwned::to_owned)
    .into();
    queries.extend([row::HEAD.clone(), journal::PAGE.clone(), PARAMS.clone()]);
    queries.extend([row::by_id(), under_way(), first_live(), newest(), at_row()]);
    for of_session in [false, true] {
        for state in [None, Some(RunState::Queued), Some(RunState::Done)] {
            queries.push(listing(of_session, state));
        }
    }
    queries
}

#[test]
fn every_query_searches() {
    with_schema(|sql| {
        for query in &queries() {
            let steps = plan_of(sql, query);
            assert!(!steps.is_empty(), "{query}");
            for step in steps {
                let around = [
                    "COMPOUND QUERY",
                    "LEFT-MOST SUBQUERY",
                    "UNION ALL",
                    "SCALAR SUBQUERY",
                ];
                let walks = step.starts_with("SEARCH") && !step.contains("AUTOMATIC");
                let shape = around.iter().any(|shape| step.starts_with(shape));
                assert!(walks || shape, "{query}: {step}");
            }
        }
    });
}

/// These look at all that have not ended, and only at those.
#[test]
fn the_unfinished_are_found_in_their_own_index() {
    with_schema(|sql| {
        for query in [UNFINISHED, LIVE_STATES] {
            let steps = plan_of(sql, query);
            assert_eq!(
                steps,
                ["SCAN runs USING COVERING INDEX runs_state"],
                "{query}"
            );
        }
    });
}

/// SQLite prepares a statement anew at each use when the plan hangs on a bound value.
#[test]
fn no_query_is_prepared_anew_for_its_values() {
    with_schema(|sql| {
        let mut again = Vec::new();
        for query in queries() {
            let mut statement = sql.prepare(&query).unwrap();
            for value in 0..3 {
                for index in 1..=statement.parameter_count() {
                    statement.raw_bind_parameter(index, value).unwrap();
                }
                let mut rows = statement.raw_query();
                while rows.next().unwrap().is_some() {}
            }
            if statement.get_status(StatementStatus::RePrepare) > 0 {
                again.push(query);
            }
        }
        assert_eq!(again, Vec::<String>::new());
    });
}
