//! `loop.*` through the bus, over real SQLite, against the scripted model server.
//!
//! - `story`: iterations one after the other, memories, history, events
//! - `outcomes`: denials, ceilings and calls in doubt
//! - `stopping`: stops, failures and other ends
//! - `watching`: monitors
//! - `restarts`: loops continue after a crash
//! - `memory`: memories that a loop writes, and who may write them
//! - `keeping`: creating, changing, deleting, and refusals

mod keeping;
mod memory;
mod outcomes;
mod restarts;
mod stopping;
mod story;
mod watching;

use crate::agent::house::{House, in_time};
use hob_wire::Method;
use hob_wire::rooms::loops::{
    Create, Get, History, IterationRecord, Loop, LoopChange, LoopCreateParams, LoopHistoryParams,
    LoopSelector, Start, Stop,
};
use serde_json::Value;

/// Settings of a loop from JSON.
fn change(json: Value) -> LoopChange {
    serde_json::from_value(json).expect("is a change")
}

fn named(name: &str) -> LoopSelector {
    LoopSelector {
        name: name.to_owned(),
    }
}

async fn call<M: Method>(house: &House, params: M::Params) -> M::Result {
    let called = in_time(house.caller().call::<M>(&params)).await;
    called.unwrap_or_else(|error| panic!("{}: {error}", M::SPEC.name))
}

async fn make(house: &House, name: &str, config: Value) -> Loop {
    let params = LoopCreateParams {
        name: name.to_owned(),
        config: change(config),
        ..LoopCreateParams::default()
    };
    call::<Create>(house, params).await
}

async fn start(house: &House, name: &str) -> Loop {
    call::<Start>(house, named(name)).await
}

async fn stop(house: &House, name: &str) -> Loop {
    call::<Stop>(house, named(name)).await
}

async fn get(house: &House, name: &str) -> Loop {
    call::<Get>(house, named(name)).await
}

/// Returns every iteration, the oldest first.
async fn history(house: &House, name: &str) -> Vec<IterationRecord> {
    let params = LoopHistoryParams {
        name: name.to_owned(),
        before: None,
        limit: Some(500),
    };
    let mut iterations = call::<History>(house, params).await.iterations;
    iterations.reverse();
    iterations
}
