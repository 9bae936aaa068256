//! File changes of a call: plan, preview, backup, execution. The tools that change files only
//! plan; the rest is here and the same for all.
//!
//! Invariants: planning changes nothing; the previous content is on disk before a run changes it;
//! a plan is executed only if its inputs are byte for byte those that were approved.

use crate::outcome::failed;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath, file_fingerprint, sha256_hex};
use crate::{CallPreview, ToolEnv, ToolFuture, atomic_write};
use hob_core::permission::{Approved, PreparedCall};
use hob_store::{NewFileChange, PreviousEntry};
use hob_wire::rooms::tool::ToolExecuteResult;

/// The changes a call would make.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    /// The changes, in order.
    pub(crate) steps: Vec<ChangeStep>,
    /// One or more lines for a person, not escaped yet.
    pub(crate) preview: String,
    /// The answer to the model after success.
    pub(crate) done: ToolExecuteResult,
    /// True if a moved folder holds something that needs a question each time.
    pub(crate) asks_always: bool,
}

/// One change of one path.
#[derive(Debug)]
pub(crate) enum ChangeStep {
    /// Creates or replaces a file; missing folders are created.
    Write {
        place: WorkspacePath,
        before: FsNode,
        bytes: Vec<u8>,
        mode: u32,
    },
    /// Removes an entry.
    Remove {
        place: WorkspacePath,
        before: FsNode,
    },
    /// Moves an entry to a path where nothing exists.
    Move {
        from: WorkspacePath,
        to: WorkspacePath,
        before: FsNode,
        /// Identifies the entry when the move is undone.
        mark: String,
    },
}

/// Plans a call.
pub(crate) type PlanFn = fn(&PreparedCall, &ToolEnv) -> Result<ChangePlan, ToolRefusal>;

/// Previews a call and the state that its approval is bound to.
pub(crate) fn preview(work: &PreparedCall, env: &ToolEnv, planner: PlanFn) -> CallPreview {
    match planner(work, env) {
        Ok(plan) => CallPreview {
            asks_always: plan.asks_always || plan.steps.iter().any(ChangeStep::asks_always),
            state: plan.state(),
            preview: plan.preview,
            would_fail: None,
        },
        Err(ToolRefusal(reason)) => CallPreview::failing(reason),
    }
}

/// Runs an approved call.
pub(crate) fn run(call: Approved<PreparedCall>, env: ToolEnv, planner: PlanFn) -> ToolFuture {
    Box::pin(async move {
        let done = execute(call.into_call(), env, planner).await;
        done.unwrap_or_else(|ToolRefusal(reason)| failed(reason))
    })
}

async fn execute(
    work: PreparedCall,
    env: ToolEnv,
    planner: PlanFn,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let of = work.context.run_id.zip(work.context.call_id.clone());
    let workspace = work.context.workspace.clone().unwrap_or_default();
    let seen = env.clone();
    let plan = blocking(move || {
        let plan = planner(&work, &seen)?;
        match &work.state {
            Some(state) if *state != plan.state() => Err(ToolRefusal(
                "The files changed after this call was approved; nothing was done. Read them again and repeat the call."
                    .to_owned(),
            )),
            _ => Ok(plan),
        }
    })
    .await?;
    // A crash after this point leaves enough on disk to undo the change or to probe it.
    if let Some((run, call)) = of {
        let Some(store) = env.store() else {
            return Err(ToolRefusal(
                "The previous content cannot be stored for undo, so nothing was done.".to_owned(),
            ));
        };
        let kept = store.record_changes(&run, &call, plan.file_changes(&workspace));
        kept.await.map_err(|error| {
            ToolRefusal(format!(
                "The previous content could not be stored for undo, so nothing was done: {error}"
            ))
        })?;
    }
    blocking(move || plan.execute()).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolRefusal> + Send + 'static,
) -> Result<T, ToolRefusal> {
    // A file system may be slow or hang; only this thread waits for it.
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ToolRefusal("It was interrupted.".to_owned())))
}

