//! The plan of a download: asks the hub what there is, and compares it with what is here.
//!
//! Invariants: a plan changes nothing; a model that is here under the same name but from elsewhere is
//! never replaced; the token is read for each plan and never stored.

use super::ModelContext;
use super::fetched_models::wire_error;
use hob_kit::secret::Secret;
use hob_kit::settings::SettingValue;
use hob_net::{FileClient, FileOrigin, PrivateHosts};
use hob_services::models::catalog::{CatalogModel, MEMORY_RESERVE_BYTES, MODELS};
use hob_services::models::{
    ENDPOINT_DEFAULT, HubFile, HubRepository, HubSource, ModelFolder, ModelPlace, ModelRecord,
    ModelSource, PullError, ROOM_SPARE_BYTES, find_ollama, gated, machine_room,
};
use hob_wire::WireError;
use hob_wire::rooms::model_files::ModelPullPlan;

/// The memory beside the file that a model without an entry in the catalogue is expected to use.
const MEMORY_EXTRA_BYTES: u64 = 1_000_000_000;

/// A plan, and what is needed to carry it out.
pub(super) struct PreparedPull {
    /// The model's name here, which is the id of the download.
    pub(super) name: String,
    pub(super) source: String,
    pub(super) plan: ModelPullPlan,
    pub(super) work: PullWork,
}

/// The work of a download.
pub(super) enum PullWork {
    /// The file is here.
    Nothing {
        place: ModelPlace,
        record: ModelRecord,
    },
    File {
        client: FileClient,
        place: ModelPlace,
        record: Box<ModelRecord>,
    },
    Ollama {
        url: String,
        model: String,
    },
}

/// A repository on the hub and the wanted file, with what the catalogue knows of it.
struct HubRequest {
    source: ModelSource,
    hub: HubSource,
    known: Option<&'static CatalogModel>,
}

impl ModelContext {
    /// Plans the download of what this text names.
    pub(super) async fn prepare_pull(&self, text: &str) -> Result<PreparedPull, WireError> {
        let source = ModelSource::parse(text).map_err(|error| wire_error(&error))?;
        let planned = match source.clone() {
            ModelSource::Ollama(model) => return self.prepare_ollama(&source, model).await,
            ModelSource::Catalog(model) => HubRequest {
                source,
                hub: HubSource {
                    repository: model.repository.to_owned(),
                    wanted: Some(model.file.to_owned()),
                },
                known: Some(model),
            },
            ModelSource::Hub(hub) => HubRequest {
                source,
                hub,
                known: None,
            },
        };
        self.prepare_file(planned)
            .await
            .map_err(|error| wire_error(&error))
    }

    async fn prepare_ollama(
        &self,
        source: &ModelSource,
        model: String,
    ) -> Result<PreparedPull, WireError> {
        let found = find_ollama(&self.deps.http, &self.settings()).await;
        let mut plan = ModelPullPlan {
            file: model.clone(),
            folder: "the models of Ollama".to_owned(),
            ..ModelPullPlan::default()
        };
        let url = match found {
            Ok(url) => url,
            Err(why) => {
                plan.obstacle = Some(why);
                String::new()
            }
        };
        plan.from = format!("Ollama at {}", url.trim_start_matches("http://"));
        Ok(PreparedPull {
            name: model.replace(['/', ':'], "-"),
            source: source.to_string(),
            plan,
            work: PullWork::Ollama { url, model },
        })
    }

    async fn prepare_file(&self, request: HubRequest) -> Result<PreparedPull, PullError> {
        let source = request.source.to_string();
        let folder = ModelFolder::new(&self.deps.home);
        // What is here already needs no hub, so that it works without a network.
        let stored = list(&folder).await?.into_iter();
        let mut stored = stored.filter(|(_, record)| record.source == source);
        if let Some((place, record)) = stored.find(|(place, record)| place.is_complete(record)) {
            return Ok(self.prepared(place, record, true));
        }
        let client = self.file_client()?;
        let hub = HubRepository::fetch(&client, &request.hub.repository).await?;
        let file = hub.choose(request.hub.wanted.as_deref())?;
        let is_entry =
            |model: &&CatalogModel| model.repository == hub.repository && model.file == file.path;
        let known = request.known.or_else(|| MODELS.iter().find(is_entry));
        let place = folder.place(&local_name(known, &hub, file))?;
        let before = place.read()?;
        let mut record = ModelRecord {
            source,
            repository: hub.repository.clone(),
            revision: hub.revision.clone(),
            path: file.path.clone(),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            licence: known
                .map(|it| it.licence.to_owned())
                .or(hub.licence.clone()),
            tools: known.map(|model| model.tools),
            complete: false,
            safe_bytes: 0,
            failure: None,
        };
        if let Some(before) = before {
            check_same_model(&place, &before, &record)?;
            if before.sha256 == record.sha256 {
                if place.is_complete(&before) {
                    return Ok(self.prepared(place, before, true));
                }
                // The same file at another commit still has the same bytes.
                record.safe_bytes = before.safe_bytes;
            }
        }
        let mut prepared = self.prepared(place, record, false);
        if hub.gated && client.token.is_none() {
            let host = client.origin.host();
            prepared.plan.obstacle = Some(gated(&host, &hub.repository, false).to_string());
        }
        prepared.plan.from = format!("{} at {}", hub.repository, client.origin.host());
        if let PullWork::Nothing { place, record } = prepared.work {
            prepared.work = PullWork::File {
                client,
                place,
                record: Box::new(record),
            };
        }
        Ok(prepared)
    }

