//! Several commands in one request. They are recorded together, run one after the other, and each
//! has its own result.

use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::fields::{self, ArchyFields};
use crate::archy::types::{
    ArchyAnswer, ArchyBatch, ArchyBatchCommand, ArchyBatchResult, ArchyResponse, ArchyStatus,
    COMMAND_TIMEOUT, COMMANDS_MISSING,
};
use crate::archy::{commands, waiting};
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use tokio::time::Instant;

/// Default wait for a batch, in seconds. Archy's clients time out after ten.
const WAIT_SECONDS: u64 = 8;
const PREVIEW_LINES: usize = 6;
/// Maximum letters of a preview line.
const PREVIEW_CHARS: usize = 200;

pub(crate) async fn execute(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyAnswer, ArchyFailure> {
    let items = parse_items(data)?;
    let session = data.session(&client.settings)?;
    // One deadline for the whole batch, because the client waits for one answer.
    let until = Instant::now() + data.max_wait(WAIT_SECONDS)?;
    let lines: Vec<String> = items.iter().map(|it| it.command.clone()).collect();
    let ids = if lines.is_empty() {
        Vec::new()
    } else {
        commands::enqueue(client, session, lines).await?
    };
    let mut results = Vec::with_capacity(ids.len());
    for (item, id) in items.into_iter().zip(ids) {
        let ended = waiting::wait_for_end(client, id, until).await?;
        results.push(item.into_result(ended));
    }
    batch_answer(results)
}

/// A command of the request, not run yet.
struct BatchItem {
    index: u64,
    command: String,
    explanation: String,
}

fn parse_items(data: ArchyFields<'_>) -> Result<Vec<BatchItem>, String> {
    let commands = data.0.get("commands").and_then(Value::as_array);
    let commands = commands.ok_or(COMMANDS_MISSING)?;
    let explanations = data.0.get("explanations").and_then(Value::as_array);
    let explanation = |index: usize| {
        let all = explanations.map(Vec::as_slice).unwrap_or_default();
        all.get(index).and_then(Value::as_str).unwrap_or_default()
    };
    let mut items = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        let number = index as u64 + 1;
        let command = command.as_str().map(str::trim);
        let command =
            command.ok_or_else(|| format!("Invalid command {number}: a text is needed"))?;
        // An empty command is left out, but the others keep their numbers.
        if command.is_empty() {
            continue;
        }
        fields::check_command(command).map_err(|why| format!("Command {number}: {why}"))?;
        items.push(BatchItem {
            index: number,
            command: command.to_owned(),
            explanation: explanation(index).to_owned(),
        });
    }
    Ok(items)
}

impl BatchItem {
    fn into_result(self, ended: TerminalCommand) -> ArchyBatchCommand {
        let by_itself = ended.state == CommandState::Done;
        let success = by_itself && ended.exit_code == Some(0);
        let (status, error) = match ended.state {
            _ if success => (ArchyStatus::Success, None),
            state if !state.is_final() => (ArchyStatus::Timeout, Some(COMMAND_TIMEOUT.to_owned())),
            _ => {
                let code = ended.exit_code.unwrap_or(-1);
                let message = ended.detail.unwrap_or_else(|| format!("exit code {code}"));
                (ArchyStatus::Error, Some(message))
            }
        };
        ArchyBatchCommand {
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

fn batch_answer(commands: Vec<ArchyBatchCommand>) -> Result<ArchyAnswer, ArchyFailure> {
    let count = |status| commands.iter().filter(|it| it.status == status).count() as u64;
    let (successful, failed) = (count(ArchyStatus::Success), count(ArchyStatus::Error));
    let unfinished = count(ArchyStatus::Timeout);
    let total = commands.len() as u64;
    let mut summary =
        format!("Batch executed {total} commands: {successful} succeeded, {failed} failed");
    if unfinished > 0 {
        summary = format!("{summary}, {unfinished} still to end");
    }
    let result = ArchyBatchResult {
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
    let plain = ArchyResponse {
        success,
        output: Some(text),
        error: (!success).then(|| result.summary.clone()),
        exists: None,
    };
    Ok(ArchyAnswer::Batch(Box::new(ArchyBatch { plain, result })))
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
