//! `hob terminal`: the shells in tmux that the user shares with hob.
//!
//! - `follow_command`: runs a command and prints its output through `output_filter`
//! - `stream_recording`: writes the raw bytes to stdout; `recording_page`: reads pages of them
//! - `attach`: hands this terminal over to tmux

mod args;
mod attach;
mod follow_command;
mod output_filter;
mod recording_page;
mod stream_recording;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::one_line;
use crate::render::{runs, terminals};
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal as Screen;
pub use args::TerminalSubcommand;
use hob_client::Client;
use hob_wire::rooms::terminal::{
    Cancel, Capture, Close, Command, Create, DEFAULT_TERMINAL, DisplayEnv, History, Keys, List,
    Open, TerminalCancelParams, TerminalCaptureParams, TerminalCloseParams, TerminalCommandParams,
    TerminalCreateParams, TerminalHistoryParams, TerminalInfo, TerminalKeysParams,
    TerminalListParams, TerminalOpenParams, TerminalState,
};
use hob_wire::{CommandId, ErrorCode};

/// The newest commands that are searched for the end of an id.
const SUFFIX_SEARCH_COMMANDS: u32 = 1_000;

pub async fn run(
    context: &CommandContext,
    command: TerminalSubcommand,
) -> Result<(), CommandFailure> {
    if let TerminalSubcommand::Attach(terminal) = &command {
        attach::check(context, terminal.given())?;
    }
    if let TerminalSubcommand::Stream(args) = &command {
        stream_recording::check(context, args)?;
    }
    let client = &context.client().await?;
    let named = |name: Option<String>| TerminalCommands {
        context,
        client,
        name,
    };
    let done = match command {
        TerminalSubcommand::List => named(None).list().await,
        TerminalSubcommand::Run(mut args) => {
            follow_command::run(&named(args.terminal.name.take()), args).await
        }
        TerminalSubcommand::Attach(terminal) => attach::run(&named(terminal.into_name())).await,
        TerminalSubcommand::Capture(args) => {
            named(args.terminal.into_name()).capture(args.lines).await
        }
        TerminalSubcommand::Stream(args) => {
            stream_recording::run(&named(args.terminal.given().map(str::to_owned)), &args).await
        }
        TerminalSubcommand::History(args) => match args.id {
            Some(id) => named(None).history_command(&id).await,
            None => {
                named(args.name.or(args.bare_name))
                    .history(args.lines)
                    .await
            }
        },
        TerminalSubcommand::Keys(args) => {
            named(args.terminal.name).keys(args.text, args.keys).await
        }
        TerminalSubcommand::Cancel(args) => named(args.terminal.into_name()).cancel(args.id).await,
        TerminalSubcommand::Open(args) => {
            let terminal = named(args.terminal.into_name());
            terminal.open(args.program, args.another).await
        }
        TerminalSubcommand::Close(args) => {
            let terminal = named(args.terminal.into_name());
            terminal.close(args.windows, args.yes).await
        }
    };
    done.map_err(suggest_list)
}

/// The subcommands that act on a terminal.
struct TerminalCommands<'c> {
    context: &'c CommandContext,
    client: &'c Client,
    /// The name on the command line.
    name: Option<String>,
}

