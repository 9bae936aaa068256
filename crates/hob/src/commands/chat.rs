//! `hob chat`: a conversation at a prompt.
//!
//! Invariant: the first Ctrl-C stops the run or tells how to exit; the second exits.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::{TextTone, chat};
use crate::run_ui::follow_run::{self, InterruptSignals, RunUiContext};
use crate::run_ui::line_editor::{LineEditor, LineInput};
use crate::run_ui::lines;
use crate::run_ui::onboarding::{self, LocalModelArgs};
use crate::run_ui::outcome::FollowOutcome;
use crate::run_ui::run_request::{self, TaskArgs};
use crate::run_ui::slash_command::{self, ChatInput};
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_client::{Client, ClientError};
use hob_wire::ErrorCode;
use hob_wire::rooms::agent::{Abort, AgentRunParams, RunSelector, RunState, RunView, Status};
use hob_wire::rooms::cost::{CostSummaryParams, Summary};
use hob_wire::rooms::session::{History, SessionHistoryParams};

/// The session without `--session`.
const DEFAULT_SESSION: &str = "chat:main";
/// Earlier messages shown when a session is continued.
const EARLIER_MESSAGES: u32 = 6;
/// The days of the ledger that `/cost` sums.
const COST_DAYS: u32 = 366;
const PROMPT: &str = "> ";

/// Talks with a model at a prompt.
///
/// Continues the session chat:main unless another is named. Ctrl-C stops the run, a second Ctrl-C
/// exits. /help lists the commands of the prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob chat",
    "hob chat --session work --model smart",
    "hob chat --no-tools",
]))]
pub struct ChatArgs {
    /// The session to continue or start.
    #[arg(long, short, value_name = "KEY")]
    session: Option<String>,
    #[command(flatten)]
    local_model: LocalModelArgs,
    #[command(flatten)]
    task: TaskArgs,
}

pub async fn run(context: &CommandContext, args: ChatArgs) -> Result<(), CommandFailure> {
    let params = args.task.params(context)?;
    let client = context.client().await?;
    let person = if context.terminal.json {
        None
    } else {
        TerminalUser::find()
    };
    let mut chat = ChatSession {
        ui: RunUiContext {
            context,
            client: &client,
            person: person.as_ref(),
            is_demo_named: false,
        },
        params: AgentRunParams {
            session_key: args.session.unwrap_or_else(|| DEFAULT_SESSION.to_owned()),
            unattended: person.is_none(),
            ..params
        },
        editor: LineEditor::open(context.host.home.chat_history())?,
        interrupts: InterruptSignals::listen()?,
        yes: args.local_model.yes,
        interrupts_in_a_row: 0,
    };
    chat.show_greeting().await?;
    chat.run_until_exit().await
}

/// A conversation under way.
struct ChatSession<'c> {
    ui: RunUiContext<'c>,
    /// The parameters that every turn shares.
    params: AgentRunParams,
    editor: LineEditor,
    interrupts: InterruptSignals,
    /// `--yes`: installs the local model without asking.
    yes: bool,
    /// Ctrl-C presses since the last line of input.
    interrupts_in_a_row: u32,
}

