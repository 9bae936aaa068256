//! `hob ask`: asks one question and streams the answer.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::TextTone;
use crate::run_ui::follow_run::{InterruptSignals, RunUiContext};
use crate::run_ui::onboarding::{self, LocalModelArgs};
use crate::run_ui::run_request::{self, TaskArgs};
use crate::run_ui::terminal_user::TerminalUser;
use crate::run_ui::{lines, plain_language};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_wire::rooms::agent::{AgentRunParams, ContextPolicy};

/// Asks a model one question and streams its answer.
///
/// Text piped into stdin is sent as context. The answer goes to stdout, everything else to stderr.
/// Without --session each question stands alone. Ctrl-C stops the run and shows what it had done; a
/// second Ctrl-C exits at once.
///
/// hob "…" and hob -- … are the same with --terminal: the model decides whether it is a question, a
/// mention of a command, or something to run. A command is shown with its reason, runs in the shared
/// terminal after you say yes, and is explained from its actual output.
///
/// If a tool call needs approval, hob asks on the terminal; without a terminal the call is denied at
/// once and the exit code is 3.
///
/// With no model configured, hob offers a choice on a terminal and then answers. Elsewhere, or with
/// --yes, it uses what it finds, else it installs a demo model and says so before the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob \"what's my uptime?\"",
    "hob ask \"what is the capital of France?\"",
    "git diff | hob ask \"review this\"",
    "hob ask --session work \"and what did we say about it yesterday?\"",
    "hob ask --image cat.png --model smart \"what is in the picture?\"",
    "hob ask --yes \"name a river\"",
    "hob ask --json \"name three rivers\" | jq -r .payload.delta",
]))]
pub struct AskArgs {
    /// The question; read from stdin if missing.
    question: Vec<String>,
    /// The session to continue; a new one if missing.
    #[arg(long, short, value_name = "KEY")]
    session: Option<String>,
    /// Hides the session's earlier messages from the model.
    #[arg(long)]
    fresh: bool,
    /// An image to send along; may be repeated.
    #[arg(long, value_name = "FILE")]
    image: Vec<String>,
    /// A JSON Schema that the answer must match.
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// Offers the shared terminal as the only tool; what `hob "…"` means.
    #[arg(long, conflicts_with_all = ["tools", "no_tools", "workspace", "schema"])]
    terminal: bool,
    #[command(flatten)]
    local_model: LocalModelArgs,
    #[command(flatten)]
    task: TaskArgs,
}

pub async fn run(context: &CommandContext, args: AskArgs) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    // Reading piped stdin may take long, so Ctrl-C is handled already here.
    let mut params = tokio::select! {
        params = params(context, &args) => params?,
        () = interrupts.next() => return Err(CommandFailure::quiet(crate::failure::ExitStatus::Interrupted)),
    };
    let client = context.client().await?;
    // With --json a program reads the output, so nobody can be asked.
    let person = if context.terminal.json {
        None
    } else {
        TerminalUser::find()
    };
    // An unattended run denies calls that need approval instead of waiting for an answer.
    params.unattended = person.is_none();
    if person.is_some()
        && let Some(note) = run_request::wide_workspace_warning(context, &params)
    {
        Terminal::note(
            context
                .terminal
                .stderr_screen()
                .paint(TextTone::Quiet, &note),
        );
    }
    let setting = RunUiContext {
        context,
        client: &client,
        person: person.as_ref(),
        is_demo_named: false,
    };
    let yes = args.local_model.yes;
    let ending = onboarding::run(setting, &params, yes, &mut interrupts).await;
    let ending = ending.map_err(onboarding::with_first_steps)?;
    let screen = context.terminal.stderr_screen();
    if let Some(completed) = &ending.completed
        && completed.success
        && context.terminal.is_terminal()
        && screen.width.is_some()
        && !context.terminal.json
    {
        let footer = lines::footer(completed, ending.took_ms, &Terminal::remeasured(screen));
        Terminal::note(footer);
    }
    ending.result().map_err(onboarding::with_first_steps)
}

async fn params(
    context: &CommandContext,
    args: &AskArgs,
) -> Result<AgentRunParams, CommandFailure> {
    let mut params = args.task.params(context)?;
    if args.terminal {
        plain_language::configure_run(&mut params);
    }
    params.context = args.fresh.then_some(ContextPolicy::Fresh);
    params.images = run_request::images(&args.image)?;
    params.schema = run_request::schema(args.schema.as_deref())?;
    let session = args.session.clone();
    params.session_key = session.unwrap_or_else(|| run_request::new_session_key("ask", context));
    params.task = run_request::task(args.question.join(" ")).await?;
    Ok(params)
}
