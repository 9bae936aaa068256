//! `hob chat`: a conversation at a prompt.
//!
//! Invariant: the first Ctrl-C stops the run, or says how to leave; the second leaves.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::mind::editor::{Editor, Entered};
use crate::mind::ending::Ending;
use crate::mind::person::Person;
use crate::mind::slash::{self, Typed};
use crate::mind::talk::{self, Interrupts, Setting};
use crate::mind::{advice, lines, offer, order};
use crate::render::{Tone, chat};
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{Arg, ArgMatches, Command};
use hob_client::{Client, ClientError};
use hob_wire::ErrorCode;
use hob_wire::rooms::agent::{Abort, RunParams, RunSelector, RunState, RunView, Status};
use hob_wire::rooms::cost::{Summary, SummaryParams};
use hob_wire::rooms::session::{History, HistoryParams};

/// The session of a chat that names none.
const MAIN: &str = "chat:main";
/// Earlier messages shown when a session is continued.
const EARLIER: u32 = 6;
/// The ledger's days that `/cost` sums.
const COST_DAYS: u32 = 366;
const PROMPT: &str = "> ";

pub fn command() -> Command {
    Command::new("chat")
        .about("Talks with a model at a prompt")
        .long_about(
            "Goes on with the session chat:main unless another is named. Ctrl-C stops the run, \
             a second one leaves. /help lists the commands of the prompt.",
        )
        .after_help(text::examples(&[
            "hob chat".to_owned(),
            "hob chat --session work --model smart".to_owned(),
            "hob chat --no-tools".to_owned(),
        ]))
        .arg(
            Arg::new("session")
                .long("session")
                .short('s')
                .value_name("KEY")
                .help("The session to go on with, or to begin"),
        )
        .arg(offer::flag())
        .args(order::flags())
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let params = order::params(context, matches)?;
    let client = context.client().await?;
    let person = if context.terminal.json {
        None
    } else {
        Person::find()
    };
    let session = matches.get_one::<String>("session").cloned();
    let mut chat = Chat {
        setting: Setting {
            context,
            client: &client,
            person: person.as_ref(),
        },
        params: RunParams {
            session_key: session.unwrap_or_else(|| MAIN.to_owned()),
            unattended: person.is_none(),
            ..params
        },
        editor: Editor::open(context.world.home.chat_history())?,
        interrupts: Interrupts::listen()?,
        yes: matches.get_flag("yes"),
        presses: 0,
    };
    chat.greet().await?;
    chat.until_left().await
}

/// A conversation under way.
struct Chat<'c> {
    setting: Setting<'c>,
    /// What every turn has in common.
    params: RunParams,
    editor: Editor,
    interrupts: Interrupts,
    /// The local model is installed without a question.
    yes: bool,
    /// Ctrl-C since the last thing typed.
    presses: u32,
}

