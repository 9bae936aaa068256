//! Looks at the machine for models that can be used.

use super::OnboardContext;
use hob_core::onboarding::{
    DemoModel, LocalModelCandidate, MachineRoom, OnboardingFacts, ProviderKey, ProviderKeyState,
    RunningServer,
};
use hob_kit::settings::Settings;
use hob_models::{HomeKeys, KeyOrigin, KeyProvider, key_providers};
use hob_services::{DiscoveryContext, llm};
use hob_wire::rooms::model_files::{Catalog, ModelCatalogParams};
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
        let (candidates, room) = self.candidates().await;
        let facts = OnboardingFacts {
            keys: keys.collect(),
            servers,
            candidates,
            room,
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

    /// The local models that can be downloaded, best first, and the room that the machine has for
    /// them. None where the catalogue cannot be asked.
    async fn candidates(&self) -> (Vec<LocalModelCandidate>, MachineRoom) {
        let Ok(catalog) = self.caller.call::<Catalog>(&ModelCatalogParams {}).await else {
            return (Vec::new(), MachineRoom::default());
        };
        // One that was fetched is the model of this machine already.
        let models = catalog.models.into_iter().filter(|it| !it.fetched);
        let candidates = models.map(|model| LocalModelCandidate {
            name: model.name,
            bytes: model.bytes,
            memory: model.memory_bytes,
            tools: model.tools,
            licence: model.licence,
        });
        let room = MachineRoom {
            memory_bytes: catalog.memory_bytes,
            disk_bytes: catalog.disk_free_bytes,
        };
        (candidates.collect(), room)
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