impl ChangePlan {
    /// The fingerprint of the paths in the plan and their current content.
    pub(crate) fn state(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let (place, before) = match step {
                ChangeStep::Write { place, before, .. } | ChangeStep::Remove { place, before } => {
                    (place, before)
                }
                ChangeStep::Move { from, before, .. } => (from, before),
            };
            let added = format!("{}\0{}\0", place.real.display(), before.fingerprint());
            text.push_str(&added);
        }
        format!("seen:{}", sha256_hex(text.as_bytes()))
    }

    fn file_changes(&self, workspace: &str) -> Vec<NewFileChange> {
        let mut changes = Vec::new();
        let mut add = |path: String, former: PreviousEntry, becomes: String| {
            changes.push(NewFileChange {
                workspace: workspace.to_owned(),
                path,
                former,
                becomes,
            });
        };
        for step in &self.steps {
            let target = match step {
                ChangeStep::Write { place, .. } | ChangeStep::Remove { place, .. } => place,
                ChangeStep::Move { to, .. } => to,
            };
            for folder in new_folders(target) {
                add(folder, PreviousEntry::Nothing, "folder".to_owned());
            }
            match step {
                ChangeStep::Write {
                    place,
                    before,
                    bytes,
                    ..
                } => add(
                    place.shown.clone(),
                    previous_entry(before),
                    file_fingerprint(bytes),
                ),
                ChangeStep::Remove { place, before } => {
                    add(
                        place.shown.clone(),
                        previous_entry(before),
                        FsNode::Nothing.fingerprint(),
                    );
                }
                ChangeStep::Move { from, to, mark, .. } => {
                    let from = from.shown.clone();
                    add(
                        to.shown.clone(),
                        PreviousEntry::Moved { from },
                        mark.clone(),
                    );
                }
            }
        }
        changes
    }

    fn execute(self) -> Result<ToolExecuteResult, ToolRefusal> {
        let count = self.steps.len();
        for (number, step) in self.steps.into_iter().enumerate() {
            step.execute().map_err(|ToolRefusal(reason)| {
                ToolRefusal(match number {
                    0 => format!("Nothing was done. {reason}"),
                    some => format!("Only {some} of {count} changes were made. {reason}"),
                })
            })?;
        }
        Ok(self.done)
    }
}

impl ChangeStep {
    /// Returns true if it changes a file that another program may run by itself.
    fn asks_always(&self) -> bool {
        match self {
            ChangeStep::Write { place, .. } | ChangeStep::Remove { place, .. } => place.asks_always,
            ChangeStep::Move { from, to, .. } => from.asks_always || to.asks_always,
        }
    }

    fn execute(self) -> Result<(), ToolRefusal> {
        match self {
            ChangeStep::Write {
                mut place,
                before,
                bytes,
                mode,
            } => {
                atomic_write::create_missing_folders(&mut place)?;
                atomic_write::replace_file(&place, &before, &bytes, mode)
            }
            ChangeStep::Remove { place, before } => atomic_write::remove(&place, &before),
            ChangeStep::Move { from, mut to, .. } => {
                atomic_write::create_missing_folders(&mut to)?;
                atomic_write::move_entry(&from, &to)
            }
        }
    }
}

/// The paths of the folders that will be created, the outermost first.
fn new_folders(place: &WorkspacePath) -> Vec<String> {
    let mut steps: Vec<&str> = place.shown.split('/').collect();
    steps.pop();
    let there = steps.len().saturating_sub(place.missing.len());
    (there + 1..=steps.len())
        .map(|count| steps[..count].join("/"))
        .collect()
}

fn previous_entry(node: &FsNode) -> PreviousEntry {
    match node.clone() {
        FsNode::Nothing => PreviousEntry::Nothing,
        FsNode::File { bytes, mode } => PreviousEntry::File { bytes, mode },
        FsNode::Link { target } => PreviousEntry::Link { target },
        FsNode::Folder { mode } => PreviousEntry::Folder { mode },
    }
}
