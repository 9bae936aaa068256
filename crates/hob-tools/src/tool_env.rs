//! The dependencies of the tools.
//!
//! Invariant: the live output and the stop token belong to one call and are not shared between calls.

use crate::commands::CommandRunner;
use crate::live_output::LiveOutput;
use hob_bus::Caller;
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_kit::settings::Settings;
use hob_net::{PrivateHosts, WebClient};
use hob_store::Store;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The environment of a tool call; cheap to clone.
#[derive(Clone)]
pub struct ToolEnv {
    deps: Arc<ToolDeps>,
    /// Receives the output of this call; none if nobody listens.
    live_output: Option<LiveOutput>,
    /// Cancelled when this call must stop.
    stop: CancellationToken,
}

/// The dependencies that all calls share.
#[derive(Clone)]
struct ToolDeps {
    clock: Clock,
    /// hob's own folders, which no tool may read in any workspace.
    hidden: Vec<PathBuf>,
    /// Stores the previous content of changed files, and outputs that are too long for an answer.
    store: Option<Store>,
    /// Runs programs.
    commands: Option<CommandRunner>,
    /// The web client, and the settings that name the private hosts it may reach.
    web: Option<(WebClient, SettingsWatch)>,
    /// Calls other rooms.
    rooms: Option<Caller>,
    /// Known secrets, which no tool may reveal.
    mask: SecretMask,
}

/// The current settings.
type SettingsWatch = watch::Receiver<Arc<Settings>>;

impl ToolEnv {
    pub fn new<'p>(clock: Clock, hidden: impl IntoIterator<Item = &'p Path>) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        ToolEnv {
            deps: Arc::new(ToolDeps {
                clock,
                hidden: hidden.into_iter().map(real).collect(),
                store: None,
                commands: None,
                web: None,
                rooms: None,
                mask: SecretMask::new(),
            }),
            live_output: None,
            stop: CancellationToken::new(),
        }
    }

    /// Lets runs change files: `store` keeps the previous content.
    #[must_use]
    pub fn with_store(mut self, store: Store) -> Self {
        Arc::make_mut(&mut self.deps).store = Some(store);
        self
    }

    /// Lets tools run programs.
    #[must_use]
    pub fn with_commands(mut self, commands: CommandRunner) -> Self {
        Arc::make_mut(&mut self.deps).commands = Some(commands);
        self
    }

    /// Lets tools fetch web pages.
    #[must_use]
    pub fn with_web(mut self, web: WebClient, settings: SettingsWatch) -> Self {
        Arc::make_mut(&mut self.deps).web = Some((web, settings));
        self
    }

    /// Lets tools call other rooms.
    #[must_use]
    pub fn with_rooms(mut self, rooms: Caller) -> Self {
        Arc::make_mut(&mut self.deps).rooms = Some(rooms);
        self
    }

    /// Sets the secrets to mask.
    #[must_use]
    pub fn with_mask(mut self, mask: SecretMask) -> Self {
        Arc::make_mut(&mut self.deps).mask = mask;
        self
    }

    /// The environment of one call, which prints into `live_output` and ends when `stop` is
    /// cancelled. A tool that can report partial work watches `stop`; any other ends when its
    /// future is dropped.
    #[must_use]
    pub fn for_call(&self, live_output: LiveOutput, stop: CancellationToken) -> Self {
        ToolEnv {
            deps: Arc::clone(&self.deps),
            live_output: Some(live_output),
            stop,
        }
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.deps.store.as_ref()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.deps.clock
    }

    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.deps.hidden
    }

    pub(crate) fn commands(&self) -> Option<&CommandRunner> {
        self.deps.commands.as_ref()
    }

    /// The web client, and the private hosts that are allowed now.
    pub(crate) fn web(&self) -> Option<(WebClient, PrivateHosts)> {
        let (web, settings) = self.deps.web.as_ref()?;
        let settings = settings.borrow();
        let hosts = settings.list("web.private_hosts").iter();
        let private_hosts = PrivateHosts::new(hosts.map(String::as_str));
        Some((web.clone(), private_hosts))
    }

    pub(crate) fn rooms(&self) -> Option<&Caller> {
        self.deps.rooms.as_ref()
    }

    pub(crate) fn mask(&self) -> &SecretMask {
        &self.deps.mask
    }

    pub(crate) fn live_output(&self) -> Option<&LiveOutput> {
        self.live_output.as_ref()
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl fmt::Debug for ToolEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ground")
    }
}
