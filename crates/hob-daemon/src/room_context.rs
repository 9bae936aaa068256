//! What most rooms need. A room takes it by reference, keeps a clone in its state, and gets what only
//! it needs as further arguments.

use crate::transcripts::Transcripts;
use hob_bus::Bus;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_net::{HttpClient, WebClient};
use hob_store::Store;
use std::sync::Arc;
use tokio::sync::watch;

/// The dependencies that rooms share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RoomContext {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    pub randomness: Randomness,
    pub env: EnvVars,
    /// hob's own folders.
    pub home: Home,
    /// The settings in effect.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// Secrets that no prompt, log, event or audit entry may show.
    pub mask: SecretMask,
    pub tasks: TaskGroup,
    /// The transcripts of sessions, as clients follow them.
    pub transcripts: Transcripts,
    /// Sends requests to configured addresses.
    pub http: HttpClient,
    /// Fetches pages of the web.
    pub web: WebClient,
}

impl RoomContext {
    /// The settings in effect now.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }
}
