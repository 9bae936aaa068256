//! What is measured, a file each.

pub(crate) mod append;
mod listing;
mod route;
mod start;

use crate::report::Row;
use anyhow::Result;
use std::future::Future;
use std::pin::Pin;

type Measuring = Pin<Box<dyn Future<Output = Result<Vec<Row>>>>>;

/// A group of rows measured together.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) run: fn(quick: bool) -> Measuring,
}

pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: "routed round trips",
        run: |quick| Box::pin(route::run(quick)),
    },
    Group {
        name: "durable appends",
        run: |quick| Box::pin(append::run(quick)),
    },
    Group {
        name: "cold start and idle memory",
        run: |quick| Box::pin(start::run(quick)),
    },
    Group {
        name: "listing beside streams",
        run: |quick| Box::pin(listing::run(quick)),
    },
];
