//! Finds what can be started now, and the models that it offers.
//!
//! Invariant: a model is listed only if its service ran or was found at the last change.

use super::ServiceContext;
use super::launch;
use hob_models::ServedModel;
use hob_services::{CatalogService, FoundService, llm};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::{ServiceRole, ServiceState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The longest search for one service.
const FIND_WAIT: Duration = Duration::from_secs(10);
/// The lifetime of a search result.
const FOUND_FRESH_MS: u64 = 2_000;
/// Time to let changes that come together settle.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// The last search results by service, and their time.
#[derive(Debug, Default)]
pub(super) struct FoundCache {
    found: BTreeMap<String, FoundService>,
    at_ms: Option<u64>,
}

impl ServiceContext {
    /// Returns what can be started of each service, at most two seconds old.
    pub(super) async fn find_all(self: &Arc<Self>) -> BTreeMap<String, FoundService> {
        // Held during the search, so that requests at the same time share its result.
        let mut cache = self.found_cache.lock().await;
        let now_ms = self.deps.clock.monotonic_ms();
        let fresh = |at_ms: u64| now_ms.saturating_sub(at_ms) < FOUND_FRESH_MS;
        if !cache.at_ms.is_some_and(fresh) {
            let all: Vec<Arc<CatalogService>> = {
                let registry = self.registry();
                registry
                    .handles
                    .values()
                    .map(|it| it.definition.get())
                    .collect()
            };
            let looked = all.iter().map(|service| async {
                let name = service.descriptor.name.clone();
                (name, self.find_service(service).await)
            });
            let found = futures_util::future::join_all(looked).await;
            cache.found = found.into_iter().collect();
            // The age counts from the end of the search, which may take seconds.
            cache.at_ms = Some(self.deps.clock.monotonic_ms());
        }
        cache.found.clone()
    }

    /// Searches for one service now.
    pub(super) async fn find_service(&self, service: &CatalogService) -> FoundService {
        let found = tokio::time::timeout(FIND_WAIT, launch::find_startable(self, service)).await;
        found.unwrap_or_else(|_| FoundService::Missing {
            why: format!(
                "The search for '{}' took longer than {} seconds; try again.",
                service.descriptor.name,
                FIND_WAIT.as_secs()
            ),
        })
    }

    /// Searches again and publishes, after something was installed or removed.
    pub(super) async fn refresh_found(self: &Arc<Self>) {
        self.found_cache.lock().await.at_ms = None;
        self.publish_served().await;
    }

    /// Keeps the list of served models up to date, as a task of its own.
    pub(super) async fn keep_served_models(self: Arc<Self>) {
        let mut settings = self.deps.settings.clone();
        loop {
            self.publish_served().await;
            tokio::select! {
                () = self.changed.notified() => {}
                changed = settings.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.found_cache.lock().await.at_ms = None;
                }
            }
            tokio::time::sleep(SETTLE_TIME).await;
        }
    }

    async fn publish_served(self: &Arc<Self>) {
        let served = self.current_served().await;
        self.served.send_if_modified(|held| {
            // Watchers rebuild their model list, so they are only woken by a difference.
            let differs = **held != served;
            if differs {
                *held = Arc::new(served);
            }
            differs
        });
    }

    async fn current_served(self: &Arc<Self>) -> Vec<ServedModel> {
        let found = self.find_all().await;
        let handles = self.registry().handles.clone();
        let served = handles.iter().filter_map(|(name, handle)| {
            let service = handle.definition.get();
            let role = service.descriptor.role?;
            let kind = provider_kind(role)?;
            let running = handle.state() == ServiceState::Running;
            let (model, modest) = match found.get(name) {
                Some(FoundService::Running { model, .. }) => (model.clone(), false),
                Some(FoundService::Command { model, modest, .. }) => (model.clone(), *modest),
                // A running service can be used although its program is no longer found.
                Some(FoundService::Missing { .. }) | None if running => (None, false),
                Some(FoundService::Missing { .. }) | None => return None,
            };
            Some(ServedModel {
                service: name.clone(),
                role,
                model,
                modest,
                kind,
                running,
                context_tokens: context_tokens(name, found.get(name)),
            })
        });
        served.collect()
    }
}

/// Returns the window of a model that hob starts itself; a server that runs has its own.
fn context_tokens(name: &str, found: Option<&FoundService>) -> Option<u64> {
    match found {
        Some(FoundService::Command { model: Some(_), .. }) if name == llm::NAME => {
            Some(llm::CONTEXT_TOKENS)
        }
        _ => None,
    }
}

/// Returns the model protocol of a role; none for services without models.
fn provider_kind(role: ServiceRole) -> Option<ProviderKind> {
    match role {
        ServiceRole::Llm | ServiceRole::Vlm => Some(ProviderKind::Openai),
        ServiceRole::Agent => Some(ProviderKind::Opencode),
        ServiceRole::Tts => None,
    }
}
