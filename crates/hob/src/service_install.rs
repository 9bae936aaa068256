//! The dialogue of a service installation: plan, consent, progress.
//!
//! Invariants: nothing is installed before a person agreed to the plan shown; Ctrl-C stops only the
//! display, not the installation, and prints the command that resumes the display.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::progress_line::ProgressLine;
use crate::render::{TextTone, services};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal;
use hob_client::{BusEvent, Client, StreamItem, SubscribeOptions};
use hob_wire::EventTopic;
use hob_wire::rooms::service::{
    Install, InstallProgress, InstallState, List, ServiceInstallParams, ServiceInstallProgress,
    ServiceInstallResult, ServiceListParams,
};
use serde_json::json;
use std::time::Duration;

/// The interval of polling the progress, beside its events: a restarted daemon sends none.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A service to be installed.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInstaller<'c> {
    pub context: &'c CommandContext,
    pub client: &'c Client,
    /// Its name or alias.
    pub name: &'c str,
}

impl ServiceInstaller<'_> {
    /// Asks the daemon for the installation plan; installs nothing.
    pub async fn plan(&self) -> Result<ServiceInstallResult, CommandFailure> {
        Ok(self
            .client
            .call_with_retry::<Install>(&self.params(false))
            .await?)
    }

    fn params(&self, yes: bool) -> ServiceInstallParams {
        ServiceInstallParams {
            name: self.name.to_owned(),
            yes,
        }
    }

    /// Shows the plan and asks for consent. Enter means yes.
    pub async fn ask_consent(
        &self,
        person: &TerminalUser,
        plan: &ServiceInstallResult,
        question: &str,
    ) -> Result<bool, CommandFailure> {
        let screen = Terminal::remeasured(self.context.terminal.stderr_screen());
        services::plan(plan, &screen)
            .iter()
            .for_each(Terminal::note);
        let keys = screen.paint(TextTone::Command, "[Y/n]");
        let prompt = format!("{question} {keys} ");
        let answer = person.key(&prompt, &['y', 'n', '\n', '\r']).await;
        let answer = answer.map_err(|error| {
            CommandFailure::failed(format!("The terminal cannot be read: {error}."))
        })?;
        let yes = answer != 'n';
        Terminal::note(if yes { "yes" } else { "no" });
        Ok(yes)
    }

    /// Installs the service and shows the progress until it is done.
    pub async fn install(&self, interrupts: &mut InterruptSignals) -> Result<(), CommandFailure> {
        // The subscription comes first, so that no progress event is missed.
        let topic = ServiceInstallProgress::SPEC.topic;
        let mut stream = self.client.subscribe(SubscribeOptions::to([topic])).await?;
        let begun = self
            .client
            .call_with_retry::<Install>(&self.params(true))
            .await?;
        if begun.plan.ready {
            return Ok(());
        }
        if let Some(obstacle) = &begun.plan.obstacle {
            return Err(not_installable(obstacle));
        }
        let mut watch = InstallWatch::new(self.context);
        if let Some(progress) = &begun.progress
            && watch.apply_progress(progress)?
        {
            return Ok(());
        }
        let mut looks = tokio::time::interval(LOOK_EVERY);
        // The first tick of an interval is immediate.
        looks.tick().await;
        loop {
            let progress = tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(StreamItem::Event(event))) => progress_of(&event, &begun.name),
                    Some(Ok(StreamItem::Gap(_))) => None,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Err(hob_client::ClientError::Closed.into()),
                },
                _ = looks.tick() => self.poll_progress(&begun.name).await?,
                () = interrupts.next() => return Err(self.report_detached(&mut watch)),
            };
            if let Some(progress) = progress
                && watch.apply_progress(&progress)?
            {
                return Ok(());
            }
        }
    }

    /// Asks the daemon for the progress.
    async fn poll_progress(&self, name: &str) -> Result<Option<InstallProgress>, CommandFailure> {
        let found = self
            .client
            .call_with_retry::<List>(&ServiceListParams {})
            .await?;
        let mut found = found.services.into_iter();
        let service = found.find(|it| it.status.name == name);
        let Some(service) = service else {
            return Ok(None);
        };
        match service.installation {
            Some(progress) => Ok(Some(progress)),
            None if service.installed => Ok(Some(InstallProgress {
                name: name.to_owned(),
                state: InstallState::Done,
                step: 0,
                steps: 0,
                about: String::new(),
                bytes_done: 0,
                bytes_total: 0,
                message: None,
            })),
            // Neither running nor done: the daemon that installed it has ended.
            None => Err(CommandFailure::failed("The installation was interrupted.")
                .next(format!("Resume it: {}", resume_command(name)))),
        }
    }

    /// Prints the command that shows the installation again, for a person who stops waiting.
    fn report_detached(&self, watch: &mut InstallWatch<'_>) -> CommandFailure {
        watch.ticker.clear();
        let text = format!(
            "hob continues to install in the background.\n  \
             To see the progress, or to resume it later: {}",
            resume_command(self.name)
        );
        Terminal::note(text);
        CommandFailure::quiet(ExitStatus::Interrupted)
    }
}

fn resume_command(name: &str) -> String {
    format!("hob service install {name} --yes")
}

/// The failure of a plan that this machine cannot carry out.
pub fn not_installable(obstacle: &str) -> CommandFailure {
    let sentence = crate::run_ui::lines::sentence(obstacle);
    CommandFailure::new(ExitStatus::Failed, "NOT_INSTALLABLE", sentence)
}

/// The display of a running installation.
struct InstallWatch<'c> {
    context: &'c CommandContext,
    ticker: ProgressLine,
    last: Option<InstallProgress>,
}

impl<'c> InstallWatch<'c> {
    fn new(context: &'c CommandContext) -> Self {
        let terminal = &context.terminal;
        InstallWatch {
            context,
            ticker: ProgressLine::new(terminal.stderr_screen(), terminal.json),
            last: None,
        }
    }

    /// Shows the progress. Returns true when the installation is done.
    fn apply_progress(&mut self, progress: &InstallProgress) -> Result<bool, CommandFailure> {
        let terminal = &self.context.terminal;
        if self.last.as_ref() != Some(progress) {
            self.last = Some(progress.clone());
            if terminal.json {
                let topic = ServiceInstallProgress::SPEC.topic;
                terminal.document(&json!({ "event": topic, "payload": progress }))?;
                terminal.flush()?;
            }
        }
        match progress.state {
            InstallState::Running => {
                let screen = Terminal::remeasured(terminal.stderr_screen());
                self.ticker.show(&services::progress(progress, &screen));
                Ok(false)
            }
            InstallState::Done => {
                self.ticker.clear();
                Ok(true)
            }
            InstallState::Failed => {
                self.ticker.clear();
                let why = progress.message.as_deref().unwrap_or("It failed.");
                let why = crate::run_ui::lines::sentence(why);
                let sentence = format!("{} was not installed. {why}", progress.name);
                Err(CommandFailure::new(
                    ExitStatus::Failed,
                    "NOT_INSTALLED",
                    sentence,
                ))
            }
        }
    }
}

fn progress_of(event: &BusEvent, name: &str) -> Option<InstallProgress> {
    let progress = event.read::<ServiceInstallProgress>()?;
    (progress.name == name).then_some(progress)
}
