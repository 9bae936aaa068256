//! Access to the models as configured now, for the rooms that call them.

use crate::RoomContext;
use hob_models::{KeySource, ModelCatalog, ModelSources, ServedModel, ServiceResolver};
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// Access to models. Cheap to clone.
#[derive(Clone)]
pub struct ModelLibrary {
    pub keys: Arc<dyn KeySource>,
    pub services: Arc<dyn ServiceResolver>,
    /// The managed services whose models can be called.
    pub served: watch::Receiver<Arc<Vec<ServedModel>>>,
}

impl ModelLibrary {
    /// The configured models.
    pub fn models(&self, deps: &RoomContext) -> ModelCatalog {
        let sources = ModelSources {
            http: deps.http.clone(),
            keys: Arc::clone(&self.keys),
            services: Arc::clone(&self.services),
            served: Arc::clone(&self.served.borrow()),
        };
        ModelCatalog::new(&deps.settings(), sources)
    }
}

impl fmt::Debug for ModelLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelLibrary").finish_non_exhaustive()
    }
}
