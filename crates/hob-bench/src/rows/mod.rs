//! What is measured, a file each.

pub(crate) mod append;
mod archy;
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

use crate::report::Row;
use anyhow::Result;
use std::future::Future;
use std::pin::Pin;

type Measuring = Pin<Box<dyn Future<Output = Result<Vec<Row>>>>>;

/// A group of rows measured together.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// What a reader has to know beyond the rows' names.
    pub(crate) note: Option<&'static str>,
    pub(crate) run: fn(quick: bool) -> Measuring,
}

pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: "routed round trips",
        note: None,
        run: |quick| Box::pin(route::run(quick)),
    },
    Group {
        name: "durable appends",
        note: Some(append::NOTE),
        run: |quick| Box::pin(append::run(quick)),
    },
    Group {
        name: "cold start and idle memory",
        note: None,
        run: |quick| Box::pin(start::run(quick)),
    },
    Group {
        name: "listing beside streams",
        note: None,
        run: |quick| Box::pin(listing::run(quick)),
    },
    Group {
        name: "streamed tokens",
        note: Some(tokens::NOTE),
        run: |quick| Box::pin(tokens::run(quick)),
    },
    Group {
        name: "durable turns",
        note: Some(turns::NOTE),
        run: |quick| Box::pin(turns::run(quick)),
    },
    Group {
        name: "unfinished runs at start",
        note: Some(resume::NOTE),
        run: |quick| Box::pin(resume::run(quick)),
    },
    Group {
        name: "searching files",
        note: Some(search::NOTE),
        run: |quick| Box::pin(search::run(quick)),
    },
    Group {
        name: "commands in the sandbox",
        note: Some(exec::NOTE),
        run: |quick| Box::pin(exec::run(quick)),
    },
    Group {
        name: "permissions and tool calls",
        note: Some(permission::NOTE),
        run: |quick| Box::pin(permission::run(quick)),
    },
    Group {
        name: "local model",
        note: Some(local::NOTE),
        run: |quick| Box::pin(local::run(quick)),
    },
    Group {
        name: "jobs",
        note: Some(schedule::NOTE),
        run: |quick| Box::pin(schedule::run(quick)),
    },
    Group {
        name: "kept services",
        note: Some(kept::NOTE),
        run: |quick| Box::pin(kept::run(quick)),
    },
    Group {
        name: "loops",
        note: Some(loops::NOTE),
        run: |quick| Box::pin(loops::run(quick)),
    },
    Group {
        name: "Archy's socket",
        note: Some(archy::NOTE),
        run: |quick| Box::pin(archy::run(quick)),
    },
    Group {
        name: "shared terminals",
        note: Some(terminal::NOTE),
        run: |quick| Box::pin(terminal::run(quick)),
    },
];