    /// Describes a download; its work is filled in by the caller.
    fn prepared(&self, place: ModelPlace, record: ModelRecord, ready: bool) -> PreparedPull {
        let room = machine_room(&self.deps.home);
        let bytes_done = place.bytes_done(&record);
        let needed = record.bytes.saturating_sub(bytes_done) + ROOM_SPARE_BYTES;
        let obstacle = (!ready && needed > room.disk_bytes).then(|| {
            let error = PullError::NoRoom {
                folder: ModelFolder::new(&self.deps.home)
                    .root()
                    .display()
                    .to_string(),
                needed_bytes: needed,
                free_bytes: room.disk_bytes,
            };
            error.to_string()
        });
        let entry = MODELS.iter().find(|model| model.name == place.name);
        let memory = entry.map_or(record.bytes + MEMORY_EXTRA_BYTES, |model| {
            model.memory_bytes
        });
        let is_large = memory + MEMORY_RESERVE_BYTES > room.memory_bytes;
        let warning = is_large.then(|| {
            format!(
                "It needs about {} GiB of memory, and this machine has {} GiB in all: it may be very slow or not start.",
                gibibytes(memory),
                gibibytes(room.memory_bytes)
            )
        });
        let file = place.file(&record);
        let plan = ModelPullPlan {
            ready,
            from: record.repository.clone(),
            file: record.path.clone(),
            bytes: Some(record.bytes),
            bytes_done: if ready { record.bytes } else { bytes_done },
            sha256: Some(record.sha256.clone()),
            licence: record.licence.clone(),
            tools: record.tools,
            folder: file.parent().unwrap_or(&file).display().to_string(),
            warnings: warning.into_iter().collect(),
            obstacle,
        };
        PreparedPull {
            name: place.name.clone(),
            source: record.source.clone(),
            plan,
            work: PullWork::Nothing { place, record },
        }
    }

    /// The client of the hub, from `HF_ENDPOINT` and `HF_TOKEN`.
    fn file_client(&self) -> Result<FileClient, PullError> {
        let env = &self.deps.env;
        let named = env.text("HF_ENDPOINT").map(str::trim);
        let endpoint = named
            .filter(|it| !it.is_empty())
            .unwrap_or(ENDPOINT_DEFAULT);
        let origin = FileOrigin::parse(endpoint)
            .map_err(|error| PullError::Source(format!("HF_ENDPOINT cannot be used. {error}")))?;
        let token = env
            .text("HF_TOKEN")
            .map(str::trim)
            .filter(|it| !it.is_empty());
        if let Some(token) = token {
            self.deps.mask.add(token);
        }
        let settings = self.settings();
        let hosts = match settings
            .entry("web.private_hosts")
            .map(|entry| &entry.value)
        {
            Some(SettingValue::List(hosts)) => PrivateHosts::new(hosts.iter().map(String::as_str)),
            _ => PrivateHosts::default(),
        };
        Ok(FileClient {
            http: self.deps.http.clone(),
            web: self.deps.web.clone(),
            origin,
            token: token.map(Secret::new),
            private_hosts: hosts,
        })
    }
}

/// The name of a model here: that of the catalogue, else that of its file.
fn local_name(known: Option<&CatalogModel>, hub: &HubRepository, file: &HubFile) -> String {
    if let Some(model) = known {
        return model.name.to_owned();
    }
    let stem = file.stem();
    // A file must not take the name of a model that people pull by that name.
    if MODELS
        .iter()
        .any(|model| model.name.eq_ignore_ascii_case(stem))
    {
        let owner = hub.repository.split('/').next().unwrap_or_default();
        return format!("{owner}-{stem}");
    }
    stem.to_owned()
}

/// Refuses a download that would take the place of another model.
fn check_same_model(
    place: &ModelPlace,
    before: &ModelRecord,
    record: &ModelRecord,
) -> Result<(), PullError> {
    if (&before.repository, &before.path) == (&record.repository, &record.path) {
        return Ok(());
    }
    let name = &place.name;
    Err(PullError::Conflict(format!(
        "A model called {name} from {} is here already. Delete it first: hob model delete {name}",
        before.repository
    )))
}

async fn list(folder: &ModelFolder) -> Result<Vec<(ModelPlace, ModelRecord)>, PullError> {
    let folder = folder.clone();
    let listed = tokio::task::spawn_blocking(move || folder.list().0).await;
    listed.map_err(|error| PullError::Hub(error.to_string()))
}

/// Formats bytes as gibibytes with one decimal place, like the lists do.
fn gibibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 30;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
#[path = "pull_plan_tests.rs"]
mod tests;
