//! The dialogue of `hob model pull`: plan, consent, progress.
//!
//! Invariants: nothing is fetched before a person agreed to the plan shown; Ctrl-C stops the download
//! and prints the command that continues it; a client that is killed leaves the download running; a
//! daemon that comes back is told to continue.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::progress_line::ProgressLine;
use crate::render::{TextTone, model_files};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::service_install::ServiceInstaller;
use crate::terminal::Terminal;
use hob_client::{Client, StreamItem, SubscribeOptions};
use hob_wire::EventTopic;
use hob_wire::rooms::model_files::{
    Abort, DownloadState, Downloads, ModelDownload, ModelDownloadsParams, ModelFileSelector,
    ModelPullParams, ModelPullResult, Pull, PullProgress,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The interval of asking for the progress, beside its events: a restarted daemon sends none.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The wait for a stopped download to note how far it came.
const ABORT_WAIT: Duration = Duration::from_secs(10);
/// The service that runs a fetched file.
const SERVICE: &str = "llm";
const OLLAMA: &str = "ollama:";

/// Runs `hob model pull` with the params of the command line.
pub async fn run(context: &CommandContext, params: Value) -> Result<(), CommandFailure> {
    let params: ModelPullParams = serde_json::from_value(params)
        .map_err(|error| CommandFailure::usage(format!("model.pull: {error}.")))?;
    let mut interrupts = InterruptSignals::listen()?;
    let client = context.client().await?;
    let pull = ModelPuller {
        context,
        client: &client,
        source: &params.source,
    };
    let planned = tokio::select! {
        planned = pull.call(false) => planned?,
        () = interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
    };
    if !pull
        .get_consent(&planned, params.yes, &mut interrupts)
        .await?
    {
        return Ok(());
    }
    let fetched = pull.fetch_agreed(&mut interrupts).await?;
    pull.report_done(&fetched)
}

/// A model to fetch.
#[derive(Clone, Copy, Debug)]
pub struct ModelPuller<'c> {
    pub context: &'c CommandContext,
    pub client: &'c Client,
    /// A name of the catalogue, `hf:…` or `ollama:…`.
    pub source: &'c str,
}

