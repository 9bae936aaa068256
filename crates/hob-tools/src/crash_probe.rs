//! Whether a call that a crash cut off took effect: what was kept before it began is compared
//! with what is there now.
//!
//! Invariant: a yes or a no is only said when every place is as the call would have left it, or as
//! it found it; anything between is for a person.

use crate::spot::Spot;
use crate::{Ground, Probing, moved_thing};
use hob_core::permission::Work;
use hob_store::{Change, Former};
use hob_wire::rooms::tool::{Executed, Probed};

/// What a tool's answer would have been.
pub(crate) type Told = fn(&Work) -> Option<Executed>;

pub(crate) fn probe(work: Work, ground: Ground, told: Told) -> Probing {
    Box::pin(async move {
        match find_out(&work, &ground).await {
            Ok(Some(true)) => match told(&work) {
                Some(outcome) => Probed::Yes { outcome },
                None => unknown("its arguments do not fit"),
            },
            Ok(Some(false)) => Probed::No,
            Ok(None) => unknown(
                "what is there now is neither what was there before nor what it would have left",
            ),
            Err(reason) => unknown(&reason),
        }
    })
}

fn unknown(reason: &str) -> Probed {
    Probed::Unknown {
        known: format!("Whether it took effect cannot be told: {reason}."),
    }
}

async fn find_out(work: &Work, ground: &Ground) -> Result<Option<bool>, String> {
    let (Some(run), Some(call), Some(store)) =
        (&work.context.run_id, &work.context.call_id, ground.store())
    else {
        return Err("it is no call of a run".to_owned());
    };
    let changes = store
        .changes(run)
        .await
        .map_err(|error| error.to_string())?;
    let ours: Vec<Change> = changes.into_iter().filter(|it| it.call == *call).collect();
    if ours.is_empty() {
        // What was there is kept before anything is changed.
        return Ok(Some(false));
    }
    let (mut happened, mut did_not) = (true, true);
    for change in ours {
        let former = store
            .former(&change)
            .await
            .map_err(|error| error.to_string())?;
        // Folders on the way may stand already: making them again does nothing.
        if former == Former::Nothing && change.becomes == "folder" {
            continue;
        }
        let seen = ground.clone();
        let compared = tokio::task::spawn_blocking(move || compare(&change, &former, &seen));
        let (is_after, is_before) = compared.await.map_err(|error| error.to_string())?;
        happened &= is_after;
        did_not &= is_before;
    }
    Ok(match (happened, did_not) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    })
}

/// Whether a place is as the change leaves it, and whether it is as it was before.
fn compare(change: &Change, former: &Former, ground: &Ground) -> (bool, bool) {
    let mark = |path: &str| {
        let spot = Spot::find(Some(&change.workspace), path, ground).ok()?;
        Some(spot.look().ok()?.mark())
    };
    let now = mark(&change.path);
    let is_after = now.as_ref() == Some(&change.becomes);
    match former {
        Former::Moved { from } => {
            let is_it = |path: &str| {
                let spot = Spot::find(Some(&change.workspace), path, ground).ok()?;
                let node = spot.look().ok()?;
                moved_thing::is_the_one(&spot, &node, &change.becomes).ok()
            };
            let source = mark(from);
            let nothing = Some("nothing".to_owned());
            (
                source == nothing && is_it(&change.path) == Some(true),
                now == nothing && is_it(from) == Some(true),
            )
        }
        former => (is_after, now == Some(crate::undo::mark(former))),
    }
}
