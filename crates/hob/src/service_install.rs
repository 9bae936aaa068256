//! Installing a service, as a person sees it: the plan, the question, and how far it is.
//!
//! Invariants: nothing is installed without a yes to a plan that was shown; leaving the screen
//! stops no installation, and what it says then is how to come back to it.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::mind::person::Person;
use crate::mind::talk::Interrupts;
use crate::render::{Tone, services};
use crate::terminal::Terminal;
use crate::ticker::Ticker;
use hob_client::{Client, Event, Item, Subscription};
use hob_wire::Topic;
use hob_wire::rooms::service::{
    Install, InstallParams, InstallProgress, InstallState, Installing, List, ListParams,
    ServiceInstallProgress,
};
use serde_json::json;
use std::time::Duration;

/// How often the daemon is asked how far it is, beside what it tells: a daemon that was restarted
/// tells nothing.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A service to be installed.
#[derive(Clone, Copy, Debug)]
pub struct Site<'c> {
    pub context: &'c Context,
    pub client: &'c Client,
    /// Its name or alias.
    pub name: &'c str,
}

impl Site<'_> {
    /// What installing it would do.
    pub async fn plan(&self) -> Result<Installing, Failure> {
        Ok(self
            .client
            .call_again::<Install>(&self.params(false))
            .await?)
    }

    fn params(&self, yes: bool) -> InstallParams {
        InstallParams {
            name: self.name.to_owned(),
            yes,
        }
    }

    /// Shows the plan and asks for a yes. Enter is one.
    pub async fn consent(
        &self,
        person: &Person,
        plan: &Installing,
        question: &str,
    ) -> Result<bool, Failure> {
        let screen = Terminal::measured(self.context.terminal.asides());
        services::plan(plan, &screen)
            .iter()
            .for_each(Terminal::note);
        let keys = screen.paint(Tone::Command, "[Y/n]");
        let prompt = format!("{question} {keys} ");
        let answer = person.key(&prompt, &['y', 'n', '\n', '\r']).await;
        let answer = answer
            .map_err(|error| Failure::failed(format!("The terminal cannot be read: {error}.")))?;
        let yes = answer != 'n';
        Terminal::note(if yes { "yes" } else { "no" });
        Ok(yes)
    }

    /// Installs it and shows how far that is, until it is done.
    pub async fn install(&self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let topic = ServiceInstallProgress::SPEC.topic;
        let mut stream = self.client.subscribe(Subscription::to([topic])).await?;
        let begun = self
            .client
            .call_again::<Install>(&self.params(true))
            .await?;
        if begun.plan.ready {
            return Ok(());
        }
        if let Some(obstacle) = &begun.plan.obstacle {
            return Err(obstructed(obstacle));
        }
        let mut watch = Watch::new(self.context);
        if let Some(progress) = &begun.progress
            && watch.take(progress)?
        {
            return Ok(());
        }
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.tick().await;
        loop {
            let progress = tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(Item::Event(event))) => progress_of(&event, &begun.name),
                    Some(Ok(Item::Gap(_))) => None,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Err(hob_client::ClientError::Closed.into()),
                },
                _ = looks.tick() => self.look(&begun.name).await?,
                () = interrupts.next() => return Err(self.left(&mut watch)),
            };
            if let Some(progress) = progress
                && watch.take(&progress)?
            {
                return Ok(());
            }
        }
    }

    /// How far it is, asked of the daemon.
    async fn look(&self, name: &str) -> Result<Option<InstallProgress>, Failure> {
        let found = self.client.call_again::<List>(&ListParams {}).await?;
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
            // Neither under way nor done: the daemon that did it is gone.
            None => Err(Failure::failed("The installation was interrupted.")
                .next(format!("Go on where it stopped: {}", again(name)))),
        }
    }

    /// What is said to somebody who does not want to wait.
    fn left(&self, watch: &mut Watch<'_>) -> Failure {
        watch.ticker.clear();
        let text = format!(
            "Not waiting any longer; hob goes on installing in the background.\n  \
             To see how far it is, or to resume it later: {}",
            again(self.name)
        );
        Terminal::note(text);
        Failure::quiet(Exit::Interrupted)
    }
}

fn again(name: &str) -> String {
    format!("hob service install {name} --yes")
}

/// A plan that cannot be carried out here.
pub fn obstructed(obstacle: &str) -> Failure {
    let sentence = crate::mind::lines::sentence(obstacle);
    Failure::new(Exit::Failed, "NOT_INSTALLABLE", sentence)
}

/// An installation on the screen.
struct Watch<'c> {
    context: &'c Context,
    ticker: Ticker,
    last: Option<InstallProgress>,
}

impl<'c> Watch<'c> {
    fn new(context: &'c Context) -> Self {
        let terminal = &context.terminal;
        Watch {
            context,
            ticker: Ticker::new(terminal.asides(), terminal.json),
            last: None,
        }
    }

    /// Shows how far it is; true when it is done.
    fn take(&mut self, progress: &InstallProgress) -> Result<bool, Failure> {
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
                let screen = Terminal::measured(terminal.asides());
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
                let why = crate::mind::lines::sentence(why);
                let sentence = format!("{} was not installed. {why}", progress.name);
                Err(Failure::new(Exit::Failed, "NOT_INSTALLED", sentence))
            }
        }
    }
}

fn progress_of(event: &Event, name: &str) -> Option<InstallProgress> {
    let progress = event.read::<ServiceInstallProgress>()?;
    (progress.name == name).then_some(progress)
}