impl ModelPuller<'_> {
    /// Asks the daemon for the plan, or with `yes` to begin.
    pub async fn call(&self, yes: bool) -> Result<ModelPullResult, CommandFailure> {
        let params = ModelPullParams {
            source: self.source.to_owned(),
            yes,
        };
        Ok(self.client.call_with_retry::<Pull>(&params).await?)
    }

    /// Shows the plan and asks, unless the answer was given. Returns false for a no.
    pub async fn get_consent(
        &self,
        planned: &ModelPullResult,
        yes: bool,
        interrupts: &mut InterruptSignals,
    ) -> Result<bool, CommandFailure> {
        let terminal = &self.context.terminal;
        let plan = &planned.plan;
        if let Some(obstacle) = &plan.obstacle {
            let sentence = crate::run_ui::lines::sentence(obstacle);
            return Err(CommandFailure::new(
                ExitStatus::Failed,
                "NOT_FETCHABLE",
                sentence,
            ));
        }
        // Joining a download, or choosing a file that is here, needs no second yes.
        if plan.ready || planned.progress.is_some() {
            return Ok(true);
        }
        if terminal.json && !yes {
            terminal.document(planned)?;
        }
        let screen = Terminal::remeasured(terminal.stderr_screen());
        if !terminal.json {
            model_files::plan(planned, &screen)
                .iter()
                .for_each(Terminal::note);
        }
        if yes {
            return Ok(true);
        }
        // With --json a program reads the output, so nobody can be asked.
        let Some(person) = TerminalUser::find().filter(|_| !terminal.json) else {
            let command = format!("hob model pull {} --yes", self.source);
            return Err(
                CommandFailure::usage("Fetching a model needs your consent.")
                    .next(format!("Give it: {command}")),
            );
        };
        let keys = screen.paint(TextTone::Command, "[Y/n]");
        let prompt = format!("Fetch {}? {keys} ", planned.id);
        let answer = tokio::select! {
            answer = person.key(&prompt, &['y', 'n', '\n', '\r']) => answer,
            () = interrupts.next() => {
                Terminal::note("");
                return Err(CommandFailure::quiet(ExitStatus::Interrupted));
            }
        };
        let answer = answer.map_err(|error| {
            CommandFailure::failed(format!("The terminal cannot be read: {error}."))
        })?;
        let agreed = answer != 'n';
        Terminal::note(if agreed { "yes" } else { "no" });
        Ok(agreed)
    }

    /// Fetches a model to which a person agreed, and installs the server that runs it.
    pub async fn fetch_agreed(
        &self,
        interrupts: &mut InterruptSignals,
    ) -> Result<ModelDownload, CommandFailure> {
        let fetched = self.fetch(interrupts).await?;
        // Ollama runs its models itself.
        if !self.source.starts_with(OLLAMA) {
            self.install_server(interrupts).await?;
        }
        Ok(fetched)
    }

    /// Fetches the model and shows the progress until it is here.
    async fn fetch(
        &self,
        interrupts: &mut InterruptSignals,
    ) -> Result<ModelDownload, CommandFailure> {
        // The subscription comes first, so that no progress event is missed.
        let topic = PullProgress::SPEC.topic;
        let mut stream = self.client.subscribe(SubscribeOptions::to([topic])).await?;
        let begun = self.call(true).await?;
        let mut display = PullDisplay::new(self.context);
        let mut latest = begun.progress.clone();
        let mut polls = tokio::time::interval(POLL_INTERVAL);
        // The first tick of an interval is immediate.
        polls.tick().await;
        loop {
            if let Some(progress) = latest.take()
                && display.apply(&progress)?
            {
                return Ok(progress);
            }
            latest = tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(StreamItem::Event(event))) => {
                        event.read::<PullProgress>().filter(|it| it.name == begun.id)
                    }
                    Some(Ok(StreamItem::Gap(_))) => None,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Err(hob_client::ClientError::Closed.into()),
                },
                _ = polls.tick() => tokio::select! {
                    // It waits for a daemon that is away, and Ctrl-C must not.
                    polled = self.poll(&begun.id) => polled?,
                    () = interrupts.next() => return Err(self.stop(&begun.id, &mut display).await),
                },
                () = interrupts.next() => return Err(self.stop(&begun.id, &mut display).await),
            };
        }
    }

    /// Asks the daemon for the progress. A daemon that restarted has forgotten the download, and is
    /// told to continue it.
    async fn poll(&self, id: &str) -> Result<Option<ModelDownload>, CommandFailure> {
        let params = ModelDownloadsParams {};
        let listed = self.client.call_with_retry::<Downloads>(&params).await?;
        let mut found = listed.downloads.into_iter();
        match found.find(|it| it.name == id) {
            Some(found) if found.state != DownloadState::Partial => Ok(Some(found)),
            _ => Ok(self.call(true).await?.progress),
        }
    }

    /// Stops the download and prints how to continue it.
    async fn stop(&self, id: &str, display: &mut PullDisplay<'_>) -> CommandFailure {
        display.line.clear();
        let params = ModelFileSelector {
            name: id.to_owned(),
        };
        let aborted = self.client.call_with_retry::<Abort>(&params);
        let kept = match tokio::time::timeout(ABORT_WAIT, aborted).await {
            Ok(Ok(stopped)) => model_files::kept(&stopped),
            // It ended in this moment, or the daemon is gone; the command below shows which.
            Ok(Err(_)) | Err(_) => "Stopped waiting.".to_owned(),
        };
        Terminal::note(format!(
            "{kept}\n  Continue: hob model pull {}",
            self.source
        ));
        CommandFailure::quiet(ExitStatus::Interrupted)
    }

    /// Installs the server that runs the file, if there is none. The plan named it.
    async fn install_server(
        &self,
        interrupts: &mut InterruptSignals,
    ) -> Result<(), CommandFailure> {
        let installer = ServiceInstaller {
            context: self.context,
            client: self.client,
            name: SERVICE,
        };
        let plan = installer.plan().await?;
        if plan.plan.ready {
            return Ok(());
        }
        if let Some(obstacle) = &plan.plan.obstacle {
            let why = crate::run_ui::lines::sentence(obstacle);
            let sentence = format!(
                "The model is here, and the server that runs it cannot be installed. {why}"
            );
            return Err(CommandFailure::new(
                ExitStatus::Failed,
                "NOT_INSTALLABLE",
                sentence,
            ));
        }
        if !self.context.terminal.json {
            let sizes = crate::render::services::sizes(&plan.plan);
            Terminal::note(format!("Installing the server that runs it: {sizes}"));
        }
        installer.install(interrupts).await
    }

    fn report_done(&self, fetched: &ModelDownload) -> Result<(), CommandFailure> {
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(());
        }
        Ok(terminal.lines(model_files::done(fetched, terminal.screen()))?)
    }
}

/// The display of a running download.
struct PullDisplay<'c> {
    context: &'c CommandContext,
    line: ProgressLine,
    last: Option<ModelDownload>,
}

impl<'c> PullDisplay<'c> {
    fn new(context: &'c CommandContext) -> Self {
        let terminal = &context.terminal;
        PullDisplay {
            context,
            line: ProgressLine::new(terminal.stderr_screen(), terminal.json),
            last: None,
        }
    }

    /// Shows the progress. Returns true when the model is here.
    fn apply(&mut self, progress: &ModelDownload) -> Result<bool, CommandFailure> {
        let terminal = &self.context.terminal;
        if self.last.as_ref() != Some(progress) {
            self.last = Some(progress.clone());
            if terminal.json {
                let topic = PullProgress::SPEC.topic;
                terminal.document(&json!({ "event": topic, "payload": progress }))?;
                terminal.flush()?;
            }
        }
        match progress.state {
            DownloadState::Fetching | DownloadState::Verifying => {
                let screen = Terminal::remeasured(terminal.stderr_screen());
                self.line.show(&model_files::progress(progress, &screen));
                Ok(false)
            }
            DownloadState::Complete => {
                self.line.clear();
                Ok(true)
            }
            DownloadState::Partial => {
                self.line.clear();
                let next = format!("Continue: hob model pull {}", progress.source);
                let sentence = format!("The download of {} was stopped.", progress.name);
                Err(CommandFailure::new(ExitStatus::Failed, "STOPPED", sentence).next(next))
            }
            DownloadState::Failed => {
                self.line.clear();
                let why = progress.message.as_deref().unwrap_or("It failed.");
                let why = crate::run_ui::lines::sentence(why);
                let sentence = format!("{} was not fetched. {why}", progress.name);
                Err(CommandFailure::new(
                    ExitStatus::Failed,
                    "NOT_FETCHED",
                    sentence,
                ))
            }
        }
    }
}
