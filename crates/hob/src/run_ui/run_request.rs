//! The request of a run: the task from the command line and stdin, with images, a schema, limits and
//! tools. Everything is read and checked before the daemon is called.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::text;
use crate::terminal::Terminal;
use clap::value_parser;
use data_encoding::BASE64;
use hob_core::amounts::parse_dollars;
use hob_core::image_type;
use hob_kit::duration::parse_ms;
use hob_kit::randomness::Randomness;
use hob_wire::rooms::agent::{AgentRunParams, Budget, InlineImage};
use serde_json::Value;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

/// The most bytes of context from stdin.
pub const STDIN_BYTES_MAX: usize = 1_024 * 1_024;
/// The most bytes of all images of a task: encoded, they must fit into one message with the text.
pub const IMAGE_BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// The most bytes of a JSON Schema.
const SCHEMA_BYTES_MAX: usize = 256 * 1_024;
/// The delay before a note says that stdin is being read.
const STDIN_HINT_AFTER: Duration = Duration::from_secs(2);

/// The flags of every command that starts a run.
#[derive(Debug, clap::Args)]
pub struct TaskArgs {
    /// provider/model or an alias such as fast; the default model when missing.
    #[arg(long, short)]
    pub model: Option<String>,
    /// The folder the tools work in; the current one when missing.
    #[arg(long, short, value_name = "DIR")]
    pub workspace: Option<String>,
    /// Only these tools.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// No tools at all.
    #[arg(long, conflicts_with = "tools")]
    pub no_tools: bool,
    /// At most this many model calls.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub budget_steps: Option<u32>,
    /// At most this many tokens, in and out.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub budget_tokens: Option<u64>,
    /// At most this much money, such as 0.50.
    #[arg(long, value_name = "X", value_parser = parse_dollars)]
    pub budget_dollars: Option<u64>,
    /// At most this long, such as 5m.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub budget_time: Option<u64>,
}

impl TaskArgs {
    /// The run params of the flags; task and session are set later.
    pub fn params(&self, context: &CommandContext) -> Result<AgentRunParams, CommandFailure> {
        let budget = self.budget();
        Ok(AgentRunParams {
            model: self.model.clone(),
            tools: self.tools(),
            budget: (budget != Budget::default()).then_some(budget),
            workspace: workspace(context, self.workspace.clone())?,
            idempotency_key: Some(fresh_id(&context.host.randomness)),
            ..AgentRunParams::default()
        })
    }

    /// The named tools; `--no-tools` is an empty list.
    pub fn tools(&self) -> Option<Vec<String>> {
        let is_named = self.no_tools || !self.tools.is_empty();
        is_named.then(|| self.tools.clone())
    }

    /// The named limits.
    pub fn budget(&self) -> Budget {
        Budget {
            steps: self.budget_steps,
            tokens: self.budget_tokens,
            micro_dollars: self.budget_dollars,
            wall_ms: self.budget_time,
        }
    }
}

/// A random unique id.
pub fn fresh_id(randomness: &Randomness) -> String {
    randomness.hex(16)
}

/// The key of a new session: `ask:UUID`.
pub fn new_session_key(kind: &str, context: &CommandContext) -> String {
    let host = &context.host;
    format!("{kind}:{}", host.randomness.uuid(host.clock.wall_ms()))
}

/// The folder the tools work in: the named one, or the current one. A remote daemon does not see
/// this machine's folders, so nothing is resolved for it.
pub fn workspace(
    context: &CommandContext,
    named: Option<String>,
) -> Result<Option<String>, CommandFailure> {
    if context.is_remote() {
        return Ok(named);
    }
    let folder = named.clone().unwrap_or_else(|| ".".to_owned());
    match std::fs::canonicalize(&folder) {
        Ok(path) if path.is_dir() => Ok(path.to_str().map(str::to_owned)),
        Ok(_) => Err(CommandFailure::usage(format!(
            "'{folder}' is not a folder."
        ))),
        // The current folder may have been removed; a question works without it.
        Err(_) if named.is_none() => Ok(None),
        Err(error) => Err(CommandFailure::usage(format!(
            "'{folder}' cannot be used: {error}."
        ))),
    }
}

/// The warning when the workspace is the home folder or the root: an answer for "this folder" would
/// cover all of it. Reading there may be intended, so it is only a warning.
pub fn wide_workspace_warning(context: &CommandContext, params: &AgentRunParams) -> Option<String> {
    let has_tools = params.tools.as_ref().is_none_or(|tools| !tools.is_empty());
    wide_folder_warning(context, params.workspace.as_deref().filter(|_| has_tools)?)
}

