//! The context of a command: the host environment, the terminal, and the connection to the daemon.

use crate::failure::CommandFailure;
use crate::terminal::Terminal;
use hob_client::launcher::DaemonLauncher;
use hob_client::{Client, ClientError, ConnectOptions, DaemonTarget};
use hob_kit::host_environment::HostEnvironment;
use hob_kit::last_down;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub struct CommandContext {
    pub host: HostEnvironment,
    pub terminal: Terminal,
    /// The mark of the last `hob down` when this command began. The command starts no daemon after a
    /// later `hob down` unless it was its own. A std mutex: it is never held across an await.
    last_down: Mutex<String>,
    /// The note about the daemon's start was printed.
    is_start_noted: Arc<AtomicBool>,
}

impl CommandContext {
    pub fn new(host: HostEnvironment, terminal: Terminal) -> CommandContext {
        CommandContext {
            last_down: Mutex::new(last_down::read(&host.home)),
            is_start_noted: Arc::default(),
            host,
            terminal,
        }
    }

    /// Reads the mark again after this command itself stopped the daemon, so that it may start one.
    pub fn refresh_last_down(&self) {
        let mark = last_down::read(&self.host.home);
        *self
            .last_down
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = mark;
    }

    /// Connects to the daemon. Starts one if none is running and starting is allowed.
    pub async fn client(&self) -> Result<Client, CommandFailure> {
        let target = self.target()?;
        let launch = if self.is_remote() {
            None
        } else {
            Some(self.launcher()?)
        };
        // Most commands find a running daemon, so connecting comes before starting one.
        match self.connect(target.clone(), launch.clone()).await {
            Err(ClientError::NotRunning { .. }) => {}
            other => return Ok(other?),
        }
        if let Some(launch) = &launch {
            launch.ensure().await?;
        }
        Ok(self.connect(target, launch).await?)
    }

    /// Connects to a running daemon. Never starts one.
    pub async fn running_client(&self) -> Result<Option<Client>, CommandFailure> {
        match self.connect(self.target()?, None).await {
            Ok(client) => Ok(Some(client)),
            Err(ClientError::NotRunning { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Connects to this home's own daemon and ignores `HOB_URL` and `HOB_TOKEN`.
    pub async fn home_client(&self) -> Result<Option<Client>, CommandFailure> {
        match Client::connect(DaemonTarget::home(&self.host.home)).await {
            Ok(client) => Ok(Some(client)),
            Err(ClientError::NotRunning { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    async fn connect(
        &self,
        target: DaemonTarget,
        launch: Option<DaemonLauncher>,
    ) -> Result<Client, ClientError> {
        // Under HOB_AUTOSTART=0 the client waits for a lost daemon and never starts one.
        let launch = launch.filter(DaemonLauncher::is_allowed);
        Client::connect_with(ConnectOptions {
            target,
            launcher: launch,
        })
        .await
    }

    /// Fails when `HOB_URL` names another daemon: only this home's daemon is started or stopped.
    pub fn ensure_local(&self) -> Result<(), CommandFailure> {
        if self.is_remote() {
            let sentence = "HOB_URL names a remote daemon; start and stop it on its own machine.";
            return Err(CommandFailure::usage(sentence)
                .next("Unset HOB_URL to use the daemon of this home."));
        }
        Ok(())
    }

    /// Returns true when commands go to a daemon that this home does not own.
    pub fn is_remote(&self) -> bool {
        self.host.env.text("HOB_URL").is_some()
    }

    pub fn target(&self) -> Result<DaemonTarget, CommandFailure> {
        let token = self.host.env.text("HOB_TOKEN");
        match (self.host.env.text("HOB_URL"), token) {
            (Some(url), Some(token)) => Ok(DaemonTarget::url(url, token)?),
            (Some(_), None) => Err(CommandFailure::usage("HOB_URL is set without HOB_TOKEN.")
                .next("Create a token there with `hob token create` and set HOB_TOKEN to it.")),
            (None, Some(token)) => Ok(DaemonTarget::home(&self.host.home).with_token(token)),
            (None, None) => Ok(DaemonTarget::home(&self.host.home)),
        }
    }

    /// The launcher of this home's daemon.
    pub fn launcher(&self) -> Result<DaemonLauncher, CommandFailure> {
        let executable = std::env::current_exe().map_err(|error| {
            CommandFailure::failed(format!("hob cannot find its own executable: {error}."))
        })?;
        let last_down = self.last_down.lock();
        let last_down = last_down.unwrap_or_else(PoisonError::into_inner).clone();
        let is_noted = Arc::clone(&self.is_start_noted);
        let launch = DaemonLauncher::new(&self.host, executable, move |line| {
            // One command may start the daemon more than once; the line says nothing new then.
            if !is_noted.swap(true, Ordering::Relaxed) {
                Terminal::note(line);
            }
        });
        Ok(launch.with_last_down(last_down))
    }
}
