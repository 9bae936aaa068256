//! `hob terminal`: the shells in tmux that a person shares with hob.
//!
//! - `running`: a command and what it prints; `printing`: how that reaches the screen
//! - `attaching`: handing this terminal over to tmux

mod attaching;
mod flags;
mod printing;
mod running;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::mind::person::Person;
use crate::render::words::one_line;
use crate::render::{runs, terminals};
use crate::terminal::Terminal as Screen;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::rooms::terminal::{
    Cancel, CancelParams, Capture, CaptureParams, Close, CloseParams, Command, CommandParams,
    Create, CreateParams, DEFAULT_TERMINAL, Display, History, HistoryParams, Keys, KeysParams,
    List, ListParams, Open, OpenParams, Terminal, TerminalState,
};
use hob_wire::{CommandId, ErrorCode};

/// Commands looked through for one whose id ends in a certain way.
const LOOKED_AT: u32 = 1_000;

/// Whether the command line follows a command, which Ctrl-C ends.
pub fn minds_interrupts(matches: &ArgMatches) -> bool {
    matches.subcommand_name() == Some("run")
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(Failure::quiet(Exit::Usage));
    };
    if verb == "attach" {
        attaching::check(context, named(matches).as_deref())?;
    }
    let client = context.client().await?;
    let desk = Desk {
        context,
        client: &client,
        name: named(matches),
    };
    let done = match verb {
        "list" => desk.list().await,
        "run" => running::run(&desk, matches).await,
        "attach" => attaching::run(&desk).await,
        "capture" => desk.capture(matches).await,
        "history" => desk.history(matches).await,
        "keys" => desk.keys(matches).await,
        "cancel" => desk.cancel(matches).await,
        "open" => desk.open(matches).await,
        "close" => desk.close(matches).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    };
    done.map_err(advised)
}

fn named(matches: &ArgMatches) -> Option<String> {
    // Not every verb has one.
    let name = matches.try_get_one::<String>("name");
    name.ok().flatten().cloned()
}

/// One terminal, and the way to it.
struct Desk<'c> {
    context: &'c Context,
    client: &'c Client,
    /// As the person named it.
    name: Option<String>,
}

