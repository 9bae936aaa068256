//! Where calls are run, stopped, and looked up after a crash.

use super::Shared;
use super::flights::{CallKey, Flights, call_key};
use super::masking::{mask_executed, mask_previewed, mask_probed, mask_text};
use super::offer::TIMEOUT_MS_MAX;
use super::own_act;
use super::shelf::{Maker, ServiceTool, Tool};
use super::telling::Telling;
use bytes::Bytes;
use hob_bus::Call;
use hob_core::permission::{Approved, Work};
use hob_tools::kept::bounded_and_kept;
use hob_tools::outcome::{bounded, failed};
use hob_tools::outlet::Outlet;
use hob_tools::{Entry, Running};
use hob_wire::rooms::permission::{Redeem, RedeemParams};
use hob_wire::rooms::tool::{
    CancelParams, Cancelled, DescribeParams, ExecuteParams, Executed, Previewed, Probed,
};
use hob_wire::work::{Effect, Tier, ToolSpec};
use hob_wire::{ErrorCode, Scope, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a service that is told to stop a call may take to say how far it came.
const STOP_GRACE: Duration = Duration::from_millis(600);
/// How long `tool.cancel` waits for the end of a call; within the second that stopping may take.
const CANCEL_WAIT: Duration = Duration::from_millis(900);
/// How long a service may take to find out whether a call happened.
const PROBE_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a schema shown to a model that missed it.
const SCHEMA_SHOWN_MAX: usize = 4 * 1024;
/// Names told to a model that asked for none of them.
const NAMES_SHOWN_MAX: usize = 40;

pub(super) struct Bench {
    shared: Arc<Shared>,
    flights: Flights,
}

impl Bench {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Bench {
            shared,
            flights: Flights::default(),
        }
    }

    pub(super) async fn describe(&self, params: &DescribeParams) -> Result<ToolSpec, WireError> {
        let name = params.name.as_str();
        let found = if params.wait {
            self.await_return(name).await
        } else {
            self.shared.shelf.find(name)
        };
        let missing = || WireError::new(ErrorCode::NotFound, self.unknown(name));
        found.map(|tool| tool.spec.clone()).ok_or_else(missing)
    }

    /// Runs a call. What the caller may not do is an error; what the model got wrong, and what the
    /// tool could not do, is an answer to the model.
    pub(super) async fn execute(
        &self,
        call: &Call,
        params: ExecuteParams,
    ) -> Result<Executed, WireError> {
        let tool = match self.shared.shelf.find(&params.name) {
            Some(tool) => Some(tool),
            // An approved call was of a tool that existed: its service may be on its way back.
            None if params.ticket.is_some() => self.await_return(&params.name).await,
            None => None,
        };
        let Some(tool) = tool else {
            return Ok(failed(self.unknown(&params.name)));
        };
        if let Err(unfit) = check_arguments(&tool, &params.args) {
            return Ok(failed(unfit));
        }
        let key = call_key(&params.context);
        let flight = self.flights.begin(key)?;
        let approved = self.approve(call, &tool, params).await?;
        let telling = Telling::begin(&self.shared, approved.call()).await;
        let context = approved.call().context.clone();
        let done = match &tool.maker {
            Maker::House(entry) => {
                let outlet = Outlet::default();
                let ground = self
                    .shared
                    .ground
                    .of_call(outlet.clone(), flight.stop().clone());
                let work = (entry.run)(approved, ground);
                let done = tokio::select! {
                    done = self.run_here(&tool.spec, work, flight.stop()) => done,
                    never = telling.relay(&outlet) => never,
                    never = stop_if_abandoned(call, flight.stop()) => never,
                };
                telling.drain(&outlet);
                done
            }
            Maker::Service(service) => {
                let work = approved.into_call();
                tokio::select! {
                    done = self.run_outside(&tool, service, work, flight.stop()) => done,
                    never = stop_if_abandoned(call, flight.stop()) => never,
                }
            }
        };
        // Masked here once, so that nobody after this sees a secret: not the model, not the
        // journal, not what is kept of a long answer.
        let done = match done {
            Ok(done) => {
                let ground = &self.shared.ground;
                let done = mask_executed(done, &self.shared.mask);
                Ok(bounded_and_kept(done, &tool.spec.name, &context, ground).await)
            }
            Err(mut error) => {
                mask_text(&mut error.message, &self.shared.mask);
                Err(error)
            }
        };
        telling.finish(&done);
        done
    }

    /// Runs a tool of the house within its time.
    async fn run_here(
        &self,
        spec: &ToolSpec,
        mut work: Running,
        stop: &CancellationToken,
    ) -> Result<Executed, WireError> {
        let limit = Duration::from_millis(self.timeout_ms(spec));
        let told = tokio::select! {
            done = &mut work => return Ok(done),
            () = sleep(limit) => late(spec, limit),
            () = stop.cancelled() => Err(stopped()),
        };
        if spec.effect != Effect::Opaque && spec.tier < Tier::Exec {
            return told;
        }
        // What runs programs ends them, and says how far they came.
        stop.cancel();
        match timeout(STOP_GRACE, work).await {
            Ok(done) => Ok(done),
            Err(_) => told,
        }
    }

    /// Stops a call and waits for its end.
    pub(super) async fn cancel(&self, params: &CancelParams) -> Cancelled {
        let key = (params.run_id, params.call_id.clone());
        let Some(flight) = self.flights.find(&key) else {
            return Cancelled { stopped: false };
        };
        flight.stop.cancel();
        let ended = timeout(CANCEL_WAIT, flight.ended.cancelled()).await;
        if ended.is_err() {
            tracing::warn!(call = params.call_id, "a tool call did not end in time");
        }
        Cancelled { stopped: true }
    }

    /// Asks whether an earlier call happened.
    pub(super) async fn probe(&self, params: ExecuteParams) -> Probed {
        mask_probed(self.find_out(params).await, &self.shared.mask)
    }

    async fn find_out(&self, params: ExecuteParams) -> Probed {
        let unknown = |known: String| Probed::Unknown { known };
        let Some(tool) = self.await_return(&params.name).await else {
            return unknown(format!("The tool '{}' is not here any more.", params.name));
        };
        let service = match &tool.maker {
            Maker::Service(service) => service,
            Maker::House(entry) => return self.probe_house(&tool, entry, params).await,
        };
        if !service.can_probe {
            return unknown(format!("'{}' cannot be asked what happened.", params.name));
        }
        let asked = ExecuteParams {
            name: tool.spec.name.clone(),
            ticket: None,
            ..params
        };
        let method = format!("{}.tool_probe", service.service);
        let probed = self.call_outside::<_, Probed>(&method, &asked);
        match timeout(PROBE_WAIT, probed).await {
            Ok(Ok(Probed::Yes { outcome })) => Probed::Yes {
                outcome: bounded(outcome),
            },
            Ok(Ok(probed)) => probed,
            Ok(Err(error)) => unknown(error.message),
            Err(_) => unknown("Its service did not say in time.".to_owned()),
        }
    }

    async fn probe_house(&self, tool: &Tool, entry: &Entry, params: ExecuteParams) -> Probed {
        let Some(looks) = entry.looks else {
            let known = format!("'{}' cannot be asked what happened.", params.name);
            return Probed::Unknown { known };
        };
        let probing = (looks.probe)(work_of(tool, params), self.shared.ground.clone());
        let late = |_| Probed::Unknown {
            known: "The disk did not answer in time.".to_owned(),
        };
        timeout(PROBE_WAIT, probing).await.unwrap_or_else(late)
    }

    /// What a call would do now.
    pub(super) async fn preview(&self, params: ExecuteParams) -> Result<Previewed, WireError> {
        let name = params.name.clone();
        let missing = || WireError::new(ErrorCode::NotFound, self.unknown(&name));
        let tool = self.shared.shelf.find(&name).ok_or_else(missing)?;
        let work = work_of(&tool, params);
        let refusal = self.refusal(&tool, &work).await;
        let seen = self.look(&tool, work).await.unwrap_or_default();
        let Some(reason) = refusal else {
            return Ok(seen);
        };
        // A rule may allow it all the same. Its ticket is bound to what was seen, so that it can be
        // redeemed and the tool itself says why it refuses.
        let refused = Previewed {
            text: None,
            cannot_run: Some(reason.clone()),
            would_fail: Some(reason),
            ..seen
        };
        Ok(mask_previewed(refused, &self.shared.mask))
    }

    /// Why a call can never run: the one place that is asked for every tool before a person is.
    async fn refusal(&self, tool: &Tool, work: &Work) -> Option<String> {
        if let Err(unfit) = check_arguments(tool, &work.args) {
            return Some(unfit);
        }
        let Maker::House(entry) = &tool.maker else {
            return None;
        };
        let (entry, spec) = (*entry, tool.spec.clone());
        let (work, ground) = (work.clone(), self.shared.ground.clone());
        let checked =
            tokio::task::spawn_blocking(move || hob_tools::refusal(&entry, &spec, &work, &ground));
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        // A disk that does not answer leaves it open; the call itself will tell.
        timeout(limit, checked).await.ok()?.ok()?
    }

    /// What a tool of the house sees of what it would change.
    async fn look(&self, tool: &Tool, work: Work) -> Option<Previewed> {
        let Maker::House(entry) = &tool.maker else {
            return None;
        };
        let look = entry.looks?.look;
        let ground = self.shared.ground.clone();
        let looked = tokio::task::spawn_blocking(move || look(&work, &ground));
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        let seen = timeout(limit, looked).await.ok()?.ok()?;
        let seen = Previewed {
            text: Some(seen.preview).filter(|text| !text.is_empty()),
            state: Some(seen.state),
            would_fail: seen.would_fail,
            cannot_run: None,
            asks_always: seen.asks_always,
        };
        Some(mask_previewed(seen, &self.shared.mask))
    }

    /// Turns a call into an approved one: by its ticket if it is a run's, else as a person's act.
    async fn approve(
        &self,
        call: &Call,
        tool: &Tool,
        params: ExecuteParams,
    ) -> Result<Approved<Work>, WireError> {
        let ticket = params.ticket.clone();
        let work = work_of(tool, params);
        let Some(ticket) = ticket else {
            let needed = own_act_scope(tool);
            if !call.scopes.allow(needed) {
                return Err(lacks(tool, needed));
            }
            let message =
                "A call made for a run needs the ticket of its approval; nothing was run.";
            let approved = Approved::own_act(work, true)
                .ok_or_else(|| WireError::new(ErrorCode::Forbidden, message))?;
            own_act::record_call(&self.shared, &call.caller, &approved).await?;
            return Ok(approved);
        };
        let seen = self.look(tool, work.clone()).await;
        let state = seen.and_then(|seen| seen.state);
        let work = Work { state, ..work };
        let redeem = RedeemParams {
            ticket,
            tool: work.tool.clone(),
            fingerprint: work.fingerprint.clone(),
            args: work.args.clone(),
            context: work.context.clone(),
            state: work.state.clone(),
        };
        let redeemed = self.shared.caller.call::<Redeem>(&redeem).await?;
        let message = "What would run is not what was approved; nothing was run.";
        Approved::redeemed(work, &redeemed.digest)
            .ok_or_else(|| WireError::new(ErrorCode::Forbidden, message))
    }

    async fn run_outside(
        &self,
        tool: &Tool,
        service: &ServiceTool,
        work: Work,
        stop: &CancellationToken,
    ) -> Result<Executed, WireError> {
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        let key = call_key(&work.context);
        let asked = ExecuteParams {
            name: tool.spec.name.clone(),
            args: work.args,
            context: work.context,
            ticket: None,
        };
        let method = format!("{}.tool_execute", service.service);
        let mut running = Box::pin(self.call_outside::<_, Executed>(&method, &asked));
        let (answer, told) = tokio::select! {
            answer = &mut running => (Some(answer), None),
            () = sleep(limit) => (None, Some(late(&tool.spec, limit))),
            () = stop.cancelled() => (None, Some(Err(stopped()))),
        };
        if let Some(answer) = answer {
            return heard(tool, answer);
        }
        // It is told to stop, and may still say how far it came.
        let grace = async {
            if service.can_cancel {
                self.tell_to_stop(&service.service, key).await;
                return Some(running.await);
            }
            None
        };
        match (timeout(STOP_GRACE, grace).await, told) {
            (Ok(Some(answer)), _) => heard(tool, answer),
            (_, Some(told)) => told,
            (_, None) => Err(stopped()),
        }
    }

    async fn tell_to_stop(&self, service: &str, key: Option<CallKey>) {
        let Some((run_id, call_id)) = key else {
            return;
        };
        let params = CancelParams { run_id, call_id };
        let method = format!("{service}.tool_cancel");
        let told = self.call_outside::<_, serde_json::Value>(&method, &params);
        if let Err(error) = told.await {
            tracing::debug!(service, "a call could not be told to stop: {error}");
        }
    }

    async fn call_outside<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<R, WireError> {
        let odd = |error: serde_json::Error| {
            let message = format!("the answer of '{method}' is not of its form: {error}");
            WireError::new(ErrorCode::MethodError, message)
        };
        let params = serde_json::to_vec(params).map_err(odd)?;
        let params = Some(Bytes::from(params));
        let answer = self.shared.caller.call_raw(method, params, None).await?;
        serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(odd)
    }

    /// Waits for a tool that was here a moment ago, or may not have come yet since the start.
    async fn await_return(&self, name: &str) -> Option<Arc<Tool>> {
        let wait_ms = u64::try_from(self.return_wait().as_millis()).unwrap_or(u64::MAX);
        let since_ms = self
            .shared
            .shelf
            .gone_at_ms(name)
            .unwrap_or(self.shared.opened_ms);
        let passed_ms = self.shared.clock.monotonic_ms().saturating_sub(since_ms);
        let left = Duration::from_millis(wait_ms.saturating_sub(passed_ms));
        self.await_tool(name, Instant::now() + left).await
    }

    async fn await_tool(&self, name: &str, until: Instant) -> Option<Arc<Tool>> {
        let mut changes = self.shared.shelf.changes();
        loop {
            changes.mark_unchanged();
            let found = self.shared.shelf.find(name);
            if found.is_some() {
                return found;
            }
            match tokio::time::timeout_at(until, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// What a model is told that asked for a tool there is not.
    fn unknown(&self, name: &str) -> String {
        let shown: String = name.chars().take(64).collect();
        let hint = match self.shared.shelf.nearest(name) {
            Some(near) => format!("Did you mean '{near}'? "),
            None => String::new(),
        };
        let tools = self.shared.shelf.list(None).tools;
        let names = tools.iter().take(NAMES_SHOWN_MAX);
        let names: Vec<&str> = names.map(|tool| tool.name.as_str()).collect();
        let names = names.join(", ");
        format!("There is no tool '{shown}'. {hint}The tools are: {names}.")
    }

    fn timeout_ms(&self, spec: &ToolSpec) -> u64 {
        let usual = || self.shared.settings.borrow().duration_ms("tool.timeout");
        spec.timeout_ms.unwrap_or_else(usual).min(TIMEOUT_MS_MAX)
    }

    fn return_wait(&self) -> Duration {
        let settings = self.shared.settings.borrow();
        Duration::from_millis(settings.duration_ms("tool.return_wait"))
    }
}

/// Stops a call when nobody waits for its answer any more: its run was dropped, its client left.
async fn stop_if_abandoned<T>(call: &Call, stop: &CancellationToken) -> T {
    call.abandoned.cancelled().await;
    stop.cancel();
    std::future::pending().await
}

/// What a person needs to run a tool with their own hands. The shared terminal needs as much here
/// as by `terminal.execute`.
fn own_act_scope(tool: &Tool) -> Scope {
    let is_house = matches!(tool.maker, Maker::House(_));
    if is_house && tool.spec.name == hob_tools::terminal::NAME {
        Scope::Admin
    } else {
        Scope::Control
    }
}

fn lacks(tool: &Tool, scope: Scope) -> WireError {
    let message = format!(
        "Running '{}' by hand needs the scope '{}', which this credential lacks; nothing was run.",
        tool.spec.name,
        scope.as_str()
    );
    WireError::new(ErrorCode::Forbidden, message)
}

fn work_of(tool: &Tool, params: ExecuteParams) -> Work {
    Work {
        tool: tool.spec.name.clone(),
        fingerprint: tool.fingerprint.clone(),
        args: params.args,
        context: params.context,
        state: None,
    }
}

/// Checks arguments against the tool's schema; the error is what the model is told.
fn check_arguments(tool: &Tool, args: &serde_json::Value) -> Result<(), String> {
    let name = &tool.spec.name;
    let reasons = if args.is_object() {
        match tool.schema.check(args) {
            Ok(()) => return Ok(()),
            Err(unfit) => unfit.to_string(),
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

/// A service's answer, or what became of it.
fn heard(tool: &Tool, answer: Result<Executed, WireError>) -> Result<Executed, WireError> {
    match answer {
        Ok(executed) => Ok(executed),
        Err(error) if error.code == ErrorCode::ServiceUnavailable => {
            let name = &tool.spec.name;
            let message = format!(
                "The service of '{name}' went away during the call; whether it took effect is not known."
            );
            Err(WireError::new(ErrorCode::ServiceUnavailable, message))
        }
        // What only looks can be told that it failed; of anything else nobody knows.
        Err(error) if error.code == ErrorCode::Timeout && tool.spec.effect != Effect::Pure => {
            let name = &tool.spec.name;
            let message = format!(
                "The service of '{name}' stayed silent; whether the call took effect is not known."
            );
            Err(WireError::new(ErrorCode::Timeout, message))
        }
        Err(error) => Ok(failed(format!(
            "'{}' failed: {}",
            tool.spec.name, error.message
        ))),
    }
}

/// A look that took too long is told to the model; of anything else nobody knows whether it
/// happened, which is for whoever called to settle.
fn late(spec: &ToolSpec, limit: Duration) -> Result<Executed, WireError> {
    let name = &spec.name;
    let limit_ms = limit.as_millis();
    let message = format!("'{name}' was stopped: it took longer than {limit_ms} ms.");
    if spec.effect == Effect::Pure {
        return Ok(failed(message));
    }
    let message = format!("{message} Whether it took effect is not known.");
    Err(WireError::new(ErrorCode::Timeout, message))
}

fn stopped() -> WireError {
    WireError::new(ErrorCode::Cancelled, "The call was stopped.")
}
