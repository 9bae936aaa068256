//! Changing files for a call: plan it, show it, keep what was there, do it. The tools that change
//! something only plan; everything after that is here, the same for all.
//!
//! Invariants: planning changes nothing; what was there is on disk before a run changes it; what
//! is done was planned from what an approval was bound to, byte for byte, or nothing is done.

use crate::outcome::failed;
use crate::spot::{Node, Refused, Spot, file_mark, hash};
use crate::{Ground, Look, Running, put};
use hob_core::permission::{Approved, Work};
use hob_store::{Former, NewChange};
use hob_wire::rooms::tool::Executed;

/// What a call would do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// In this order.
    pub(crate) steps: Vec<Step>,
    /// What a person is shown: one line or many, not escaped yet.
    pub(crate) preview: String,
    /// What the model is told when it is done.
    pub(crate) done: Executed,
    /// Whether something in a moved folder is asked for each time.
    pub(crate) asks_always: bool,
}

/// One change of one place.
#[derive(Debug)]
pub(crate) enum Step {
    /// A file in the place of another or of nothing; folders on the way are made.
    File {
        spot: Spot,
        before: Node,
        bytes: Vec<u8>,
        mode: u32,
    },
    /// Nothing in the place of something.
    Gone { spot: Spot, before: Node },
    /// Something goes to where nothing is.
    Moved {
        from: Spot,
        to: Spot,
        before: Node,
        /// By which it is known again when the move is undone.
        mark: String,
    },
}

/// How a tool plans a call.
pub(crate) type Planner = fn(&Work, &Ground) -> Result<Plan, Refused>;

/// What a call would do now, and what that rests on.
pub(crate) fn look(work: &Work, ground: &Ground, planner: Planner) -> Look {
    match planner(work, ground) {
        Ok(plan) => Look {
            asks_always: plan.asks_always || plan.steps.iter().any(Step::asks_always),
            state: plan.state(),
            preview: plan.preview,
            would_fail: None,
        },
        Err(Refused(reason)) => Look::failing(reason),
    }
}

/// Does what was approved.
pub(crate) fn run(call: Approved<Work>, ground: Ground, planner: Planner) -> Running {
    Box::pin(async move {
        let done = carry_out(call.into_call(), ground, planner).await;
        done.unwrap_or_else(|Refused(reason)| failed(reason))
    })
}

async fn carry_out(work: Work, ground: Ground, planner: Planner) -> Result<Executed, Refused> {
    let of = work.context.run_id.zip(work.context.call_id.clone());
    let workspace = work.context.workspace.clone().unwrap_or_default();
    let seen = ground.clone();
    let plan = blocking(move || {
        let plan = planner(&work, &seen)?;
        match &work.state {
            Some(state) if *state != plan.state() => Err(Refused(
                "What this call is about was changed after it was approved; nothing was done. Look at it again and call again."
                    .to_owned(),
            )),
            _ => Ok(plan),
        }
    })
    .await?;
    if let Some((run, call)) = of {
        let Some(store) = ground.store() else {
            return Err(Refused(
                "What is there cannot be kept for undoing, so nothing was done.".to_owned(),
            ));
        };
        let kept = store.keep_changes(&run, &call, plan.changes(&workspace));
        kept.await.map_err(|error| {
            Refused(format!(
                "What is there could not be kept for undoing, so nothing was done: {error}"
            ))
        })?;
    }
    blocking(move || plan.carry_out()).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    // A file system may be slow or dead; only this thread then waits for it.
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refused("It was interrupted.".to_owned())))
}

impl Plan {
    /// What the plan rests on: which places, and what is there.
    pub(crate) fn state(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let (spot, before) = match step {
                Step::File { spot, before, .. } | Step::Gone { spot, before } => (spot, before),
                Step::Moved { from, before, .. } => (from, before),
            };
            let added = format!("{}\0{}\0", spot.real.display(), before.mark());
            text.push_str(&added);
        }
        format!("seen:{}", hash(text.as_bytes()))
    }

    fn changes(&self, workspace: &str) -> Vec<NewChange> {
        let mut changes = Vec::new();
        let mut add = |path: String, former: Former, becomes: String| {
            changes.push(NewChange {
                workspace: workspace.to_owned(),
                path,
                former,
                becomes,
            });
        };
        for step in &self.steps {
            let target = match step {
                Step::File { spot, .. } | Step::Gone { spot, .. } => spot,
                Step::Moved { to, .. } => to,
            };
            for folder in new_folders(target) {
                add(folder, Former::Nothing, "folder".to_owned());
            }
            match step {
                Step::File {
                    spot,
                    before,
                    bytes,
                    ..
                } => add(spot.shown.clone(), former(before), file_mark(bytes)),
                Step::Gone { spot, before } => {
                    add(spot.shown.clone(), former(before), Node::Nothing.mark());
                }
                Step::Moved { from, to, mark, .. } => {
                    let from = from.shown.clone();
                    add(to.shown.clone(), Former::Moved { from }, mark.clone());
                }
            }
        }
        changes
    }

    fn carry_out(self) -> Result<Executed, Refused> {
        let count = self.steps.len();
        for (number, step) in self.steps.into_iter().enumerate() {
            step.carry_out().map_err(|Refused(reason)| {
                Refused(match number {
                    0 => format!("Nothing was done. {reason}"),
                    some => format!("Only {some} of {count} changes were made. {reason}"),
                })
            })?;
        }
        Ok(self.done)
    }
}

impl Step {
    /// Whether it changes a file that something else may run by itself.
    fn asks_always(&self) -> bool {
        match self {
            Step::File { spot, .. } | Step::Gone { spot, .. } => spot.asks_always,
            Step::Moved { from, to, .. } => from.asks_always || to.asks_always,
        }
    }

    fn carry_out(self) -> Result<(), Refused> {
        match self {
            Step::File {
                mut spot,
                before,
                bytes,
                mode,
            } => {
                put::make_missing(&mut spot)?;
                put::file(&spot, &before, &bytes, mode)
            }
            Step::Gone { spot, before } => put::nothing(&spot, &before),
            Step::Moved { from, mut to, .. } => {
                put::make_missing(&mut to)?;
                put::moved(&from, &to)
            }
        }
    }
}

/// The paths of the folders that are made on the way to a spot, the outermost first.
fn new_folders(spot: &Spot) -> Vec<String> {
    let mut steps: Vec<&str> = spot.shown.split('/').collect();
    steps.pop();
    let there = steps.len().saturating_sub(spot.missing.len());
    (there + 1..=steps.len())
        .map(|count| steps[..count].join("/"))
        .collect()
}

fn former(node: &Node) -> Former {
    match node.clone() {
        Node::Nothing => Former::Nothing,
        Node::File { bytes, mode } => Former::File { bytes, mode },
        Node::Link { target } => Former::Link { target },
        Node::Folder { mode } => Former::Folder { mode },
    }
}
