//! What is measured, a file each.

pub(crate) mod append;
mod archy;
mod blocks;
mod exec;
mod kept;
mod listing;
mod local;
mod loops;
mod permission;
mod resume;
mod route;
mod schedule;
mod search;
mod start;
mod terminal;
mod tokens;
pub(crate) mod turns;

use crate::report::BenchRow;
use anyhow::Result;
use std::future::Future;
use std::pin::Pin;

type RowsFuture = Pin<Box<dyn Future<Output = Result<Vec<BenchRow>>>>>;

/// A group of rows measured together.
pub(crate) struct RowGroup {
    pub(crate) name: &'static str,
    /// The explanation of the rows.
    pub(crate) note: Option<&'static str>,
    pub(crate) run: fn(quick: bool) -> RowsFuture,
}

pub(crate) const GROUPS: &[RowGroup] = &[
    RowGroup {
        name: "routed round trips",
        note: None,
        run: |quick| Box::pin(route::run(quick)),
    },
    RowGroup {
        name: "durable appends",
        note: Some(append::NOTE),
        run: |quick| Box::pin(append::run(quick)),
    },
    RowGroup {
        name: "cold start and idle memory",
        note: None,
        run: |quick| Box::pin(start::run(quick)),
    },
    RowGroup {
        name: "listing beside streams",
        note: None,
        run: |quick| Box::pin(listing::run(quick)),
    },
    RowGroup {
        name: "streamed tokens",
        note: Some(tokens::NOTE),
        run: |quick| Box::pin(tokens::run(quick)),
    },
    RowGroup {
        name: "following sessions",
        note: Some(blocks::NOTE),
        run: |quick| Box::pin(blocks::run(quick)),
    },
    RowGroup {
        name: "durable turns",
        note: Some(turns::NOTE),
        run: |quick| Box::pin(turns::run(quick)),
    },
    RowGroup {
        name: "unfinished runs at start",
        note: Some(resume::NOTE),
        run: |quick| Box::pin(resume::run(quick)),
    },
    RowGroup {
        name: "searching files",
        note: Some(search::NOTE),
        run: |quick| Box::pin(search::run(quick)),
    },
    RowGroup {
        name: "commands in the sandbox",
        note: Some(exec::NOTE),
        run: |quick| Box::pin(exec::run(quick)),
    },
    RowGroup {
        name: "permissions and tool calls",
        note: Some(permission::NOTE),
        run: |quick| Box::pin(permission::run(quick)),
    },
    RowGroup {
        name: "local model",
        note: Some(local::NOTE),
        run: |quick| Box::pin(local::run(quick)),
    },
    RowGroup {
        name: "jobs",
        note: Some(schedule::NOTE),
        run: |quick| Box::pin(schedule::run(quick)),
    },
    RowGroup {
        name: "kept services",
        note: Some(kept::NOTE),
        run: |quick| Box::pin(kept::run(quick)),
    },
    RowGroup {
        name: "loops",
        note: Some(loops::NOTE),
        run: |quick| Box::pin(loops::run(quick)),
    },
    RowGroup {
        name: "Archy's socket",
        note: Some(archy::NOTE),
        run: |quick| Box::pin(archy::run(quick)),
    },
    RowGroup {
        name: "shared terminals",
        note: Some(terminal::NOTE),
        run: |quick| Box::pin(terminal::run(quick)),
    },
];
