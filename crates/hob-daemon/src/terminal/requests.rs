//! What is asked of the room.

use super::Shared;
use super::handle::{Handle, Order};
use super::owner::past_lines;
use super::windows::unavailable;
use super::words::{self, conflict, invalid, missing, stopping};
use hob_bus::Call;
use hob_core::analysis::analyze;
use hob_core::permission::{Work, recorded};
use hob_exec::tmux::Control;
use hob_store::{CommandRow, Judgement, NewCommands, NewEntry};
use hob_wire::analysis::Analysis;
use hob_wire::limits::{PAGE_BYTES_MAX, TERMINAL_QUEUE_MAX};
use hob_wire::rooms::terminal::{
    AnalyzeParams, CancelParams, Cancelled, CaptureParams, Captured, CloseParams, Closed,
    CommandBy, CommandParams, CreateParams, Created, ExecuteParams, Executed, KeysParams,
    TerminalCommand, TerminalState, Terminals, Typed,
};
use hob_wire::work::ToolContext;
use hob_wire::{CommandId, ErrorCode, RunId, WireError};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Nobody waits longer for an answer; the bus gives up a minute later.
const WAIT_MS_MAX: u64 = 240_000;
/// Until a shell has shown its first prompt or was given up.
const START_WAIT: Duration = Duration::from_secs(15);
/// Letters typed at once.
const TEXT_CHARS_MAX: usize = 64 * 1024;
/// Keys pressed at once.
const KEYS_MAX: usize = 1_000;
/// Of outputs that do not fit into an answer, so much is left.
const SHORT_BYTES: usize = 512;
/// Until an owner is asked again about commands it does not know yet.
const AGAIN: Duration = Duration::from_millis(20);
/// Random bytes in the record of what was typed.
const SALT_BYTES: usize = 16;
/// The surface of callers in this process.
const HOUSE: &str = "house";

impl Shared {
    pub(super) async fn create(
        self: &Arc<Self>,
        params: CreateParams,
    ) -> Result<Created, WireError> {
        let name = words::name(params.name.as_deref())?;
        let (handle, created) = self.want(name, &params).await?;
        let mut view = handle.view.clone();
        let started = view.wait_for(|seen| seen.state != TerminalState::Starting);
        // A shell that takes longer is shown as it is.
        let _ = self
            .unless_leaving(tokio::time::timeout(START_WAIT, started))
            .await?;
        let terminal = handle.seen();
        match (terminal.state, &terminal.detail) {
            (TerminalState::Lost | TerminalState::Closed, Some(detail)) => Err(WireError::new(
                ErrorCode::ServiceUnavailable,
                detail.clone(),
            )),
            _ => Ok(Created { created, terminal }),
        }
    }

    pub(super) async fn list(&self) -> Result<Terminals, WireError> {
        // Waits for those of a former daemon.
        self.find("").await?;
        let terminals = self.roll().values().map(Handle::seen).collect();
        let (tmux, problem) = match self.server().await {
            Ok(server) => (Some(server.tmux().version.clone()), None),
            Err(error) => (None, Some(error.message)),
        };
        Ok(Terminals {
            terminals,
            socket: self.parts.home.tmux_socket().display().to_string(),
            tmux,
            problem,
        })
    }

