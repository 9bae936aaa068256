//! What tools get from outside.
//!
//! Invariant: cheap to clone; what belongs to one call is never seen by another.

use crate::commands::Commands;
use crate::outlet::Outlet;
use hob_bus::Caller;
use hob_kit::clock::Clock;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_net::{Openings, Web};
use hob_store::Store;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What tools get from outside; cheap to clone.
#[derive(Clone)]
pub struct Ground {
    places: Arc<Places>,
    /// Takes what this call prints; nobody listens when missing.
    outlet: Option<Outlet>,
    /// Cancelled when this call is to stop.
    stop: CancellationToken,
}

#[derive(Clone)]
struct Places {
    clock: Clock,
    /// Folders no tool may look into, whatever the workspace is: hob's own.
    hidden: Vec<PathBuf>,
    /// Where what a run changes, and what is too long to be told, is kept.
    store: Option<Store>,
    /// How programs are run.
    commands: Option<Commands>,
    /// The way to the web, and the settings that say what of the house it may reach.
    web: Option<(Web, Watched)>,
    /// The way to the other rooms.
    rooms: Option<Caller>,
    /// The secrets of the house, which no tool may tell.
    mask: Mask,
}

/// The settings as they are now.
type Watched = watch::Receiver<Arc<Settings>>;

impl Ground {
    pub fn new<'p>(clock: Clock, hidden: impl IntoIterator<Item = &'p Path>) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ground {
            places: Arc::new(Places {
                clock,
                hidden: hidden.into_iter().map(real).collect(),
                store: None,
                commands: None,
                web: None,
                rooms: None,
                mask: Mask::new(),
            }),
            outlet: None,
            stop: CancellationToken::new(),
        }
    }

    /// The same, where runs may change files: what was there is kept in `store`.
    #[must_use]
    pub fn with_store(mut self, store: Store) -> Self {
        Arc::make_mut(&mut self.places).store = Some(store);
        self
    }

    /// The same, where programs may be run.
    #[must_use]
    pub fn with_commands(mut self, commands: Commands) -> Self {
        Arc::make_mut(&mut self.places).commands = Some(commands);
        self
    }

    /// The same, where pages can be fetched.
    #[must_use]
    pub fn with_web(mut self, web: Web, settings: Watched) -> Self {
        Arc::make_mut(&mut self.places).web = Some((web, settings));
        self
    }

    /// The same, where other rooms can be asked.
    #[must_use]
    pub fn with_rooms(mut self, rooms: Caller) -> Self {
        Arc::make_mut(&mut self.places).rooms = Some(rooms);
        self
    }

    /// The same, where these secrets are known.
    #[must_use]
    pub fn with_mask(mut self, mask: Mask) -> Self {
        Arc::make_mut(&mut self.places).mask = mask;
        self
    }

    /// The same for one call, which prints into `outlet` and ends when `stop` says so. A tool that
    /// can say how far it came heeds `stop`; any other ends when its future is dropped.
    #[must_use]
    pub fn of_call(&self, outlet: Outlet, stop: CancellationToken) -> Self {
        Ground {
            places: Arc::clone(&self.places),
            outlet: Some(outlet),
            stop,
        }
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.places.store.as_ref()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.places.clock
    }

    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.places.hidden
    }

    pub(crate) fn commands(&self) -> Option<&Commands> {
        self.places.commands.as_ref()
    }

    /// The way to the web, and which private hosts are open now.
    pub(crate) fn web(&self) -> Option<(Web, Openings)> {
        let (web, settings) = self.places.web.as_ref()?;
        let settings = settings.borrow();
        let hosts = settings.list("web.private_hosts").iter();
        let openings = Openings::new(hosts.map(String::as_str));
        Some((web.clone(), openings))
    }

    pub(crate) fn rooms(&self) -> Option<&Caller> {
        self.places.rooms.as_ref()
    }

    pub(crate) fn mask(&self) -> &Mask {
        &self.places.mask
    }

    pub(crate) fn outlet(&self) -> Option<&Outlet> {
        self.outlet.as_ref()
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ground")
    }
}