/// The same warning for a folder.
pub fn wide_folder_warning(context: &CommandContext, folder: &str) -> Option<String> {
    let home = context.host.env.os("HOME");
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let what = match Path::new(folder) {
        root if root == Path::new("/") => "the whole machine",
        folder if home.as_deref() == Some(folder) => "your whole home folder",
        _ => return None,
    };
    Some(format!(
        "Tools work in {what} here; go to a narrower folder, or name one with --workspace."
    ))
}

/// The task text: the question, then the text piped into stdin.
pub async fn task(question: String) -> Result<String, CommandFailure> {
    let context = read_piped_stdin()
        .await?
        .filter(|text| !text.trim().is_empty());
    match (question.trim().is_empty(), context) {
        (false, Some(context)) => {
            let context = context.trim_end_matches('\n');
            Ok(format!("{question}\n\n<stdin>\n{context}\n</stdin>"))
        }
        (false, None) => Ok(question),
        (true, Some(context)) => Ok(context.trim_end().to_owned()),
        (true, None) => Err(CommandFailure::usage("There is no question.")
            .next("Ask one: hob ask \"what is filling my disk?\"")),
    }
}

/// Reads the text piped into stdin, on a blocking thread so that Ctrl-C still ends the command.
pub async fn read_piped_stdin() -> Result<Option<String>, CommandFailure> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        // One byte more than allowed tells a full input from one that is too large.
        let mut stdin = std::io::stdin().take(STDIN_BYTES_MAX as u64 + 1);
        stdin.read_to_end(&mut bytes).map(|_| bytes)
    });
    tokio::pin!(reading);
    let read = if let Ok(read) = tokio::time::timeout(STDIN_HINT_AFTER, &mut reading).await {
        read
    } else {
        Terminal::note("Reading context from stdin until it ends (`< /dev/null` for none).");
        reading.await
    };
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            return Err(CommandFailure::usage(format!(
                "Stdin cannot be read: {error}."
            )));
        }
        Err(error) => {
            return Err(CommandFailure::failed(format!(
                "Stdin cannot be read: {error}."
            )));
        }
    };
    if bytes.len() > STDIN_BYTES_MAX {
        let max = text::bytes(STDIN_BYTES_MAX as u64);
        return Err(CommandFailure::usage(format!("Stdin has more than {max}."))
            .next("Pipe less, such as the last lines: tail -n 500 FILE | hob ask …"));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| {
        CommandFailure::usage("Stdin is not text (UTF-8).").next("Use --image FILE for an image.")
    })?;
    Ok(Some(text))
}

/// Reads the named images.
pub fn images(files: &[String]) -> Result<Vec<InlineImage>, CommandFailure> {
    let mut left = IMAGE_BYTES_MAX;
    let mut images = Vec::new();
    for file in files {
        let bytes = read_up_to(file, left)?.ok_or_else(|| {
            let max = text::bytes(IMAGE_BYTES_MAX as u64);
            CommandFailure::usage(format!("The images are larger than {max} in total."))
        })?;
        left -= bytes.len();
        let mime_type = image_type::mime_type(&bytes).ok_or_else(|| {
            CommandFailure::usage(format!("'{file}' is not an image hob supports."))
                .next("Supported: PNG, JPEG, GIF and WebP.")
        })?;
        images.push(InlineImage {
            mime_type: mime_type.to_owned(),
            data: BASE64.encode(&bytes),
        });
    }
    Ok(images)
}

/// Reads the named JSON Schema.
pub fn schema(file: Option<&str>) -> Result<Option<Value>, CommandFailure> {
    let Some(file) = file else {
        return Ok(None);
    };
    let bytes = read_up_to(file, SCHEMA_BYTES_MAX)?.ok_or_else(|| {
        let max = text::bytes(SCHEMA_BYTES_MAX as u64);
        CommandFailure::usage(format!("'{file}' is larger than {max}."))
    })?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| CommandFailure::usage(format!("'{file}' is not JSON: {error}.")))?;
    if !value.is_object() {
        return Err(
            CommandFailure::usage(format!("'{file}' is not a JSON Schema.")).next(
                "A schema is an object, such as {\"type\": \"object\", \"properties\": {…}}.",
            ),
        );
    }
    Ok(Some(value))
}

/// Reads a file; `None` if it is larger than `max`.
pub fn read_up_to(file: &str, max: usize) -> Result<Option<Vec<u8>>, CommandFailure> {
    let unreadable =
        |error: std::io::Error| CommandFailure::usage(format!("'{file}' cannot be read: {error}."));
    let open = std::fs::File::open(Path::new(file)).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too large.
    let mut limited = open.take(max as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes.len() <= max).then_some(bytes))
}

#[cfg(test)]
#[path = "run_request_tests.rs"]
mod tests;
