//! What the tools that ask other rooms of the house share. They call over the bus, like anybody.
//!
//! Invariant: no room's code is known here, only its words.

use crate::ground::Ground;
use crate::outcome::{failed, said};
use crate::spot::Refused;
use hob_wire::rooms::tool::Executed;
use hob_wire::{ErrorCode, Method};
use serde::Serialize;

/// Asks a room; what it refuses is told to the model.
pub(crate) async fn ask<M: Method>(
    ground: &Ground,
    params: &M::Params,
) -> Result<M::Result, Refused> {
    let Some(rooms) = ground.rooms() else {
        return Err(Refused(
            "No room of the house can be asked here.".to_owned(),
        ));
    };
    let answer = rooms.call::<M>(params).await;
    answer.map_err(|error| Refused(error.message))
}

/// Asks a room for something that may not be there.
pub(crate) async fn ask_if_there<M: Method>(
    ground: &Ground,
    params: &M::Params,
) -> Result<Option<M::Result>, Refused> {
    let Some(rooms) = ground.rooms() else {
        return ask::<M>(ground, params).await.map(Some);
    };
    match rooms.call::<M>(params).await {
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        answer => answer.map(Some).map_err(|error| Refused(error.message)),
    }
}

/// Lines for the model, and the same for a program.
pub(crate) fn told<T: Serialize>(lines: &[String], all: &T) -> Executed {
    Executed {
        metadata: serde_json::to_value(all).ok(),
        ..said(lines.join("\n"))
    }
}

pub(crate) fn or_failed(told: Result<Executed, Refused>) -> Executed {
    told.unwrap_or_else(|Refused(reason)| failed(reason))
}