impl ChatSession<'_> {
    fn client(&self) -> &Client {
        self.ui.client
    }

    async fn run_until_exit(&mut self) -> Result<(), CommandFailure> {
        loop {
            self.ui.context.terminal.flush()?;
            let entered = tokio::select! {
                entered = self.editor.next(PROMPT) => entered?,
                // The line editor reads Ctrl-C as a key; a signal only arrives in a script.
                () = self.interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
            };
            match entered {
                LineInput::End => return Ok(()),
                LineInput::Interrupted => {
                    self.interrupts_in_a_row += 1;
                    if self.interrupts_in_a_row > 1 {
                        return Err(CommandFailure::quiet(ExitStatus::Interrupted));
                    }
                    self.note("Press Ctrl-C again or Ctrl-D to exit.");
                }
                LineInput::Text(line) => {
                    self.interrupts_in_a_row = 0;
                    if self.handle_input(slash_command::parse(&line)).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Handles a line of input; returns true if the chat should exit.
    async fn handle_input(&mut self, typed: ChatInput) -> Result<bool, CommandFailure> {
        match typed {
            ChatInput::Nothing => {}
            ChatInput::Quit => return Ok(true),
            ChatInput::Words(words) => self.send_message(words).await?,
            ChatInput::Help => slash_command::help().iter().for_each(Terminal::note),
            ChatInput::New(key) => {
                let key =
                    key.unwrap_or_else(|| run_request::new_session_key("chat", self.ui.context));
                self.params.session_key = key;
                self.show_greeting().await?;
            }
            ChatInput::Model(Some(model)) => {
                self.note(&format!("Using {model} from now on."));
                self.params.model = Some(model);
            }
            ChatInput::Model(None) => {
                let model = self.params.model.as_deref();
                let model = model.unwrap_or("the default model");
                self.note(&format!(
                    "Using {model}; `hob model list` shows the others."
                ));
            }
            ChatInput::Stop => self.stop_runs().await?,
            ChatInput::Cost => self.show_cost().await?,
            ChatInput::Unknown(word, near) => {
                let near = near.map(|near| format!(" Did you mean /{near}?"));
                let near = near.unwrap_or_else(|| " /help lists the commands.".to_owned());
                self.note(&format!("There is no /{word}.{near}"));
            }
        }
        Ok(false)
    }

    async fn send_message(&mut self, task: String) -> Result<(), CommandFailure> {
        let params = AgentRunParams {
            task,
            // A retry after a lost connection must not start a second run.
            idempotency_key: Some(run_request::fresh_id(&self.ui.context.host.randomness)),
            ..self.params.clone()
        };
        let ended = onboarding::run(self.ui, &params, self.yes, &mut self.interrupts).await;
        // Named before the first answer of a conversation, which may be long.
        self.ui.is_demo_named = true;
        self.report_end(ended)
    }

    /// Reports the end of a run. Returns an error only if the chat cannot continue.
    fn report_end(
        &mut self,
        ended: Result<FollowOutcome, CommandFailure>,
    ) -> Result<(), CommandFailure> {
        let ending = match ended {
            Ok(ending) => ending,
            Err(failure) => return self.report_failure(failure),
        };
        if ending.interrupted {
            // The first Ctrl-C stopped the run, so the next one exits.
            self.interrupts_in_a_row = 1;
            return Ok(());
        }
        if let Some(completed) = &ending.completed
            && completed.success
        {
            let screen = Terminal::remeasured(self.ui.context.terminal.stderr_screen());
            let footer = lines::footer(completed, ending.took_ms, &screen);
            if !self.editor.is_script() {
                // A blank line ends the turn.
                Terminal::note(format!("{footer}\n"));
            }
        }
        match ending.result() {
            Ok(()) => Ok(()),
            Err(failure) => self.report_failure(failure),
        }
    }

    fn report_failure(&mut self, failure: CommandFailure) -> Result<(), CommandFailure> {
        let failure = onboarding::with_first_steps(failure);
        // A person may try again; a script would go on after a failure unnoticed.
        if self.editor.is_script() || failure.silent || failure.exit == ExitStatus::Unreachable {
            return Err(failure);
        }
        Terminal::note(failure.text());
        Ok(())
    }

    /// Shows the last messages, and follows a run of the session that is still going.
    async fn show_greeting(&mut self) -> Result<(), CommandFailure> {
        let client = self.ui.client;
        let params = SessionHistoryParams {
            session_key: self.params.session_key.clone(),
            limit: Some(EARLIER_MESSAGES),
            before: None,
        };
        let earlier = found_or_none(client.call_with_retry::<History>(&params).await)?;
        if !self.editor.is_script() {
            let screen = self.ui.context.terminal.stderr_screen();
            let page = chat::greeting(&self.params, earlier.as_ref(), screen);
            page.iter().for_each(Terminal::note);
            if let Some(note) = run_request::wide_workspace_warning(self.ui.context, &self.params) {
                self.note(&note);
            }
        }
        // A session that does not exist yet has no run to follow.
        if earlier.is_none() {
            return Ok(());
        }
        if let Some(view) = self.unfinished_run().await? {
            self.note("A run of this session is still going:");
            let ended = follow_run::join(self.ui, &view, &mut self.interrupts).await;
            return self.report_end(ended);
        }
        Ok(())
    }

    /// Returns the session's run if it has not ended.
    async fn unfinished_run(&self) -> Result<Option<RunView>, CommandFailure> {
        let view = self
            .client()
            .call_with_retry::<Status>(&self.selector())
            .await;
        Ok(found_or_none(view)?.filter(|view| view.state != RunState::Done))
    }

    async fn stop_runs(&self) -> Result<(), CommandFailure> {
        let stopped = self
            .client()
            .call_with_retry::<Abort>(&self.selector())
            .await;
        let stopped = found_or_none(stopped)?
            .map(|stopped| stopped.runs)
            .unwrap_or_default();
        if stopped.is_empty() {
            self.note("Nothing is running or queued here.");
        }
        let screen = self.ui.context.terminal.stderr_screen();
        for view in &stopped {
            lines::stop_report(view, screen)
                .iter()
                .for_each(Terminal::note);
        }
        Ok(())
    }

    async fn show_cost(&self) -> Result<(), CommandFailure> {
        let params = CostSummaryParams {
            days: Some(COST_DAYS),
            session_key: Some(self.params.session_key.clone()),
        };
        let summary = found_or_none(self.client().call_with_retry::<Summary>(&params).await)?;
        let total = summary.map(|summary| summary.total).unwrap_or_default();
        self.note(&format!("This session: {}.", lines::cost(&total)));
        Ok(())
    }

    fn selector(&self) -> RunSelector {
        RunSelector {
            session_key: Some(self.params.session_key.clone()),
            run_id: None,
        }
    }

    /// Prints a note beside the conversation; a script gets none.
    fn note(&self, text: &str) {
        if self.editor.is_script() {
            return;
        }
        let screen = self.ui.context.terminal.stderr_screen();
        Terminal::note(screen.paint(TextTone::Quiet, text));
    }
}

/// Returns the result, or `None` if the named thing does not exist yet.
fn found_or_none<T>(result: Result<T, ClientError>) -> Result<Option<T>, CommandFailure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some(ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
