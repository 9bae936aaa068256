//! Several commands in one request: on record together, run one after the other, each with its own
//! end.

use crate::archy::client::{Client, Failure};
use crate::archy::fields::{self, Fields};
use crate::archy::{commands, waiting};
use hob_wire::archy::{
    Answer, Batch, BatchCommand, BatchResult, COMMAND_TIMEOUT, COMMANDS_MISSING, Response, Status,
};
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use tokio::time::Instant;

/// Seconds to wait for a batch that does not say: Archy's own clients give up after ten.
const WAIT_SECONDS: u64 = 8;
const PREVIEW_LINES: usize = 6;
/// Letters of a line in a preview.
const PREVIEW_CHARS: usize = 200;

pub(crate) async fn execute(client: &Client<'_>, data: Fields<'_>) -> Result<Answer, Failure> {
    let wanted = wanted(data)?;
    let session = data.session(&client.settings)?;
    let until = Instant::now() + data.max_wait(WAIT_SECONDS)?;
    let lines: Vec<String> = wanted.iter().map(|it| it.command.clone()).collect();
    let ids = if lines.is_empty() {
        Vec::new()
    } else {
        commands::typed(client, session, lines).await?
    };
    let mut results = Vec::with_capacity(ids.len());
    for (one, id) in wanted.into_iter().zip(ids) {
        let ended = waiting::ended(client, id, until).await?;
        results.push(one.ended(ended));
    }
    answer(results)
}

/// A command of the request, before it has run.
struct Wanted {
    index: u64,
    command: String,
    explanation: String,
}

fn wanted(data: Fields<'_>) -> Result<Vec<Wanted>, String> {
    let commands = data.0.get("commands").and_then(Value::as_array);
    let commands = commands.ok_or(COMMANDS_MISSING)?;
    let explanations = data.0.get("explanations").and_then(Value::as_array);
    let explanation = |index: usize| {
        let all = explanations.map(Vec::as_slice).unwrap_or_default();
        all.get(index).and_then(Value::as_str).unwrap_or_default()
    };
    let mut wanted = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        let place = index as u64 + 1;
        let command = command.as_str().map(str::trim);
        let command =
            command.ok_or_else(|| format!("Invalid command {place}: a text is needed"))?;
        if command.is_empty() {
            continue;
        }
        fields::check_command(command).map_err(|why| format!("Command {place}: {why}"))?;
        wanted.push(Wanted {
            index: place,
            command: command.to_owned(),
            explanation: explanation(index).to_owned(),
        });
    }
    Ok(wanted)
}

impl Wanted {
    fn ended(self, ended: TerminalCommand) -> BatchCommand {
        let by_itself = ended.state == CommandState::Done;
        let success = by_itself && ended.exit_code == Some(0);
        let (status, error) = match ended.state {
            _ if success => (Status::Success, None),
            state if !state.is_final() => (Status::Timeout, Some(COMMAND_TIMEOUT.to_owned())),
            _ => {
                let code = ended.exit_code.unwrap_or(-1);
                let said = ended.detail.unwrap_or_else(|| format!("exit code {code}"));
                (Status::Error, Some(said))
            }
        };
        BatchCommand {
            index: self.index,
            command: self.command,
            explanation: self.explanation,
            success,
            status,
            exit_code: ended.exit_code,
            duration_ms: ended.duration_ms,
            output_preview: ended.output.as_deref().and_then(preview),
            error,
        }
    }
}

fn preview(output: &str) -> Option<String> {
    let lines = output.lines().take(PREVIEW_LINES);
    let lines = lines.map(|line| line.chars().take(PREVIEW_CHARS).collect::<String>());
    let preview = lines.collect::<Vec<_>>().join("\n");
    (!preview.is_empty()).then_some(preview)
}

fn answer(commands: Vec<BatchCommand>) -> Result<Answer, Failure> {
    let count = |status| commands.iter().filter(|it| it.status == status).count() as u64;
    let (successful, failed) = (count(Status::Success), count(Status::Error));
    let unfinished = count(Status::Timeout);
    let total = commands.len() as u64;
    let mut summary =
        format!("Batch executed {total} commands: {successful} succeeded, {failed} failed");
    if unfinished > 0 {
        summary = format!("{summary}, {unfinished} still to end");
    }
    let result = BatchResult {
        total_commands: total,
        successful,
        failed,
        unfinished,
        commands,
        summary,
    };
    let text = serde_json::to_string(&result);
    let text = text.map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    let success = successful == total;
    let plain = Response {
        success,
        output: Some(text),
        error: (!success).then(|| result.summary.clone()),
        exists: None,
    };
    Ok(Answer::Batch(Box::new(Batch { plain, result })))
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
