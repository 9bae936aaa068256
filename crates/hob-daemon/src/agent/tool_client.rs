//! How a run reaches tools: over the bus, like anybody. Invariants: nothing is executed without a
//! ticket of the permission room; an answer tells apart what surely did not run from what nobody
//! can tell.

use super::tool_list::ToolList;
use hob_bus::Caller;
use hob_core::family;
use hob_kit::failpoint;
use hob_tools::terminal;
use hob_wire::rooms::permission::{self, AskParams, BY_CANNOT_RUN, Denial, WithdrawParams};
use hob_wire::rooms::tool::{
    Cancel, CancelParams, Describe, DescribeParams, Execute, ExecuteParams, Executed, Probe, Probed,
};
use hob_wire::rule::Rule;
use hob_wire::work::{Decision, RuleDecision, Tier, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, RunId, ToolCall, ToolResult, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tools of one run, as far as it may reach.
#[derive(Clone, Debug)]
pub(crate) struct Hands {
    pub(crate) caller: Caller,
    pub(crate) tools: Arc<ToolList>,
    pub(crate) run: RunId,
    pub(crate) session_key: String,
    pub(crate) workspace: Option<String>,
    pub(crate) ceiling: Option<Tier>,
    /// The channel the task came by.
    pub(crate) channel: Option<String>,
    /// Nobody is there to be asked.
    pub(crate) unattended: bool,
    /// Another run started it: some tools are not for it.
    pub(crate) is_child: bool,
    /// Only these; all when missing.
    pub(crate) only: Option<BTreeSet<String>>,
}

/// What became of asking for a call.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Allowed {
        ticket: Option<String>,
        digest: Option<String>,
    },
    Denied(Box<Denial>),
    /// Nobody could be asked, so there is no yes.
    Unreachable(Box<Denial>),
    /// There is nothing to ask: the call cannot run.
    Impossible {
        reason: String,
    },
}

/// What became of running a call.
#[derive(Clone, Debug)]
pub(crate) enum Ran {
    /// The tool's own answer, or the reason why it never began.
    Answered(ToolResult),
    /// Nobody knows whether it happened.
    Unanswered(String),
}

impl Hands {
    /// The tools a model is told of, in a fixed order.
    pub(crate) async fn offered(&self) -> Result<Vec<ToolSpec>, WireError> {
        if self.only.as_ref().is_some_and(BTreeSet::is_empty) {
            return Ok(Vec::new());
        }
        let all = self.tools.current(&self.caller).await?;
        let within = |tool: &&ToolSpec| {
            self.may_use(&tool.name) && self.ceiling.is_none_or(|ceiling| tool.tier <= ceiling)
        };
        let mut tools: Vec<ToolSpec> = all.tools.iter().filter(within).cloned().collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        if self.hides_terminal().await {
            tools.retain(|tool| tool.name != terminal::NAME);
        }
        Ok(tools)
    }

    /// Whether the model is not told of the shared terminal: nobody watches this run, it does not
    /// name the tool itself, and no stored rule allows it anything there. A call is asked for like
    /// any other all the same.
    async fn hides_terminal(&self) -> bool {
        let is_watched = !self.unattended && self.channel.is_none();
        if is_watched || self.only.is_some() {
            return false;
        }
        let params = permission::ListParams {
            tool: Some(terminal::NAME.to_owned()),
            session_key: Some(self.session_key.clone()),
            ..permission::ListParams::default()
        };
        let found = self.caller.call::<permission::List>(&params).await;
        let allows = |rule: &Rule| rule.terms.decision == RuleDecision::Allow;
        !found.is_ok_and(|found| found.rules.iter().any(allows))
    }