    pub(super) async fn execute(
        self: &Arc<Self>,
        call: Call,
        params: ExecuteParams,
    ) -> Result<Executed, WireError> {
        let name = words::name(params.name.as_deref())?;
        let commands = words::commands(&params)?;
        let by = by(&call, params.run_id)?;
        let (handle, _) = self.want(name, &CreateParams::default()).await?;
        let entry = (by == CommandBy::Client).then(|| {
            let matter = json!({
                "terminal": name,
                "commands": commands,
                "reason": params.reason,
            });
            self.own_act(&call, "terminal.execute", &matter)
        });
        let queued = self.parts.store.queue_commands(NewCommands {
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
        let ids: Vec<CommandId> = queued.rows.iter().map(|row| row.command.id).collect();
        let waits = Waits {
            handle: &handle,
            ids: &ids,
            until: (!params.detach).then(|| wait_until(params.wait_ms)),
        };
        let commands = if queued.repeated {
            self.await_again(&waits).await?
        } else {
            self.await_first(&waits, queued.rows).await?
        };
        Ok(executed(name, commands))
    }

    /// Has new commands run; answers at their ends, or when nobody waits longer.
    async fn await_first(
        &self,
        waits: &Waits<'_>,
        rows: Vec<CommandRow>,
    ) -> Result<Vec<TerminalCommand>, WireError> {
        let now = waits.until.is_none().then(|| {
            let commands = rows.iter().map(|row| row.command.clone());
            commands.collect::<Vec<_>>()
        });
        let (ends, ended) = oneshot::channel();
        let ends = waits.until.map(|_| ends);
        let order = Order::Queued { rows, ends };
        // An owner that is gone has ended them on the record.
        if waits.handle.orders.send(order).await.is_err() {
            return self.look_up(waits).await;
        }
        if let Some(now) = now {
            return Ok(now);
        }
        let until = waits.until.unwrap_or_else(Instant::now);
        let waited = self.unless_leaving(tokio::time::timeout_at(until, ended));
        let mut commands = waited.await?.ok().and_then(Result::ok).unwrap_or_default();
        if commands.len() < waits.ids.len() {
            return self.look_up(waits).await;
        }
        if commands.len() > 1 {
            commands.sort_by_key(|command| waits.ids.iter().position(|id| *id == command.id));
        }
        Ok(commands)
    }

    /// Waits for commands that were asked for before. Whoever asked first may not have told the
    /// owner yet, so it is asked until they have ended.
    async fn await_again(&self, waits: &Waits<'_>) -> Result<Vec<TerminalCommand>, WireError> {
        loop {
            let commands = self.look_up(waits).await?;
            let all_ended = commands.iter().all(|command| command.state.is_final());
            let Some(until) = waits
                .until
                .filter(|until| !all_ended && *until > Instant::now())
            else {
                return Ok(commands);
            };
            let order = |ends| Order::Await {
                ids: waits.ids.to_vec(),
                ends,
            };
            let ended = tokio::time::timeout_at(until, waits.handle.ask(order));
            // What has not ended then is shown as it is.
            let _ = self.unless_leaving(ended).await?;
            tokio::time::sleep(AGAIN).await;
        }
    }

    pub(super) async fn keys(
        self: &Arc<Self>,
        call: Call,
        params: KeysParams,
    ) -> Result<Typed, WireError> {
        let name = words::name(params.name.as_deref())?;
        let by = by(&call, params.run_id)?;
        let text = params.text.unwrap_or_default();
        if text.is_empty() && params.keys.is_empty() {
            return Err(invalid("Give `text`, `keys`, or both.".to_owned()));
        }
        if text.chars().count() > TEXT_CHARS_MAX || params.keys.len() > KEYS_MAX {
            return Err(invalid(format!(
                "At most {TEXT_CHARS_MAX} letters and {KEYS_MAX} keys are typed at once."
            )));
        }
        let handle = self.find(name).await?.ok_or_else(|| missing(name))?;
        let control = handle.control().await?;
        Control::check_keys(&params.keys).map_err(|error| invalid(error.to_string()))?;
        let matter = json!({ "terminal": name, "text": text, "keys": params.keys });
        if by == CommandBy::Client {
            self.record(&call, "terminal.keys", &matter).await?;
        }
        let typed = async {
            control.text(&text).await?;
            control.keys(&params.keys).await
        };
        typed.await.map_err(|error| unavailable(&error))?;
        Ok(Typed {
            name: name.to_owned(),
        })
    }

    pub(super) async fn capture(&self, params: CaptureParams) -> Result<Captured, WireError> {
        let name = words::name(params.name.as_deref())?;
        let past_lines = past_lines(params.lines)?;
        let handle = self.find(name).await?.ok_or_else(|| missing(name))?;
        let captured = handle.ask(|reply| Order::Capture { past_lines, reply });
        self.unless_leaving(captured)
            .await?
            .ok_or_else(|| missing(name))
    }

    pub(super) async fn command(
        &self,
        params: CommandParams,
    ) -> Result<TerminalCommand, WireError> {
        let command = self.parts.store.command(params.id).await?;
        if command.state.is_final() {
            return Ok(command);
        }
        let Some(handle) = self.find(&command.terminal).await? else {
            return Ok(self.parts.store.command(params.id).await?);
        };
        let waits = Waits {
            handle: &handle,
            ids: &[params.id],
            until: params.wait_ms.map(|wait_ms| wait_until(Some(wait_ms))),
        };
        self.await_again(&waits).await?.pop().ok_or_else(stopping)
    }

    pub(super) async fn cancel(&self, params: CancelParams) -> Result<Cancelled, WireError> {
        let mut name = words::name(params.name.as_deref())?.to_owned();
        if let Some(id) = params.id {
            let command = self.parts.store.command(id).await?;
            if command.by == CommandBy::Person && !command.state.is_final() {
                let message = "The person typed that command themself; hob does not end it.";
                return Err(conflict(message));
            }
            name = command.terminal;
        }
        let Some(handle) = self.find(&name).await? else {
            return match params.id {
                Some(_) => Ok(Cancelled {
                    name,
                    ended: Vec::new(),
                }),
                None => Err(missing(&name)),
            };
        };
        let id = params.id;
        let ended = handle.ask(|reply| Order::Cancel { id, reply });
        let ended = self.unless_leaving(ended).await?.unwrap_or_default();
        Ok(Cancelled { name, ended })
    }

    pub(super) async fn close(self: &Arc<Self>, params: CloseParams) -> Result<Closed, WireError> {
        let name = words::name(params.name.as_deref())?;
        // Whoever makes one of this name right now comes first.
        let _turn = self.making.lock().await;
        let Some(handle) = self.find(name).await? else {
            return Ok(Closed {
                name: name.to_owned(),
                windows: 0,
                terminal: false,
            });
        };
        // A terminal that goes takes its windows along.
        let windows = self.close_windows(&handle).await;
        let windows = if params.windows_only {
            windows?
        } else {
            windows.unwrap_or_default()
        };
        let mut terminal = false;
        if !params.windows_only {
            let closed = handle.ask(|reply| Order::Close { reply });
            terminal = self.unless_leaving(closed).await?.is_some();
        }
        Ok(Closed {
            name: name.to_owned(),
            windows,
            terminal,
        })
    }

    pub(super) async fn analyze(&self, params: AnalyzeParams) -> Result<Analysis, WireError> {
        let (command, output, exit_code) = match (params.id, params.output) {
            (Some(id), None) => {
                let found = self.command(CommandParams { id, wait_ms: None }).await?;
                let command = params.command.or(found.command);
                (command, found.output.unwrap_or_default(), found.exit_code)
            }
            (None, Some(output)) => (params.command, output, None),
            _ => return Err(invalid("Give either `id` or `output`.".to_owned())),
        };
        // Reading a large output takes a while.
        let read = move || analyze(command.as_deref(), &output, exit_code);
        let analysis = tokio::task::spawn_blocking(read).await;
        analysis.map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))
    }

