//! Looks at the machine for models that can be used.

use super::OnboardContext;
use hob_core::onboarding::{
    DemoModel, LocalModelCandidate, MachineRoom, OnboardingFacts, ProviderKey, ProviderKeyState,
    RunningServer,
};
use hob_kit::settings::Settings;
use hob_models::{HomeKeys, KeyOrigin, KeyProvider, key_providers};
use hob_services::install::free_bytes;
use hob_services::{DiscoveryContext, llm};
use hob_wire::rooms::desktop::{DesktopSystemParams, System};
use hob_wire::rooms::service::{Install, ServiceInstallParams, ServiceRole};

/// The address of a model that hob starts itself from a file of the person.
const OWN_MODEL: &str = "local";

impl OnboardContext {
    /// Returns the facts, and sentences about what was found and cannot be used.
    pub(super) async fn machine_facts(
        &self,
        settings: &Settings,
    ) -> (OnboardingFacts, Vec<String>) {
        let place = DiscoveryContext {
            home: &self.deps.home,
            settings,
            env: &self.deps.env,
            http: &self.deps.http,
            spawner: &self.spawner,
        };
        let (found, mut notes) = llm::find_running_servers(&place).await;
        let servers = found.into_iter().map(|server| RunningServer {
            address: server.address,
            what: server.what,
            models: server.models,
        });
        let mut servers: Vec<RunningServer> = servers.collect();
        let demo = self.demo(&mut notes).await;
        if servers.is_empty() {
            servers.extend(self.own_model());
        }
        let keys = key_providers(settings);
        let keys = keys.iter().map(|provider| key_fact(provider, &self.keys));
        let facts = OnboardingFacts {
            keys: keys.collect(),
            servers,
            candidates: self.candidates(),
            room: self.room().await,
            demo,
            has_default: !settings.list("model.default").is_empty(),
        };
        (facts, notes)
    }

    /// The model that hob would start from a file of the person, which is no demo.
    fn own_model(&self) -> Option<RunningServer> {
        let served = self.library.served.borrow();
        let own = served
            .iter()
            .find(|one| one.service == llm::NAME && one.role == ServiceRole::Llm && !one.modest)?;
        let model = own.model.clone()?;
        Some(RunningServer {
            address: OWN_MODEL.to_owned(),
            what: "The model of this machine".to_owned(),
            models: vec![model],
        })
    }

    /// The local models that can be downloaded.
    #[expect(clippy::unused_self, reason = "the catalogue of models comes with `model.pull`")]
    fn candidates(&self) -> Vec<LocalModelCandidate> {
        Vec::new()
    }

    async fn room(&self) -> MachineRoom {
        let system = self.caller.call::<System>(&DesktopSystemParams {}).await;
        MachineRoom {
            memory_bytes: system.map_or(0, |system| system.memory_bytes),
            disk_bytes: free_bytes(self.deps.home.root()).unwrap_or(0),
        }
    }

    async fn demo(&self, notes: &mut Vec<String>) -> DemoModel {
        let params = ServiceInstallParams {
            name: llm::NAME.to_owned(),
            yes: false,
        };
        let model = llm::DEMO_MODEL.to_owned();
        let Ok(planned) = self.caller.call::<Install>(&params).await else {
            return DemoModel::Unavailable;
        };
        let plan = planned.plan;
        if plan.ready {
            let served = self.library.served.borrow();
            let is_demo = served.iter().any(|one| one.modest);
            return if is_demo {
                DemoModel::Installed { model }
            } else {
                DemoModel::Unavailable
            };
        }
        if let Some(obstacle) = plan.obstacle {
            notes.push(obstacle);
            return DemoModel::Unavailable;
        }
        DemoModel::Installable {
            model,
            download_bytes: plan.download_bytes,
            licence: plan.licences.join("; "),
        }
    }
}

fn key_fact(provider: &KeyProvider, keys: &HomeKeys) -> ProviderKey {
    ProviderKey {
        provider: provider.name.to_owned(),
        variable: provider.variable.to_owned(),
        model: provider.model.to_owned(),
        state: match keys.origin(provider.variable) {
            None => ProviderKeyState::Missing,
            Some(KeyOrigin::Environment) => ProviderKeyState::Environment,
            Some(KeyOrigin::Kept) => ProviderKeyState::Kept,
        },
    }
}