impl Chat<'_> {
    fn client(&self) -> &Client {
        self.setting.client
    }

    async fn until_left(&mut self) -> Result<(), Failure> {
        loop {
            self.setting.context.terminal.flush()?;
            let entered = tokio::select! {
                entered = self.editor.next(PROMPT) => entered?,
                // At a prompt Ctrl-C is a key; as a signal it comes to a script.
                () = self.interrupts.next() => return Err(Failure::quiet(Exit::Interrupted)),
            };
            match entered {
                Entered::End => return Ok(()),
                Entered::Interrupted => {
                    self.presses += 1;
                    if self.presses > 1 {
                        return Err(Failure::quiet(Exit::Interrupted));
                    }
                    self.aside("Ctrl-C again leaves; so does Ctrl-D.");
                }
                Entered::Text(line) => {
                    self.presses = 0;
                    if self.typed(slash::read(&line)).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Does what a line says; returns whether that is to leave.
    async fn typed(&mut self, typed: Typed) -> Result<bool, Failure> {
        match typed {
            Typed::Nothing => {}
            Typed::Quit => return Ok(true),
            Typed::Words(words) => self.say(words).await?,
            Typed::Help => slash::help().iter().for_each(Terminal::note),
            Typed::New(key) => {
                let key = key.unwrap_or_else(|| order::one_off("chat", self.setting.context));
                self.params.session_key = key;
                self.greet().await?;
            }
            Typed::Model(Some(model)) => {
                self.aside(&format!("From now on {model} answers."));
                self.params.model = Some(model);
            }
            Typed::Model(None) => {
                let model = self.params.model.as_deref();
                let model = model.unwrap_or("The default model");
                self.aside(&format!(
                    "{model} answers; `hob model list` shows the others."
                ));
            }
            Typed::Stop => self.stop().await?,
            Typed::Cost => self.cost().await?,
            Typed::Unknown(word, near) => {
                let near = near.map(|near| format!(" Did you mean /{near}?"));
                let near = near.unwrap_or_else(|| " /help lists what there is.".to_owned());
                self.aside(&format!("There is no /{word}.{near}"));
            }
        }
        Ok(false)
    }

    async fn say(&mut self, task: String) -> Result<(), Failure> {
        let params = RunParams {
            task,
            idempotency_key: Some(order::fresh_id(&self.setting.context.world.dice)),
            ..self.params.clone()
        };
        let ended = offer::run(self.setting, &params, self.yes, &mut self.interrupts).await;
        if let Ok(ending) = &ended {
            offer::tell_modest(self.setting, ending).await;
        }
        self.ended(ended)
    }

    /// Says how a run ended; only a chat that cannot go on fails.
    fn ended(&mut self, ended: Result<Ending, Failure>) -> Result<(), Failure> {
        let ending = match ended {
            Ok(ending) => ending,
            Err(failure) => return self.failed(failure),
        };
        if ending.interrupted {
            self.presses = 1;
            return Ok(());
        }
        if let Some(completed) = &ending.completed
            && completed.success
        {
            let screen = Terminal::measured(self.setting.context.terminal.asides());
            let footer = lines::footer(completed, ending.took_ms, &screen);
            if !self.editor.is_script() {
                // A blank line ends the turn.
                Terminal::note(format!("{footer}\n"));
            }
        }
        match ending.result() {
            Ok(()) => Ok(()),
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        let failure = advice::with_first_steps(failure);
        // A script has nobody who reads on; a person may try again.
        if self.editor.is_script() || failure.silent || failure.exit == Exit::Unreachable {
            return Err(failure);
        }
        Terminal::note(failure.text());
        Ok(())
    }

    /// Shows where the conversation stands, and goes on with a run that is under way.
    async fn greet(&mut self) -> Result<(), Failure> {
        let client = self.setting.client;
        let params = HistoryParams {
            session_key: self.params.session_key.clone(),
            limit: Some(EARLIER),
            before: None,
        };
        let earlier = found(client.call_again::<History>(&params).await)?;
        if !self.editor.is_script() {
            let screen = self.setting.context.terminal.asides();
            let page = chat::greeting(&self.params, earlier.as_ref(), screen);
            page.iter().for_each(Terminal::note);
            if let Some(note) = order::wide_place(self.setting.context, &self.params) {
                self.aside(&note);
            }
        }
        if earlier.is_none() {
            return Ok(());
        }
        if let Some(view) = self.live().await? {
            self.aside("A run of this session is under way:");
            let ended = talk::join(self.setting, &view, &mut self.interrupts).await;
            return self.ended(ended);
        }
        Ok(())
    }

    /// The session's run that has not ended.
    async fn live(&self) -> Result<Option<RunView>, Failure> {
        let view = self.client().call_again::<Status>(&self.selector()).await;
        Ok(found(view)?.filter(|view| view.state != RunState::Done))
    }

    async fn stop(&self) -> Result<(), Failure> {
        let stopped = self.client().call_again::<Abort>(&self.selector()).await;
        let stopped = found(stopped)?
            .map(|stopped| stopped.runs)
            .unwrap_or_default();
        if stopped.is_empty() {
            self.aside("Nothing runs or waits here.");
        }
        let screen = self.setting.context.terminal.asides();
        for view in &stopped {
            lines::happened(view, screen)
                .iter()
                .for_each(Terminal::note);
        }
        Ok(())
    }

    async fn cost(&self) -> Result<(), Failure> {
        let params = SummaryParams {
            days: Some(COST_DAYS),
            session_key: Some(self.params.session_key.clone()),
        };
        let summary = found(self.client().call_again::<Summary>(&params).await)?;
        let total = summary.map(|summary| summary.total).unwrap_or_default();
        self.aside(&format!("This session: {}.", lines::cost(&total)));
        Ok(())
    }

    fn selector(&self) -> RunSelector {
        RunSelector {
            session_key: Some(self.params.session_key.clone()),
            run_id: None,
        }
    }

    /// Says something beside the conversation.
    fn aside(&self, words: &str) {
        if self.editor.is_script() {
            return;
        }
        let screen = self.setting.context.terminal.asides();
        Terminal::note(screen.paint(Tone::Quiet, words));
    }
}

/// A result, or nothing when what was named does not exist yet.
fn found<T>(result: Result<T, ClientError>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some(ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
