//! What could be started now, and which models that makes available.
//!
//! Invariant: what is told as available ran or was found the last time anything changed.

use super::Shared;
use super::launch;
use hob_models::Served;
use hob_services::{Found, Shelved};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::{ServiceRole, ServiceState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long looking for one service may take.
const FIND_WAIT: Duration = Duration::from_secs(10);
/// What was found stays true for so long.
const FOUND_FRESH_MS: u64 = 2_000;
/// Changes that come together are looked at once.
const SETTLE: Duration = Duration::from_millis(100);

/// What there is to start, by name, and when it was looked for.
#[derive(Debug, Default)]
pub(super) struct Finds {
    found: BTreeMap<String, Found>,
    at_ms: Option<u64>,
}

impl Shared {
    /// What there is to start of each service, at most two seconds old.
    pub(super) async fn finds(self: &Arc<Self>) -> BTreeMap<String, Found> {
        let mut finds = self.finds.lock().await;
        let now_ms = self.parts.clock.monotonic_ms();
        let fresh = |at_ms: u64| now_ms.saturating_sub(at_ms) < FOUND_FRESH_MS;
        if !finds.at_ms.is_some_and(fresh) {
            let all: Vec<Arc<Shelved>> = {
                let roll = self.roll();
                roll.handles.values().map(|it| it.slot.get()).collect()
            };
            let looked = all.iter().map(|shelved| async {
                let name = shelved.descriptor.name.clone();
                (name, self.look_for(shelved).await)
            });
            let found = futures_util::future::join_all(looked).await;
            finds.found = found.into_iter().collect();
            finds.at_ms = Some(self.parts.clock.monotonic_ms());
        }
        finds.found.clone()
    }

    /// What there is to start of one service, now.
    pub(super) async fn look_for(&self, shelved: &Shelved) -> Found {
        let found = tokio::time::timeout(FIND_WAIT, launch::find(self, shelved)).await;
        found.unwrap_or_else(|_| Found::Missing {
            why: format!(
                "Looking for '{}' took longer than {} seconds; try again.",
                shelved.descriptor.name,
                FIND_WAIT.as_secs()
            ),
        })
    }

    /// Something was installed or removed: what there is to start is looked for again, and told.
    pub(super) async fn look_again(self: &Arc<Self>) {
        self.finds.lock().await.at_ms = None;
        self.tell_served().await;
    }

    /// Keeps the list of served models true: a task of its own.
    pub(super) async fn serve_models(self: Arc<Self>) {
        let mut settings = self.parts.settings.clone();
        loop {
            self.tell_served().await;
            tokio::select! {
                () = self.changed.notified() => {}
                changed = settings.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.finds.lock().await.at_ms = None;
                }
            }
            tokio::time::sleep(SETTLE).await;
        }
    }

    async fn tell_served(self: &Arc<Self>) {
        let served = self.served_now().await;
        self.served.send_if_modified(|held| {
            let differs = **held != served;
            if differs {
                *held = Arc::new(served);
            }
            differs
        });
    }

    async fn served_now(self: &Arc<Self>) -> Vec<Served> {
        let finds = self.finds().await;
        let handles = self.roll().handles.clone();
        let served = handles.iter().filter_map(|(name, handle)| {
            let shelved = handle.slot.get();
            let role = shelved.descriptor.role?;
            let kind = kind_of(role)?;
            let running = handle.state() == ServiceState::Running;
            let (model, modest) = match finds.get(name) {
                Some(Found::Running { model, .. }) => (model.clone(), false),
                Some(Found::Command { model, modest, .. }) => (model.clone(), *modest),
                Some(Found::Missing { .. }) | None if running => (None, false),
                Some(Found::Missing { .. }) | None => return None,
            };
            Some(Served {
                service: name.clone(),
                role,
                model,
                modest,
                kind,
                running,
            })
        });
        served.collect()
    }
}

/// What a service of a role is spoken to with; none for those that are asked nothing.
fn kind_of(role: ServiceRole) -> Option<ProviderKind> {
    match role {
        ServiceRole::Llm | ServiceRole::Vlm => Some(ProviderKind::Openai),
        ServiceRole::Agent => Some(ProviderKind::Opencode),
        ServiceRole::Tts => None,
    }
}