    /// Commands as they are now: those that have ended from the record.
    async fn look_up(&self, waits: &Waits<'_>) -> Result<Vec<TerminalCommand>, WireError> {
        let order = |reply| Order::Look {
            ids: waits.ids.to_vec(),
            reply,
        };
        let looked = self.unless_leaving(waits.handle.ask(order)).await?;
        let live = looked.unwrap_or_default();
        let mut found = Vec::with_capacity(waits.ids.len());
        for id in waits.ids {
            match live.iter().find(|command| command.id == *id) {
                Some(command) => found.push(command.clone()),
                None => found.push(self.parts.store.command(*id).await?),
            }
        }
        Ok(found)
    }

    /// What a person does with their own hands, as the record keeps it.
    fn own_act(&self, call: &Call, tool: &str, matter: &Value) -> NewEntry {
        let work = Work {
            tool: tool.to_owned(),
            fingerprint: String::new(),
            args: matter.clone(),
            context: ToolContext::default(),
            state: None,
        };
        let mut matter = recorded(matter, &|text| self.parts.mask.apply(text).into_owned());
        // A digest looks like a token, and is none.
        matter["digest"] = json!(work.digest());
        // The hashes of the record are shown to callers from whom what was typed is hidden; with
        // this in them, which is hidden too, a short text cannot be guessed from its hash.
        matter["salt"] = json!(self.parts.dice.hex(SALT_BYTES));
        NewEntry {
            act: "own-act",
            by: call.caller.clone(),
            session_key: None,
            run_id: None,
            tool: Some(tool.to_owned()),
            matter,
        }
    }

    /// Records a person's act before it happens.
    pub(super) async fn record(
        &self,
        call: &Call,
        tool: &str,
        matter: &Value,
    ) -> Result<(), WireError> {
        let judgement = Judgement {
            entries: vec![self.own_act(call, tool, matter)],
            ..Judgement::default()
        };
        self.parts.store.judge(judgement).await?;
        Ok(())
    }

    /// Waits, but not when the daemon stops.
    pub(super) async fn unless_leaving<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, WireError> {
        tokio::select! {
            done = work => Ok(done),
            () = self.leaving.cancelled() => Err(stopping()),
        }
    }
}

/// Whose ends somebody waits for, and how long; not at all without a time.
struct Waits<'a> {
    handle: &'a Handle,
    ids: &'a [CommandId],
    until: Option<Instant>,
}

/// Who asks for something: a client of the person's, or a model whose call was judged before.
fn by(call: &Call, run: Option<RunId>) -> Result<CommandBy, WireError> {
    match run {
        None => Ok(CommandBy::Client),
        Some(_) if call.surface == HOUSE => Ok(CommandBy::Model),
        Some(_) => {
            let message = "`runId` is set by the house alone. Leave it out.";
            Err(WireError::new(ErrorCode::Forbidden, message))
        }
    }
}

fn wait_until(wait_ms: Option<u64>) -> Instant {
    Instant::now() + Duration::from_millis(wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX))
}

/// The answer about commands, within the bounds of a frame.
fn executed(name: &str, mut commands: Vec<TerminalCommand>) -> Executed {
    let mut room = PAGE_BYTES_MAX;
    for command in &mut commands {
        let Some(output) = &mut command.output else {
            continue;
        };
        if output.len() > room {
            let short = output.floor_char_boundary(SHORT_BYTES.min(output.len()));
            output.truncate(short);
            command.truncated = true;
        }
        room = room.saturating_sub(output.len());
    }
    Executed {
        name: name.to_owned(),
        commands,
    }
}
