//! The methods of the room.

use super::TerminalContext;
use super::handle::{OwnerRequest, TerminalHandle};
use super::messages::{self, conflict, invalid, not_found, stopping};
use super::owner::check_past_lines;
use super::windows::unavailable;
use hob_bus::RequestContext;
use hob_core::permission::{PreparedCall, to_audit_value};
use hob_exec::tmux::TmuxConnection;
use hob_store::{AuditedDecision, CommandRow, NewAuditEntry, NewCommands, StoreError};
use hob_wire::analysis::OutputAnalysis;
use hob_wire::limits::{PAGE_BYTES_MAX, TERMINAL_QUEUE_MAX};
use hob_wire::rooms::terminal::{
    CommandOrigin, TerminalAnalyzeParams, TerminalCancelParams, TerminalCancelResult,
    TerminalCaptureParams, TerminalCaptureResult, TerminalCloseParams, TerminalCloseResult,
    TerminalCommand, TerminalCommandParams, TerminalCreateParams, TerminalCreateResult,
    TerminalExecuteParams, TerminalExecuteResult, TerminalHistoryParams, TerminalHistoryResult,
    TerminalKeysParams, TerminalKeysResult, TerminalListParams, TerminalListResult, TerminalState,
};
use hob_wire::work::ToolContext;
use hob_wire::{CommandId, ErrorCode, RunId, WireError};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The longest wait for a command. The bus gives up on a call a minute later.
const WAIT_MS_MAX: u64 = 240_000;
/// Time for a shell to show its first prompt or to be given up.
const START_WAIT: Duration = Duration::from_secs(15);
/// Characters typed by one request.
const TEXT_CHARS_MAX: usize = 64 * 1024;
/// Keys typed by one request.
const KEYS_MAX: usize = 1_000;
/// Bytes kept of an output that does not fit into the answer.
const SHORTENED_BYTES: usize = 512;
/// Time until an owner is asked again about commands that it does not know yet.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Random bytes that salt the audit entry of typed text.
const SALT_BYTES: usize = 16;
/// The surface of callers inside the daemon.
const INTERNAL_SURFACE: &str = "house";

