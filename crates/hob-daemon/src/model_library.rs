//! The models as they are configured this moment, for the rooms that ask them.

use hob_kit::settings::Settings;
use hob_models::{Book, KeyDoor, Served, ServiceDoor, Sources};
use hob_net::Http;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// What leads to models; cheap to clone.
#[derive(Clone)]
pub struct Library {
    pub settings: watch::Receiver<Arc<Settings>>,
    pub http: Http,
    pub keys: Arc<dyn KeyDoor>,
    pub services: Arc<dyn ServiceDoor>,
    /// The services whose models can be asked.
    pub served: watch::Receiver<Arc<Vec<Served>>>,
}

impl Library {
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    pub fn book(&self) -> Book {
        let sources = Sources {
            http: self.http.clone(),
            keys: Arc::clone(&self.keys),
            services: Arc::clone(&self.services),
            served: Arc::clone(&self.served.borrow()),
        };
        Book::new(&self.settings(), sources)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}
