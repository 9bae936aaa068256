//! What every command works with: the world outside, the terminal, and the way to the daemon.

use crate::failure::Failure;
use crate::terminal::Terminal;
use hob_client::start::Launch;
use hob_client::{Client, ClientError, ConnectOptions, Target};
use hob_kit::last_down;
use hob_kit::world::World;
use std::sync::{Mutex, PoisonError};

#[derive(Debug)]
pub struct Context {
    pub world: World,
    pub terminal: Terminal,
    /// The mark of the last `hob down` when this command began: it starts no daemon after a later
    /// one, unless that was its own. A std mutex, because it is held for a line without await.
    last_down: Mutex<String>,
}

impl Context {
    pub fn new(world: World, terminal: Terminal) -> Context {
        Context {
            last_down: Mutex::new(last_down::read(&world.home)),
            world,
            terminal,
        }
    }

    /// Goes on after a `hob down` of this command itself.
    pub fn begin_anew(&self) {
        let mark = last_down::read(&self.world.home);
        *self
            .last_down
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = mark;
    }

    /// The daemon's client; starts the daemon if it must and may.
    pub async fn client(&self) -> Result<Client, Failure> {
        let target = self.target()?;
        let launch = if self.is_elsewhere() {
            None
        } else {
            Some(self.launch()?)
        };
        match self.connect(target.clone(), launch.clone()).await {
            Err(ClientError::NotRunning { .. }) => {}
            other => return Ok(other?),
        }
        if let Some(launch) = &launch {
            launch.ensure().await?;
        }
        Ok(self.connect(target, launch).await?)
    }

    /// The daemon's client if one is running; never starts it.
    pub async fn running_client(&self) -> Result<Option<Client>, Failure> {
        match self.connect(self.target()?, None).await {
            Ok(client) => Ok(Some(client)),
            Err(ClientError::NotRunning { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// The client of this home's own daemon, whatever the environment names.
    pub async fn home_client(&self) -> Result<Option<Client>, Failure> {
        match Client::connect(Target::home(&self.world.home)).await {
            Ok(client) => Ok(Some(client)),
            Err(ClientError::NotRunning { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    async fn connect(&self, target: Target, launch: Option<Launch>) -> Result<Client, ClientError> {
        // Under HOB_AUTOSTART=0 a lost daemon is waited for and never started.
        let launch = launch.filter(Launch::is_allowed);
        Client::connect_with(ConnectOptions { target, launch }).await
    }

    /// Refuses to start or stop a daemon that is not this home's.
    pub fn is_here(&self) -> Result<(), Failure> {
        if self.is_elsewhere() {
            let sentence = "HOB_URL names a daemon elsewhere; it is started and stopped there.";
            return Err(Failure::usage(sentence).next("Unset HOB_URL for the one of this home."));
        }
        Ok(())
    }

    /// Whether commands go to a daemon that this home does not own.
    pub fn is_elsewhere(&self) -> bool {
        self.world.env.text("HOB_URL").is_some()
    }

    pub fn target(&self) -> Result<Target, Failure> {
        let token = self.world.env.text("HOB_TOKEN");
        match (self.world.env.text("HOB_URL"), token) {
            (Some(url), Some(token)) => Ok(Target::url(url, token)?),
            (Some(_), None) => Err(Failure::usage("HOB_URL is set without HOB_TOKEN.")
                .next("Make a token there with `hob token create` and set HOB_TOKEN to it.")),
            (None, Some(token)) => Ok(Target::home(&self.world.home).with_token(token)),
            (None, None) => Ok(Target::home(&self.world.home)),
        }
    }

    /// How this home's daemon is started.
    pub fn launch(&self) -> Result<Launch, Failure> {
        let executable = std::env::current_exe().map_err(|error| {
            Failure::failed(format!(
                "hob does not know where its own program is: {error}."
            ))
        })?;
        let last_down = self.last_down.lock();
        let last_down = last_down.unwrap_or_else(PoisonError::into_inner).clone();
        let launch = Launch::new(&self.world, executable, |line| {
            Terminal::note(line);
        });
        Ok(launch.began_after(last_down))
    }
}