impl TerminalContext {
    pub(super) async fn create(
        self: &Arc<Self>,
        params: TerminalCreateParams,
    ) -> Result<TerminalCreateResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let (handle, created) = self.find_or_create(name, &params).await?;
        let mut view = handle.view.clone();
        let started = view.wait_for(|seen| seen.state != TerminalState::Starting);
        // A shell that takes longer is returned as `starting`.
        let _ = self
            .unless_stopping(tokio::time::timeout(START_WAIT, started))
            .await?;
        let terminal = handle.snapshot();
        match (terminal.state, &terminal.detail) {
            (TerminalState::Lost | TerminalState::Closed, Some(detail)) => Err(WireError::new(
                ErrorCode::ServiceUnavailable,
                detail.clone(),
            )),
            _ => Ok(TerminalCreateResult { created, terminal }),
        }
    }

    pub(super) async fn list(
        &self,
        _: TerminalListParams,
    ) -> Result<TerminalListResult, WireError> {
        // No terminal has this name; the call only waits for recovery.
        self.find("").await?;
        let terminals = self
            .handles()
            .values()
            .map(TerminalHandle::snapshot)
            .collect();
        let (tmux, problem) = match self.server().await {
            Ok(server) => (Some(server.tmux().version.clone()), None),
            Err(error) => (None, Some(error.message)),
        };
        Ok(TerminalListResult {
            terminals,
            socket: self.deps.home.tmux_socket().display().to_string(),
            tmux,
            problem,
        })
    }

    pub(super) async fn execute(
        self: &Arc<Self>,
        call: RequestContext,
        params: TerminalExecuteParams,
    ) -> Result<TerminalExecuteResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let commands = messages::check_commands(&params)?;
        let by = command_origin(&call, params.run_id)?;
        let (handle, _) = self
            .find_or_create(name, &TerminalCreateParams::default())
            .await?;
        let entry = (by == CommandOrigin::Client).then(|| {
            let matter = json!({
                "terminal": name,
                "commands": commands,
                "reason": params.reason,
            });
            self.audit_entry(&call, "terminal.execute", &matter)
        });
        let queued = self.deps.store.queue_commands(NewCommands {
            terminal: handle.row_id,
            by,
            run: params.run_id,
            commands,
            reason: params.reason,
            timeout_ms: params.timeout_ms,
            stop_on_failure: params.stop_on_failure,
            key: params.idempotency_key,
            queue_max: TERMINAL_QUEUE_MAX,
            entry,
        });
        let queued = queued.await?;
        // Stored first: a crash from here on leaves queued rows, which the next daemon runs.
        let ids: Vec<CommandId> = queued.rows.iter().map(|row| row.command.id).collect();
        let wait = CommandWait {
            handle: &handle,
            ids: &ids,
            until: (!params.detach).then(|| wait_until(params.wait_ms)),
        };
        // The first request has given the commands to the owner, or is about to.
        let commands = if queued.repeated {
            self.wait_for_ends(&wait).await?
        } else {
            self.submit_and_wait(&wait, queued.rows).await?
        };
        Ok(fit_to_frame(name, commands))
    }

    /// Gives new commands to the owner, and returns when they have ended or the wait is over.
    async fn submit_and_wait(
        &self,
        wait: &CommandWait<'_>,
        rows: Vec<CommandRow>,
    ) -> Result<Vec<TerminalCommand>, WireError> {
        let now = wait.until.is_none().then(|| {
            let commands = rows.iter().map(|row| row.command.clone());
            commands.collect::<Vec<_>>()
        });
        let (ends, ended) = oneshot::channel();
        let ends = wait.until.map(|_| ends);
        let order = OwnerRequest::Enqueue { rows, reply: ends };
        // An owner that is gone has stored an end for every queued command.
        if wait.handle.requests.send(order).await.is_err() {
            return self.load_commands(wait).await;
        }
        if let Some(now) = now {
            return Ok(now);
        }
        let until = wait.until.unwrap_or_else(Instant::now);
        let waited = self.unless_stopping(tokio::time::timeout_at(until, ended));
        let mut commands = waited.await?.ok().and_then(Result::ok).unwrap_or_default();
        // Fewer means that the wait is over or the owner is gone, so each command is looked up.
        if commands.len() < wait.ids.len() {
            return self.load_commands(wait).await;
        }
        if commands.len() > 1 {
            commands.sort_by_key(|command| wait.ids.iter().position(|id| *id == command.id));
        }
        Ok(commands)
    }

    /// Waits for commands of an earlier request. That request may not have reached the owner yet, so
    /// the owner is asked again until the commands have ended.
    async fn wait_for_ends(
        &self,
        wait: &CommandWait<'_>,
    ) -> Result<Vec<TerminalCommand>, WireError> {
        loop {
            let commands = self.load_commands(wait).await?;
            let all_ended = commands.iter().all(|command| command.state.is_final());
            let Some(until) = wait
                .until
                .filter(|until| !all_ended && *until > Instant::now())
            else {
                return Ok(commands);
            };
            let order = |ends| OwnerRequest::AwaitEnds {
                ids: wait.ids.to_vec(),
                reply: ends,
            };
            let ended = tokio::time::timeout_at(until, wait.handle.request(order));
            // After a timeout the loop returns the commands as they are.
            let _ = self.unless_stopping(ended).await?;
            tokio::time::sleep(ASK_AGAIN_AFTER).await;
        }
    }

    pub(super) async fn keys(
        self: &Arc<Self>,
        call: RequestContext,
        params: TerminalKeysParams,
    ) -> Result<TerminalKeysResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let by = command_origin(&call, params.run_id)?;
        let text = params.text.unwrap_or_default();
        if text.is_empty() && params.keys.is_empty() {
            return Err(invalid("Give `text`, `keys`, or both.".to_owned()));
        }
        if text.chars().count() > TEXT_CHARS_MAX || params.keys.len() > KEYS_MAX {
            return Err(invalid(format!(
                "At most {TEXT_CHARS_MAX} characters and {KEYS_MAX} keys are typed at once."
            )));
        }
        let handle = self.find(name).await?.ok_or_else(|| not_found(name))?;
        let control = handle.control().await?;
        // Checked before the audit entry, because nothing is typed if one name is wrong.
        TmuxConnection::check_keys(&params.keys).map_err(|error| invalid(error.to_string()))?;
        let matter = json!({ "terminal": name, "text": text, "keys": params.keys });
        if by == CommandOrigin::Client {
            self.record_act(&call, "terminal.keys", &matter).await?;
        }
        let typed = async {
            control.type_text(&text).await?;
            control.press_keys(&params.keys).await
        };
        typed.await.map_err(|error| unavailable(&error))?;
        Ok(TerminalKeysResult {
            name: name.to_owned(),
        })
    }

    pub(super) async fn capture(
        &self,
        params: TerminalCaptureParams,
    ) -> Result<TerminalCaptureResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let past_lines = check_past_lines(params.lines)?;
        let handle = self.find(name).await?.ok_or_else(|| not_found(name))?;
        let captured = handle.request(|reply| OwnerRequest::Capture { past_lines, reply });
        self.unless_stopping(captured)
            .await?
            .ok_or_else(|| not_found(name))
    }

    pub(super) async fn command(
        &self,
        params: TerminalCommandParams,
    ) -> Result<TerminalCommand, WireError> {
        let command = self.deps.store.command(params.id).await?;
        if command.state.is_final() {
            return Ok(command);
        }
        let Some(handle) = self.find(&command.terminal).await? else {
            // The terminal has ended since, and the ends of its commands were stored before.
            return Ok(self.deps.store.command(params.id).await?);
        };
        let wait = CommandWait {
            handle: &handle,
            ids: &[params.id],
            until: params.wait_ms.map(|wait_ms| wait_until(Some(wait_ms))),
        };
        self.wait_for_ends(&wait).await?.pop().ok_or_else(stopping)
    }

    pub(super) async fn history(
        &self,
        params: TerminalHistoryParams,
    ) -> Result<TerminalHistoryResult, StoreError> {
        self.deps.store.command_history(params).await
    }

    pub(super) async fn cancel(
        &self,
        params: TerminalCancelParams,
    ) -> Result<TerminalCancelResult, WireError> {
        let mut name = messages::check_name(params.name.as_deref())?.to_owned();
        if let Some(id) = params.id {
            let command = self.deps.store.command(id).await?;
            if command.by == CommandOrigin::Person && !command.state.is_final() {
                let message = "The user typed that command; hob does not end it.";
                return Err(conflict(message));
            }
            name = command.terminal;
        }
        let Some(handle) = self.find(&name).await? else {
            return match params.id {
                // Commands end with their terminal, so there is nothing left to cancel.
                Some(_) => Ok(TerminalCancelResult {
                    name,
                    ended: Vec::new(),
                }),
                None => Err(not_found(&name)),
            };
        };
        let id = params.id;
        let ended = handle.request(|reply| OwnerRequest::Cancel { id, reply });
        let ended = self.unless_stopping(ended).await?.unwrap_or_default();
        Ok(TerminalCancelResult { name, ended })
    }

    pub(super) async fn close(
        self: &Arc<Self>,
        params: TerminalCloseParams,
    ) -> Result<TerminalCloseResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        // A creation of this name that is under way finishes first.
        let _guard = self.creation_lock.lock().await;
        let Some(handle) = self.find(name).await? else {
            return Ok(TerminalCloseResult {
                name: name.to_owned(),
                windows: 0,
                terminal: false,
            });
        };
        // Closing the terminal closes its windows anyway, so an error matters only without it.
        let windows = self.close_windows(&handle).await;
        let windows = if params.windows_only {
            windows?
        } else {
            windows.unwrap_or_default()
        };
        let mut terminal = false;
        if !params.windows_only {
            let closed = handle.request(|reply| OwnerRequest::Close { reply });
            terminal = self.unless_stopping(closed).await?.is_some();
        }
        Ok(TerminalCloseResult {
            name: name.to_owned(),
            windows,
            terminal,
        })
    }

    pub(super) async fn analyze(
        &self,
        params: TerminalAnalyzeParams,
    ) -> Result<OutputAnalysis, WireError> {
        let (command, output, exit_code) = match (params.id, params.output) {
            (Some(id), None) => {
                let found = self
                    .command(TerminalCommandParams { id, wait_ms: None })
                    .await?;
                let command = params.command.or(found.command);
                (command, found.output.unwrap_or_default(), found.exit_code)
            }
            (None, Some(output)) => (params.command, output, None),
            _ => return Err(invalid("Give either `id` or `output`.".to_owned())),
        };
        let analyze = self.analyze;
        // On a blocking thread, because the analysis of a large output takes a while.
        let read = move || analyze(command.as_deref(), &output, exit_code);
        let analysis = tokio::task::spawn_blocking(read).await;
        analysis.map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))
    }

    /// Returns the current state of commands: live ones from the owner, ended ones from the store.
    async fn load_commands(
        &self,
        wait: &CommandWait<'_>,
    ) -> Result<Vec<TerminalCommand>, WireError> {
        let order = |reply| OwnerRequest::Inspect {
            ids: wait.ids.to_vec(),
            reply,
        };
        let looked = self.unless_stopping(wait.handle.request(order)).await?;
        let live = looked.unwrap_or_default();
        let mut found = Vec::with_capacity(wait.ids.len());
        for id in wait.ids {
            match live.iter().find(|command| command.id == *id) {
                Some(command) => found.push(command.clone()),
                None => found.push(self.deps.store.command(*id).await?),
            }
        }
        Ok(found)
    }

    /// Builds the audit entry of something that the user does directly.
    fn audit_entry(&self, call: &RequestContext, tool: &str, matter: &Value) -> NewAuditEntry {
        let work = PreparedCall {
            tool: tool.to_owned(),
            fingerprint: String::new(),
            args: matter.clone(),
            context: ToolContext::default(),
            state: None,
        };
        let mut matter = to_audit_value(matter, &|text| self.deps.mask.apply(text).into_owned());
        // Added after masking, because a digest looks like a token to the mask.
        matter["digest"] = json!(work.digest());
        // The audit chain's hashes are visible to callers who must not see the typed text. The salt,
        // hidden like the text, keeps them from guessing a short text by its hash.
        matter["salt"] = json!(self.deps.randomness.hex(SALT_BYTES));
        NewAuditEntry {
            act: "own-act",
            by: call.caller.clone(),
            session_key: None,
            run_id: None,
            tool: Some(tool.to_owned()),
            matter,
        }
    }

    /// Audits an act of the user before it happens.
    pub(super) async fn record_act(
        &self,
        call: &RequestContext,
        tool: &str,
        matter: &Value,
    ) -> Result<(), WireError> {
        let judgement = AuditedDecision {
            entries: vec![self.audit_entry(call, tool, matter)],
            ..AuditedDecision::default()
        };
        self.deps.store.record_decision(judgement).await?;
        Ok(())
    }

    /// Runs `work`, but fails when the daemon stops first.
    pub(super) async fn unless_stopping<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, WireError> {
        tokio::select! {
            done = work => Ok(done),
            () = self.stopping.cancelled() => Err(stopping()),
        }
    }
}