    /// Asks whether a call may run; waits for a person if it must. `approved` is the digest of a
    /// yes from before a restart.
    /// Then, too, its service may not be back yet and is waited for.
    pub(crate) async fn ask(
        &self,
        call: ToolCall,
        approved: Option<String>,
        resumed: bool,
    ) -> Asked {
        if !call.args.is_object() {
            let reason = "The arguments are not a JSON object. Call it again with arguments that fit its schema.";
            return Asked::Impossible {
                reason: reason.to_owned(),
            };
        }
        let unknown = || Asked::Impossible {
            reason: format!("There is no tool '{}' in this run.", call.name),
        };
        if !self.may_use(&call.name) {
            return unknown();
        }
        let describe = DescribeParams {
            name: call.name.clone(),
            wait: resumed,
        };
        let tool = match self.caller.call::<Describe>(&describe).await {
            Ok(tool) => tool,
            Err(error) if error.code == ErrorCode::NotFound => return unknown(),
            Err(error) => {
                let reason = error.message;
                return Asked::Impossible { reason };
            }
        };
        // A name of its own may have led to a tool that is not for this run.
        if !self.is_open(&tool.name) {
            return unknown();
        }
        let context = self.context(&call);
        let question = AskParams {
            tool,
            args: call.args.clone(),
            context,
            ceiling: self.ceiling,
            approved,
            channel: self.channel.clone(),
            unattended: self.unattended,
        };
        let ruling = self.caller.call::<permission::Ask>(&question).await;
        let denied = |by: String, reason, grant| {
            Box::new(Denial {
                call_id: call.id.clone(),
                tool: question.tool.name.clone(),
                by,
                reason,
                grant,
            })
        };
        match ruling {
            Ok(ruling) if ruling.decision == Decision::Allow => Asked::Allowed {
                ticket: ruling.ticket,
                digest: ruling.digest,
            },
            Ok(ruling) if ruling.by == BY_CANNOT_RUN => Asked::Impossible {
                reason: ruling.reason.unwrap_or_default(),
            },
            Ok(ruling) => {
                let reason = ruling.reason;
                let reason = reason.unwrap_or_else(|| "This call was denied.".to_owned());
                Asked::Denied(denied(ruling.by, reason, ruling.grant))
            }
            // Without a yes it does not run.
            Err(error) => {
                let reason = format!("No permission could be had: {}", error.message);
                Asked::Unreachable(denied(error.code.as_str().to_owned(), reason, None))
            }
        }
    }

    /// Runs a call.
    pub(crate) async fn execute(&self, call: ToolCall, ticket: Option<String>) -> Ran {
        let id = call.id.clone();
        let params = self.execution(call, ticket);
        match self.caller.call::<Execute>(&params).await {
            Ok(executed) => Ran::Answered(result(id, executed)),
            Err(error) if leaves_doubt(error.code) => Ran::Unanswered(error.message),
            Err(error) => Ran::Answered(super::story::told(&id, error.message, true)),
        }
    }

    /// Asks whether an earlier call happened; what cannot be found out is unknown.
    pub(crate) async fn probe(&self, call: ToolCall) -> Probed {
        let params = self.execution(call, None);
        let probed = self.caller.call::<Probe>(&params).await;
        probed.unwrap_or_else(|error| Probed::Unknown {
            known: format!("The tool could not be asked: {}", error.message),
        })
    }

    /// Tells the tool to stop a call; answers when it has ended.
    pub(crate) async fn cancel(&self, call: String) {
        let params = CancelParams {
            run_id: self.run,
            call_id: call,
        };
        if let Err(error) = self.caller.call::<Cancel>(&params).await {
            tracing::warn!(run = %self.run, "a call could not be stopped: {error}");
        }
    }

    /// Takes back every question of the run.
    pub(crate) async fn withdraw(&self) {
        let params = WithdrawParams { run_id: self.run };
        let withdrawn = self.caller.call::<permission::Withdraw>(&params).await;
        if let Err(error) = withdrawn {
            tracing::debug!(run = %self.run, "its questions could not be taken back: {error}");
        }
    }

    fn may_use(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name)) && self.is_open(name)
    }

    fn is_open(&self, name: &str) -> bool {
        !self.is_child || family::may_use(name)
    }

    fn execution(&self, call: ToolCall, ticket: Option<String>) -> ExecuteParams {
        let context = self.context(&call);
        ExecuteParams {
            name: call.name,
            args: call.args,
            context,
            ticket,
        }
    }

    /// The same for every repeat of a call, by whichever daemon.
    fn key(&self, call: &ToolCall) -> String {
        let mut key = format!("{}:{}", self.run, call.id);
        if failpoint::broken(15) {
            key = format!("{key}:{}", std::process::id());
        }
        key
    }

    fn context(&self, call: &ToolCall) -> ToolContext {
        ToolContext {
            session_key: Some(self.session_key.clone()),
            run_id: Some(self.run),
            call_id: Some(call.id.clone()),
            key: Some(self.key(call)),
            workspace: self.workspace.clone(),
        }
    }
}

/// The tool's answer as the model is told it.
pub(crate) fn result(id: String, executed: Executed) -> ToolResult {
    ToolResult {
        id,
        content: executed.content,
        is_error: executed.is_error,
    }
}

/// Whether a failure leaves open if the call happened: its service went away, stayed silent or
/// fell over while it ran.
fn leaves_doubt(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ServiceUnavailable | ErrorCode::Timeout | ErrorCode::Internal
    )
}
