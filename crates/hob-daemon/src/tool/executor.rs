//! Runs and cancels tool calls.

use super::ToolRoomContext;
use super::in_flight_calls::{InFlightCalls, call_key};
use super::masking::{mask_executed, mask_text};
use super::offer::TIMEOUT_MS_MAX;
use super::own_act;
use super::registry::{RegisteredTool, ToolOrigin};
use super::tool_events::ToolEvents;
use hob_bus::RequestContext;
use hob_core::permission::{Approved, PreparedCall};
use hob_tools::ToolFuture;
use hob_tools::live_output::LiveOutput;
use hob_tools::outcome::failed;
use hob_tools::stored_output::bound_and_store;
use hob_wire::rooms::permission::{PermissionRedeemParams, Redeem};
use hob_wire::rooms::tool::{
    ToolCancelParams, ToolCancelResult, ToolDescribeParams, ToolExecuteParams, ToolExecuteResult,
    ToolListParams, ToolListResult,
};
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use hob_wire::{ErrorCode, Scope, WireError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Time for a tool to report its progress after a cancel.
pub(super) const STOP_GRACE: Duration = Duration::from_millis(600);
/// Longest wait of `tool.cancel` for the end of a call. Below the second within which a stop must
/// take effect.
const CANCEL_WAIT: Duration = Duration::from_millis(900);
/// Largest schema shown to a model whose arguments do not fit.
const SCHEMA_SHOWN_MAX: usize = 4 * 1024;
/// Most tool names listed for a model that asked for an unknown one.
const NAMES_SHOWN_MAX: usize = 40;

pub(super) struct ToolExecutor {
    pub(super) shared: ToolRoomContext,
    in_flight: InFlightCalls,
}

impl ToolExecutor {
    pub(super) fn new(shared: ToolRoomContext) -> Self {
        ToolExecutor {
            shared,
            in_flight: InFlightCalls::default(),
        }
    }

    pub(super) async fn describe(&self, params: ToolDescribeParams) -> Result<ToolSpec, WireError> {
        let name = params.name.as_str();
        let found = if params.wait {
            self.wait_for_return(name).await
        } else {
            self.shared.registry.find(name)
        };
        let missing = || WireError::new(ErrorCode::NotFound, self.unknown_tool_message(name));
        found.map(|tool| tool.spec.clone()).ok_or_else(missing)
    }

    /// Runs a call. A missing right of the caller is an error; a mistake of the model and a failure
    /// of the tool are results for the model.
    pub(super) async fn execute(
        &self,
        call: RequestContext,
        params: ToolExecuteParams,
    ) -> Result<ToolExecuteResult, WireError> {
        let tool = match self.shared.registry.find(&params.name) {
            Some(tool) => Some(tool),
            // An approved call names a tool that existed: its service may be reconnecting.
            None if params.ticket.is_some() => self.wait_for_return(&params.name).await,
            None => None,
        };
        let Some(tool) = tool else {
            return Ok(failed(self.unknown_tool_message(&params.name)));
        };
        // A mistake of the model is a result and not an error, so that the model can fix its call.
        if let Err(mismatch) = check_arguments(&tool, &params.args) {
            return Ok(failed(mismatch));
        }
        let key = call_key(&params.context);
        let call_guard = self.in_flight.begin(key)?;
        // Registered before the ticket is redeemed: a second request for the same call fails here
        // and does not use up the ticket.
        let approved = self.approve(&call, &tool, params).await?;
        let events = ToolEvents::begin(&self.shared, approved.call()).await;
        let context = approved.call().context.clone();
        let (done, output_bytes) = match &tool.origin {
            ToolOrigin::Builtin(entry) => {
                let live_output = LiveOutput::default();
                let tool_env = self
                    .shared
                    .tool_env
                    .for_call(live_output.clone(), call_guard.stop().clone());
                let work = (entry.run)(approved, tool_env);
                let done = tokio::select! {
                    done = self.run_builtin(&tool.spec, work, call_guard.stop()) => done,
                    never = events.relay_output(&live_output) => never,
                    never = stop_if_abandoned(&call, call_guard.stop()) => never,
                };
                (done, events.flush_output(&live_output))
            }
            ToolOrigin::Service(service) => {
                let work = approved.into_call();
                let done = tokio::select! {
                    done = self.run_in_service(&tool, service, work, call_guard.stop()) => done,
                    never = stop_if_abandoned(&call, call_guard.stop()) => never,
                };
                (done, 0)
            }
        };
        // Masked here once, before the model, the journal and the stored output get it.
        let done = match done {
            Ok(done) => {
                let tool_env = &self.shared.tool_env;
                let done = mask_executed(done, &self.shared.deps.mask);
                Ok(bound_and_store(done, &tool.spec.name, &context, tool_env).await)
            }
            Err(mut error) => {
                mask_text(&mut error.message, &self.shared.deps.mask);
                Err(error)
            }
        };
        events.finish(&done, output_bytes);
        done
    }

    /// Runs a built-in tool within its timeout.
    async fn run_builtin(
        &self,
        spec: &ToolSpec,
        mut work: ToolFuture,
        stop: &CancellationToken,
    ) -> Result<ToolExecuteResult, WireError> {
        let limit = Duration::from_millis(self.timeout_ms(spec));
        let result = tokio::select! {
            done = &mut work => return Ok(done),
            () = sleep(limit) => timed_out(spec, limit),
            () = stop.cancelled() => Err(stopped_error()),
        };
        // Dropping the future is enough for a tool that starts no program and can be repeated or
        // probed.
        if spec.effect != Idempotency::Opaque && spec.tier < Tier::Exec {
            return result;
        }
        // A tool that runs programs ends them and reports how far they came.
        stop.cancel();
        match timeout(STOP_GRACE, work).await {
            Ok(done) => Ok(done),
            Err(_) => result,
        }
    }

    /// Cancels a call and waits for its end.
    pub(super) async fn cancel(
        &self,
        params: ToolCancelParams,
    ) -> Result<ToolCancelResult, WireError> {
        let key = (params.run_id, params.call_id.clone());
        let Some(handle) = self.in_flight.find(&key) else {
            return Ok(ToolCancelResult { stopped: false });
        };
        handle.stop.cancel();
        let ended = timeout(CANCEL_WAIT, handle.ended.cancelled()).await;
        if ended.is_err() {
            tracing::warn!(call = params.call_id, "a tool call did not end in time");
        }
        Ok(ToolCancelResult { stopped: true })
    }

    /// Approves a call: by its ticket if it is a run's, else as a person's own act.
    async fn approve(
        &self,
        call: &RequestContext,
        tool: &RegisteredTool,
        params: ToolExecuteParams,
    ) -> Result<Approved<PreparedCall>, WireError> {
        let ticket = params.ticket.clone();
        let work = work_of(tool, params);
        let Some(ticket) = ticket else {
            let needed = own_act_scope(tool);
            if !call.scopes.allow(needed) {
                return Err(scope_missing(tool, needed));
            }
            let message =
                "A call made for a run needs the ticket of its approval; nothing was run.";
            let approved = Approved::from_person(work, true)
                .ok_or_else(|| WireError::new(ErrorCode::Forbidden, message))?;
            // Recorded before it runs: a call without a record must not happen.
            own_act::record_call(&self.shared, &call.caller, &approved).await?;
            return Ok(approved);
        };
        let previewed = self.preview_builtin(tool, work.clone()).await;
        // The state is looked up again: if a file changed since the approval, the digest differs
        // and the ticket is refused.
        let state = previewed.and_then(|previewed| previewed.state);
        let work = PreparedCall { state, ..work };
        let redeem = PermissionRedeemParams {
            ticket,
            tool: work.tool.clone(),
            fingerprint: work.fingerprint.clone(),
            args: work.args.clone(),
            context: work.context.clone(),
            state: work.state.clone(),
        };
        let redeemed = self.shared.caller.call::<Redeem>(&redeem).await?;
        let message = "What would run is not what was approved; nothing was run.";
        Approved::from_ticket(work, &redeemed.digest)
            .ok_or_else(|| WireError::new(ErrorCode::Forbidden, message))
    }

    /// Waits for a tool that disappeared recently, or has not come back since the start.
    pub(super) async fn wait_for_return(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let wait_ms = u64::try_from(self.return_wait().as_millis()).unwrap_or(u64::MAX);
        // A tool that was never seen counts from the start of the room: its service may not have
        // connected yet.
        let since_ms = self
            .shared
            .registry
            .departed_at_ms(name)
            .unwrap_or(self.shared.opened_ms);
        let passed_ms = self
            .shared
            .deps
            .clock
            .monotonic_ms()
            .saturating_sub(since_ms);
        let left = Duration::from_millis(wait_ms.saturating_sub(passed_ms));
        self.wait_for_tool(name, Instant::now() + left).await
    }

    async fn wait_for_tool(&self, name: &str, until: Instant) -> Option<Arc<RegisteredTool>> {
        let mut changes = self.shared.registry.changes();
        loop {
            // Marked before the lookup, so that a change in between wakes the wait.
            changes.mark_unchanged();
            let found = self.shared.registry.find(name);
            if found.is_some() {
                return found;
            }
            match tokio::time::timeout_at(until, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// The message for a model that asked for an unknown tool.
    pub(super) fn unknown_tool_message(&self, name: &str) -> String {
        let shown: String = name.chars().take(64).collect();
        let hint = match self.shared.registry.nearest(name) {
            Some(near) => format!("Did you mean '{near}'? "),
            None => String::new(),
        };
        let tools = self.shared.registry.list(None).tools;
        let names = tools.iter().take(NAMES_SHOWN_MAX);
        let names: Vec<&str> = names.map(|tool| tool.name.as_str()).collect();
        let names = names.join(", ");
        format!("There is no tool '{shown}'. {hint}The tools are: {names}.")
    }

    pub(super) fn timeout_ms(&self, spec: &ToolSpec) -> u64 {
        let usual = || {
            self.shared
                .deps
                .settings
                .borrow()
                .duration_ms("tool.timeout")
        };
        spec.timeout_ms.unwrap_or_else(usual).min(TIMEOUT_MS_MAX)
    }

    fn return_wait(&self) -> Duration {
        let settings = self.shared.deps.settings.borrow();
        Duration::from_millis(settings.duration_ms("tool.return_wait"))
    }
}

pub(super) async fn list(
    executor: &ToolExecutor,
    params: ToolListParams,
) -> Result<ToolListResult, WireError> {
    Ok(executor.shared.registry.list(params.known.as_deref()))
}

/// Cancels a call when its caller is gone. Never returns.
async fn stop_if_abandoned<T>(call: &RequestContext, stop: &CancellationToken) -> T {
    call.abandoned.cancelled().await;
    stop.cancel();
    std::future::pending().await
}

/// The scope that a person needs to run a tool directly.
fn own_act_scope(tool: &RegisteredTool) -> Scope {
    match &tool.origin {
        ToolOrigin::Builtin(entry) if entry.traits.needs_admin => Scope::Admin,
        _ => Scope::Control,
    }
}

fn scope_missing(tool: &RegisteredTool, scope: Scope) -> WireError {
    let message = format!(
        "Running '{}' by hand needs the scope '{}', which this credential lacks; nothing was run.",
        tool.spec.name,
        scope.as_str()
    );
    WireError::new(ErrorCode::Forbidden, message)
}

pub(super) fn work_of(tool: &RegisteredTool, params: ToolExecuteParams) -> PreparedCall {
    PreparedCall {
        tool: tool.spec.name.clone(),
        fingerprint: tool.fingerprint.clone(),
        args: params.args,
        context: params.context,
        state: None,
    }
}

/// Checks arguments against the tool's schema. The error is for the model.
pub(super) fn check_arguments(
    tool: &RegisteredTool,
    args: &serde_json::Value,
) -> Result<(), String> {
    let name = &tool.spec.name;
    let reasons = if args.is_object() {
        match tool.schema.check(args) {
            Ok(()) => return Ok(()),
            Err(mismatch) => mismatch.to_string(),
        }
    } else {
        "they must be one JSON object.".to_owned()
    };
    let schema = tool.spec.parameters.to_string();
    let schema = if schema.len() <= SCHEMA_SHOWN_MAX {
        format!(" Its schema: {schema}")
    } else {
        String::new()
    };
    Err(format!(
        "The arguments of '{name}' do not fit, so nothing was run: {reasons} Call it again with arguments that fit.{schema}"
    ))
}

/// The result of a call that ran out of time. A read-only call failed; of any other it is unknown
/// if it took effect, which the caller must settle.
pub(super) fn timed_out(spec: &ToolSpec, limit: Duration) -> Result<ToolExecuteResult, WireError> {
    let name = &spec.name;
    let limit_ms = limit.as_millis();
    let message = format!("'{name}' was stopped: it took longer than {limit_ms} ms.");
    if spec.effect == Idempotency::Pure {
        return Ok(failed(message));
    }
    let message = format!("{message} It is not known if it took effect.");
    Err(WireError::new(ErrorCode::Timeout, message))
}

pub(super) fn stopped_error() -> WireError {
    WireError::new(ErrorCode::Cancelled, "The call was stopped.")
}
