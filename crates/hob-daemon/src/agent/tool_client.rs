//! Access of a run to tools and permissions, over the bus. Invariants: nothing is executed without
//! a ticket of the permission room; an error that proves the call did not run is told apart from
//! one that leaves doubt.

use super::tool_list_cache::ToolListCache;
use hob_bus::Caller;
use hob_wire::rooms::permission::{
    self, BY_CANNOT_RUN, PermissionAskParams, PermissionDenial, PermissionWithdrawParams,
};
use hob_wire::rooms::tool::{
    Cancel, Describe, Execute, Probe, ToolCancelParams, ToolDescribeParams, ToolExecuteParams,
    ToolExecuteResult, ToolProbeResult,
};
use hob_wire::rule::PermissionRule;
use hob_wire::work::{PermissionDecision, RuleDecision, Tier, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, RunId, ToolCall, ToolResult, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tool access of one run, within its limits.
#[derive(Clone, Debug)]
pub(crate) struct ToolClient {
    pub(crate) caller: Caller,
    pub(crate) tool_list: Arc<ToolListCache>,
    pub(crate) run_id: RunId,
    pub(crate) session_key: String,
    pub(crate) workspace: Option<String>,
    pub(crate) ceiling: Option<Tier>,
    /// The channel that the task came from.
    pub(crate) channel: Option<String>,
    /// True if no person can be asked.
    pub(crate) unattended: bool,
    /// True for a child run, which may not use some tools.
    pub(crate) is_child: bool,
    /// The only tools it may use; all if missing.
    pub(crate) only: Option<BTreeSet<String>>,
}

/// The result of asking permission for a call.
#[derive(Clone, Debug)]
pub(crate) enum PermissionOutcome {
    Allowed {
        ticket: Option<String>,
        digest: Option<String>,
    },
    Denied(Box<PermissionDenial>),
    /// The permission room did not answer, so there is no approval.
    Unreachable(Box<PermissionDenial>),
    /// The call cannot run, so nobody is asked.
    Impossible {
        reason: String,
    },
}

/// The result of executing a call.
#[derive(Clone, Debug)]
pub(crate) enum ExecutionOutcome {
    /// The tool's answer, or the reason why it never began.
    Answered(ToolResult),
    /// It is unknown if the call took effect.
    Unanswered(String),
}

impl ToolClient {
    /// The tools offered to the model, sorted by name.
    pub(crate) async fn offered_tools(&self) -> Result<Vec<ToolSpec>, WireError> {
        if self.only.as_ref().is_some_and(BTreeSet::is_empty) {
            return Ok(Vec::new());
        }
        let all = self.tool_list.current(&self.caller).await?;
        let within = |tool: &&ToolSpec| {
            self.may_use(&tool.name) && self.ceiling.is_none_or(|ceiling| tool.tier <= ceiling)
        };
        let mut tools: Vec<ToolSpec> = all.tools.iter().filter(within).cloned().collect();
        // A stable order keeps the provider's prompt cache valid.
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let is_watched = !self.unattended && self.channel.is_none();
        if is_watched || self.only.is_some() {
            return Ok(tools);
        }
        let mut offered = Vec::with_capacity(tools.len());
        for tool in tools {
            // A call of a hidden tool is still decided like any other.
            let is_hidden = hob_tools::traits(&tool.name).hidden_when_unwatched;
            if !is_hidden || self.has_allow_rule(&tool.name).await {
                offered.push(tool);
            }
        }
        Ok(offered)
    }

    /// True if a stored rule allows some call of a tool.
    async fn has_allow_rule(&self, tool: &str) -> bool {
        let params = permission::PermissionListParams {
            tool: Some(tool.to_owned()),
            session_key: Some(self.session_key.clone()),
            ..permission::PermissionListParams::default()
        };
        let found = self.caller.call::<permission::List>(&params).await;
        let allows = |rule: &PermissionRule| rule.terms.decision == RuleDecision::Allow;
        found.is_ok_and(|found| found.rules.iter().any(allows))
    }

    /// Asks permission for a call; waits for a person if needed. `approved` is the digest of an
    /// approval from before a restart. A resumed run also waits for the tool's service to
    /// reconnect.
    pub(crate) async fn ask_permission(
        &self,
        call: ToolCall,
        approved: Option<String>,
        resumed: bool,
    ) -> PermissionOutcome {
        if !call.args.is_object() {
            let reason = "The arguments are not a JSON object. Call it again with arguments that fit its schema.";
            return PermissionOutcome::Impossible {
                reason: reason.to_owned(),
            };
        }
        let tool = match self.find_tool(&call, resumed).await {
            Ok(tool) => tool,
            Err(reason) => return PermissionOutcome::Impossible { reason },
        };
        let context = self.context(&call);
        let question = PermissionAskParams {
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
            Box::new(PermissionDenial {
                call_id: call.id.clone(),
                tool: question.tool.name.clone(),
                by,
                reason,
                grant,
            })
        };
        match ruling {
            Ok(ruling) if ruling.decision == PermissionDecision::Allow => {
                PermissionOutcome::Allowed {
                    ticket: ruling.ticket,
                    digest: ruling.digest,
                }
            }
            Ok(ruling) if ruling.by == BY_CANNOT_RUN => PermissionOutcome::Impossible {
                reason: ruling.reason.unwrap_or_default(),
            },
            Ok(ruling) => {
                let reason = ruling.reason;
                let reason = reason.unwrap_or_else(|| "This call was denied.".to_owned());
                PermissionOutcome::Denied(denied(ruling.by, reason, ruling.grant))
            }
            // Without an approval it does not run.
            Err(error) => {
                let reason = format!("Permission could not be obtained: {}", error.message);
                PermissionOutcome::Unreachable(denied(error.code.as_str().to_owned(), reason, None))
            }
        }
    }

    /// The tool of a call, if this run may use it; else the reason for the model.
    async fn find_tool(&self, call: &ToolCall, resumed: bool) -> Result<ToolSpec, String> {
        let unknown = || format!("There is no tool '{}' in this run.", call.name);
        if !self.may_use(&call.name) {
            return Err(unknown());
        }
        let describe = ToolDescribeParams {
            name: call.name.clone(),
            wait: resumed,
        };
        let described = self.caller.call::<Describe>(&describe).await;
        let tool = described.map_err(|error| match error.code {
            ErrorCode::NotFound => unknown(),
            _ => error.message,
        })?;
        // An alias may resolve to a tool that this run must not use.
        if !self.is_open_to_run(&tool.name) {
            return Err(unknown());
        }
        Ok(tool)
    }

    /// Executes a call.
    pub(crate) async fn execute(&self, call: ToolCall, ticket: Option<String>) -> ExecutionOutcome {
        let id = call.id.clone();
        let params = self.execute_params(call, ticket);
        match self.caller.call::<Execute>(&params).await {
            Ok(executed) => ExecutionOutcome::Answered(to_tool_result(id, executed)),
            Err(error) if leaves_doubt(error.code) => ExecutionOutcome::Unanswered(error.message),
            Err(error) => ExecutionOutcome::Answered(super::replayed_run::text_result(
                &id,
                error.message,
                true,
            )),
        }
    }

    /// Asks the tool if an earlier call happened. An error counts as unknown.
    pub(crate) async fn probe(&self, call: ToolCall) -> ToolProbeResult {
        let params = self.execute_params(call, None);
        let probed = self.caller.call::<Probe>(&params).await;
        probed.unwrap_or_else(|error| ToolProbeResult::Unknown {
            known: format!("The tool could not be asked: {}", error.message),
        })
    }

    /// Stops a call and returns when it has ended.
    pub(crate) async fn cancel(&self, call: String) {
        let params = ToolCancelParams {
            run_id: self.run_id,
            call_id: call,
        };
        if let Err(error) = self.caller.call::<Cancel>(&params).await {
            tracing::warn!(run = %self.run_id, "a call could not be stopped: {error}");
        }
    }

    /// Withdraws every open question of the run.
    pub(crate) async fn withdraw(&self) {
        let params = PermissionWithdrawParams {
            run_id: self.run_id,
        };
        let withdrawn = self.caller.call::<permission::Withdraw>(&params).await;
        if let Err(error) = withdrawn {
            tracing::debug!(run = %self.run_id, "the questions of the run could not be withdrawn: {error}");
        }
    }

    fn may_use(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name)) && self.is_open_to_run(name)
    }

    fn is_open_to_run(&self, name: &str) -> bool {
        !self.is_child || !hob_tools::traits(name).closed_to_children
    }

    fn execute_params(&self, call: ToolCall, ticket: Option<String>) -> ToolExecuteParams {
        let context = self.context(&call);
        ToolExecuteParams {
            name: call.name,
            args: call.args,
            context,
            ticket,
        }
    }

    /// The idempotency key of a call: the same for every repeat, also by a later daemon.
    fn idempotency_key(&self, call: &ToolCall) -> String {
        format!("{}:{}", self.run_id, call.id)
    }

    fn context(&self, call: &ToolCall) -> ToolContext {
        ToolContext {
            session_key: Some(self.session_key.clone()),
            run_id: Some(self.run_id),
            call_id: Some(call.id.clone()),
            key: Some(self.idempotency_key(call)),
            workspace: self.workspace.clone(),
        }
    }
}

/// Converts a tool's answer into a result for the model.
pub(crate) fn to_tool_result(id: String, executed: ToolExecuteResult) -> ToolResult {
    ToolResult {
        id,
        content: executed.content,
        is_error: executed.is_error,
    }
}

/// True if an error does not say if the call happened: the service went away, stayed silent or
/// crashed.
fn leaves_doubt(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ServiceUnavailable | ErrorCode::Timeout | ErrorCode::Internal
    )
}