/// The commands that a request waits for. Without `until` it does not wait.
struct CommandWait<'a> {
    handle: &'a TerminalHandle,
    ids: &'a [CommandId],
    until: Option<Instant>,
}

/// Returns the origin of a request: the user's client, or a model whose call was approved before.
fn command_origin(call: &RequestContext, run: Option<RunId>) -> Result<CommandOrigin, WireError> {
    match run {
        None => Ok(CommandOrigin::Client),
        // Only the daemon's own caller may claim to act for a run. A client could otherwise type
        // without an audit entry.
        Some(_) if call.surface == INTERNAL_SURFACE => Ok(CommandOrigin::Model),
        Some(_) => {
            let message = "Only hob itself sets `runId`. Leave it out.";
            Err(WireError::new(ErrorCode::Forbidden, message))
        }
    }
}

pub(super) fn wait_until(wait_ms: Option<u64>) -> Instant {
    Instant::now() + Duration::from_millis(wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX))
}

/// Builds the answer, with outputs shortened to fit into one frame.
fn fit_to_frame(name: &str, mut commands: Vec<TerminalCommand>) -> TerminalExecuteResult {
    let mut room = PAGE_BYTES_MAX;
    for command in &mut commands {
        let Some(output) = &mut command.output else {
            continue;
        };
        if output.len() > room {
            let short = output.floor_char_boundary(SHORTENED_BYTES.min(output.len()));
            output.truncate(short);
            command.truncated = true;
        }
        room = room.saturating_sub(output.len());
    }
    TerminalExecuteResult {
        name: name.to_owned(),
        commands,
    }
}