impl Desk<'_> {
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_TERMINAL)
    }

    async fn list(&self) -> Result<(), Failure> {
        let found = self.client.call_again::<List>(&ListParams {}).await?;
        Ok(self.context.terminal.shown(&found, terminals::list)?)
    }

    /// The terminal; made where the person stands if it is not there.
    async fn ensure(&self) -> Result<Terminal, Failure> {
        let here = std::env::current_dir().ok();
        let here = here.filter(|_| !self.context.is_elsewhere());
        let params = CreateParams {
            name: self.name.clone(),
            folder: here.and_then(|folder| folder.to_str().map(str::to_owned)),
            ..CreateParams::default()
        };
        Ok(self.client.call_again::<Create>(&params).await?.terminal)
    }

    async fn capture(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let params = CaptureParams {
            name: self.name.clone(),
            lines: matches.get_one::<u32>("lines").copied(),
        };
        let captured = self.client.call_again::<Capture>(&params).await?;
        Ok(self
            .context
            .terminal
            .shown(&captured, terminals::captured)?)
    }

    async fn history(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let terminal = &self.context.terminal;
        if let Some(word) = matches.get_one::<String>("id") {
            let params = CommandParams {
                id: self.command_id(word).await?,
                wait_ms: None,
            };
            let found = self.client.call_again::<Command>(&params).await?;
            return Ok(terminal.shown(&found, terminals::command)?);
        }
        let params = HistoryParams {
            name: self.name.clone(),
            limit: matches.get_one::<u32>("lines").copied(),
            ..HistoryParams::default()
        };
        let found = self.client.call_again::<History>(&params).await?;
        let draw = match &self.name {
            Some(_) => terminals::history,
            None => terminals::histories,
        };
        Ok(terminal.shown(&found, draw)?)
    }

    async fn keys(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let keys = matches.get_many::<String>("keys").into_iter().flatten();
        let params = KeysParams {
            name: self.name.clone(),
            text: matches.get_one::<String>("text").cloned(),
            keys: keys.cloned().collect(),
            run_id: None,
        };
        let typed = self.client.call::<Keys>(&params).await?;
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(&typed)?);
        }
        Ok(())
    }

    async fn cancel(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let mut params = CancelParams {
            name: self.name.clone(),
            id: None,
        };
        if let Some(word) = matches.get_one::<String>("id") {
            let id = self.command_id(word).await?;
            let selected = CommandParams { id, wait_ms: None };
            let found = self.client.call_again::<Command>(&selected).await?;
            params.name = Some(found.terminal);
            params.id = Some(id);
        }
        let cancelled = self.client.call_again::<Cancel>(&params).await?;
        Ok(self
            .context
            .terminal
            .shown(&cancelled, terminals::cancelled)?)
    }

    async fn open(&self, matches: &ArgMatches) -> Result<(), Failure> {
        self.ensure().await?;
        let params = OpenParams {
            name: self.name.clone(),
            program: matches.get_one::<String>("program").cloned(),
            display: self.display(),
            another: matches.get_flag("another"),
        };
        let opened = self.client.call_again::<Open>(&params).await?;
        Ok(self.context.terminal.shown(&opened, terminals::opened)?)
    }

    /// The desktop of whoever asks, unless the daemon is on another one.
    fn display(&self) -> Option<Display> {
        let env = &self.context.world.env;
        let text = |name: &str| env.text(name).map(str::to_owned);
        let display = Display {
            x11: text("DISPLAY"),
            wayland: text("WAYLAND_DISPLAY"),
            authority: text("XAUTHORITY"),
            runtime_dir: text("XDG_RUNTIME_DIR"),
            bus: text("DBUS_SESSION_BUS_ADDRESS"),
        };
        let has_one = display.x11.is_some() || display.wayland.is_some();
        (has_one && !self.context.is_elsewhere()).then_some(display)
    }

    async fn close(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let windows_only = matches.get_flag("windows");
        let may = windows_only || matches.get_flag("yes") || self.may_close().await?;
        if !may {
            return Ok(());
        }
        let params = CloseParams {
            name: self.name.clone(),
            windows_only,
        };
        let closed = self.client.call_again::<Close>(&params).await?;
        if !windows_only && !closed.terminal {
            let sentence = format!("There is no terminal '{}'.", one_line(self.shown_name()));
            return Err(not_found(sentence));
        }
        Ok(self.context.terminal.shown(&closed, terminals::closed)?)
    }

    /// Whether nothing would be lost, or the person says that it may.
    async fn may_close(&self) -> Result<bool, Failure> {
        let found = self.client.call_again::<List>(&ListParams {}).await?;
        let mut found = found.terminals.into_iter();
        let found = found.find(|terminal| terminal.name == self.shown_name());
        let Some(busy) = found.filter(|it| it.state == TerminalState::Busy) else {
            return Ok(true);
        };
        let what = match busy.running {
            Some(id) => self.what_runs(id).await,
            None => "something".to_owned(),
        };
        let name = one_line(&busy.name);
        let sentence = format!("In {name} runs {what}.");
        let person = Person::find().filter(|_| !self.context.terminal.json);
        let Some(person) = person else {
            return Err(Failure::usage(sentence)
                .next(format!("To end it: hob terminal close {name} --yes")));
        };
        let question = format!("{sentence} Close {name} and end it? [y/n] ");
        let key = person.key(&question, &['y', 'n']).await?;
        Screen::note(key);
        Ok(key == 'y')
    }

    async fn what_runs(&self, id: CommandId) -> String {
        let params = CommandParams { id, wait_ms: None };
        let found = self.client.call_again::<Command>(&params).await;
        let line = found.ok().and_then(|it| it.command);
        line.map_or_else(
            || "a command".to_owned(),
            |it| format!("`{}`", one_line(&it)),
        )
    }

    /// The command that a word means: its whole id, or the end of it.
    async fn command_id(&self, word: &str) -> Result<CommandId, Failure> {
        if let Ok(id) = word.parse() {
            return Ok(id);
        }
        let params = HistoryParams {
            limit: Some(LOOKED_AT),
            ..HistoryParams::default()
        };
        let page = self.client.call_again::<History>(&params).await?;
        let end = word.to_ascii_lowercase();
        let ends_so = |id: &CommandId| id.0.simple().to_string().ends_with(&end);
        let long_enough = end.len() >= runs::SHORT_ID_LETTERS;
        let ids = page.commands.iter().map(|command| command.id);
        let mut found = ids.filter(|id| long_enough && ends_so(id));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => Err(Failure::usage(format!(
                "Several commands end with '{end}': use the whole id, which --json shows."
            ))),
            (None, _) => {
                let sentence = format!("There is no command '{}'.", one_line(word));
                Err(
                    Failure::new(Exit::NotFound, ErrorCode::NotFound.as_str(), sentence)
                        .next("`hob terminal history` shows the ids."),
                )
            }
        }
    }
}

fn not_found(sentence: String) -> Failure {
    Failure::new(Exit::NotFound, ErrorCode::NotFound.as_str(), sentence)
}

/// Names what shows which terminals there are, when the one that was named is not.
fn advised(mut failure: Failure) -> Failure {
    if failure.code == ErrorCode::NotFound.as_str() && failure.next.is_none() {
        failure.next = Some("`hob terminal list` shows what there is.".to_owned());
    }
    failure
}