impl TerminalCommands<'_> {
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_TERMINAL)
    }

    async fn list(&self) -> Result<(), CommandFailure> {
        let found = self
            .client
            .call_with_retry::<List>(&TerminalListParams {})
            .await?;
        Ok(self
            .context
            .terminal
            .print_result(&found, terminals::list)?)
    }

    /// Returns the terminal; creates it in the current folder if it is missing.
    async fn ensure(&self) -> Result<TerminalInfo, CommandFailure> {
        let here = std::env::current_dir().ok();
        // A remote daemon has other folders.
        let here = here.filter(|_| !self.context.is_remote());
        let params = TerminalCreateParams {
            name: self.name.clone(),
            folder: here.and_then(|folder| folder.to_str().map(str::to_owned)),
            ..TerminalCreateParams::default()
        };
        Ok(self
            .client
            .call_with_retry::<Create>(&params)
            .await?
            .terminal)
    }

    async fn capture(&self, lines: Option<u32>) -> Result<(), CommandFailure> {
        let params = TerminalCaptureParams {
            name: self.name.clone(),
            lines,
        };
        let captured = self.client.call_with_retry::<Capture>(&params).await?;
        Ok(self
            .context
            .terminal
            .print_result(&captured, terminals::captured)?)
    }

    async fn history_command(&self, id: &str) -> Result<(), CommandFailure> {
        let params = TerminalCommandParams {
            id: self.command_id(id).await?,
            wait_ms: None,
        };
        let found = self.client.call_with_retry::<Command>(&params).await?;
        let terminal = &self.context.terminal;
        Ok(terminal.print_result(&found, terminals::command)?)
    }

    async fn history(&self, limit: Option<u32>) -> Result<(), CommandFailure> {
        let params = TerminalHistoryParams {
            name: self.name.clone(),
            limit,
            ..TerminalHistoryParams::default()
        };
        let found = self.client.call_with_retry::<History>(&params).await?;
        let draw = match &self.name {
            Some(_) => terminals::history,
            None => terminals::histories,
        };
        Ok(self.context.terminal.print_result(&found, draw)?)
    }

    async fn keys(&self, text: Option<String>, keys: Vec<String>) -> Result<(), CommandFailure> {
        let params = TerminalKeysParams {
            name: self.name.clone(),
            text,
            keys,
            run_id: None,
        };
        // Not retried: keys must not be typed twice.
        let typed = self.client.call::<Keys>(&params).await?;
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(&typed)?);
        }
        Ok(())
    }

    async fn cancel(&self, id: Option<String>) -> Result<(), CommandFailure> {
        let mut params = TerminalCancelParams {
            name: self.name.clone(),
            id: None,
        };
        if let Some(word) = id {
            let id = self.command_id(&word).await?;
            let selected = TerminalCommandParams { id, wait_ms: None };
            let found = self.client.call_with_retry::<Command>(&selected).await?;
            // The id decides which terminal, not the default name.
            params.name = Some(found.terminal);
            params.id = Some(id);
        }
        let cancelled = self.client.call_with_retry::<Cancel>(&params).await?;
        Ok(self
            .context
            .terminal
            .print_result(&cancelled, terminals::cancelled)?)
    }

    async fn open(&self, program: Option<String>, another: bool) -> Result<(), CommandFailure> {
        self.ensure().await?;
        let params = TerminalOpenParams {
            name: self.name.clone(),
            program,
            display: self.display(),
            another,
        };
        let opened = self.client.call_with_retry::<Open>(&params).await?;
        Ok(self
            .context
            .terminal
            .print_result(&opened, terminals::opened)?)
    }

    /// Returns the user's desktop session; `None` without one or if the daemon is remote.
    fn display(&self) -> Option<DisplayEnv> {
        let env = &self.context.host.env;
        let text = |name: &str| env.text(name).map(str::to_owned);
        let display = DisplayEnv {
            x11: text("DISPLAY"),
            wayland: text("WAYLAND_DISPLAY"),
            authority: text("XAUTHORITY"),
            runtime_dir: text("XDG_RUNTIME_DIR"),
            bus: text("DBUS_SESSION_BUS_ADDRESS"),
        };
        let has_one = display.x11.is_some() || display.wayland.is_some();
        (has_one && !self.context.is_remote()).then_some(display)
    }

    async fn close(&self, windows_only: bool, yes: bool) -> Result<(), CommandFailure> {
        let may = windows_only || yes || self.confirm_close().await?;
        if !may {
            return Ok(());
        }
        let params = TerminalCloseParams {
            name: self.name.clone(),
            windows_only,
        };
        let closed = self.client.call_with_retry::<Close>(&params).await?;
        if !windows_only && !closed.terminal {
            let sentence = format!("There is no terminal '{}'.", one_line(self.shown_name()));
            return Err(not_found(sentence));
        }
        Ok(self
            .context
            .terminal
            .print_result(&closed, terminals::closed)?)
    }

    /// Returns true if nothing runs in the terminal or the user agrees to end it.
    async fn confirm_close(&self) -> Result<bool, CommandFailure> {
        let found = self
            .client
            .call_with_retry::<List>(&TerminalListParams {})
            .await?;
        let mut found = found.terminals.into_iter();
        let found = found.find(|terminal| terminal.name == self.shown_name());
        let Some(busy) = found.filter(|it| it.state == TerminalState::Busy) else {
            return Ok(true);
        };
        let what = match busy.running {
            Some(id) => self.running_command_text(id).await,
            None => "something".to_owned(),
        };
        let name = one_line(&busy.name);
        let sentence = format!("{name} is running {what}.");
        let person = TerminalUser::find().filter(|_| !self.context.terminal.json);
        let Some(person) = person else {
            return Err(CommandFailure::usage(sentence)
                .next(format!("To end it: hob terminal close {name} --yes")));
        };
        let question = format!("{sentence} Close {name} and end it? [y/n] ");
        let key = person.key(&question, &['y', 'n']).await?;
        Screen::note(key);
        Ok(key == 'y')
    }

    async fn running_command_text(&self, id: CommandId) -> String {
        let params = TerminalCommandParams { id, wait_ms: None };
        let found = self.client.call_with_retry::<Command>(&params).await;
        let line = found.ok().and_then(|it| it.command);
        line.map_or_else(
            || "a command".to_owned(),
            |it| format!("`{}`", one_line(&it)),
        )
    }

    /// Returns the command with this id or this end of an id.
    async fn command_id(&self, word: &str) -> Result<CommandId, CommandFailure> {
        if let Ok(id) = word.parse() {
            return Ok(id);
        }
        let params = TerminalHistoryParams {
            limit: Some(SUFFIX_SEARCH_COMMANDS),
            ..TerminalHistoryParams::default()
        };
        let page = self.client.call_with_retry::<History>(&params).await?;
        let end = word.to_ascii_lowercase();
        let ends_so = |id: &CommandId| id.0.simple().to_string().ends_with(&end);
        // A shorter end could match another command by chance.
        let long_enough = end.len() >= runs::SHORT_ID_LETTERS;
        let ids = page.commands.iter().map(|command| command.id);
        let mut found = ids.filter(|id| long_enough && ends_so(id));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => Err(CommandFailure::usage(format!(
                "Several commands end with '{end}': use the whole id, which --json shows."
            ))),
            (None, _) => {
                let sentence = format!("There is no command '{}'.", one_line(word));
                Err(CommandFailure::new(
                    ExitStatus::NotFound,
                    ErrorCode::NotFound.as_str(),
                    sentence,
                )
                .next("See `hob terminal history` for the ids."))
            }
        }
    }
}

fn not_found(sentence: String) -> CommandFailure {
    CommandFailure::new(ExitStatus::NotFound, ErrorCode::NotFound.as_str(), sentence)
}

/// Suggests the list command if the terminal was not found.
fn suggest_list(mut failure: CommandFailure) -> CommandFailure {
    if failure.code == ErrorCode::NotFound.as_str() && failure.next.is_none() {
        failure.next = Some("See `hob terminal list`.".to_owned());
    }
    failure
}
