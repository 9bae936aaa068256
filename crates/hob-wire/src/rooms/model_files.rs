//! `model.*` for model files: the catalogue, downloads and their progress. A model file is fetched
//! from a hub of models or through a running Ollama, and then answers as `local`.

use crate::event::events;
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "models";
    /// Lists models to fetch, best first, and whether each fits this machine.
    Catalog = "model.catalog" {
        params: ModelCatalogParams, result: ModelCatalogResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Fetches a model and makes it `local`, or shows what that would do.
    ///
    /// The source is a name of the catalogue, hf:OWNER/REPO[:QUANT] for a GGUF file on the hub, or
    /// ollama:NAME to let a running Ollama fetch it. Fetching needs a person's consent (`yes`). It
    /// answers once the download has begun; `model.pull.progress` reports the progress. A download
    /// goes on when its caller leaves; Ctrl-C in `hob model pull` stops it. One that was interrupted
    /// continues when it is pulled again.
    Pull = "model.pull" {
        params: ModelPullParams, result: ModelPullResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["source"]),
    }
    /// Stops a download. What was fetched stays, and the next pull continues there.
    Abort = "model.abort" {
        params: ModelFileSelector, result: ModelDownload, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["name"]),
    }
    /// Lists fetched models and downloads, also unfinished ones.
    Downloads = "model.downloads" {
        params: ModelDownloadsParams, result: ModelDownloadsResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Deletes a fetched model, or what there is of an unfinished one.
    Delete = "model.delete" {
        params: ModelFileSelector, result: ModelDeleteResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["name"]),
    }
}

events! { "models";
    /// The progress of a download.
    PullProgress = "model.pull.progress" {
        payload: ModelDownload, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelCatalogParams {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCatalogResult {
    pub models: Vec<CatalogModelInfo>,
    /// All memory of this machine.
    pub memory_bytes: u64,
    /// The free space on the disk where models are kept.
    pub disk_free_bytes: u64,
}

/// A model of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogModelInfo {
    pub name: String,
    pub about: String,
    /// `OWNER/REPO` on the hub.
    pub repository: String,
    pub file: String,
    pub licence: String,
    /// True if it was trained to call tools.
    pub tools: bool,
    /// The expected size; the hub says the real one when the model is pulled.
    pub bytes: u64,
    /// An estimate of the memory it uses while it answers.
    pub memory_bytes: u64,
    /// The day on which the entry was looked up.
    pub checked: String,
    /// True if this machine has the memory to run it and the disk to keep it.
    pub fits: bool,
    /// True if it was fetched already.
    pub fetched: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelPullParams {
    /// A name of the catalogue, hf:OWNER/REPO[:QUANT] or ollama:NAME.
    pub source: String,
    /// True if a person has seen the plan and agrees. Otherwise only the plan is returned.
    #[serde(default)]
    pub yes: bool,
}

/// The plan of a download and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPullResult {
    /// The id of the download, which is the model's name here.
    pub id: String,
    pub plan: ModelPullPlan,
    /// Missing if only the plan was requested.
    #[serde(default)]
    pub progress: Option<ModelDownload>,
}

/// The plan of a download.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPullPlan {
    /// True if the file is here already; pulling only makes it `local`.
    pub ready: bool,
    /// Where the file comes from, for people.
    pub from: String,
    pub file: String,
    /// The size that the hub states. Unknown for Ollama, which says it while it fetches.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The bytes that an earlier attempt fetched.
    #[serde(default)]
    pub bytes_done: u64,
    #[serde(default)]
    pub sha256: Option<String>,
    #[serde(default)]
    pub licence: Option<String>,
    /// True if it was trained to call tools; missing if that is not known.
    #[serde(default)]
    pub tools: Option<bool>,
    /// The folder of the file.
    pub folder: String,
    /// Warnings, such as too little memory.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The reason why it cannot be fetched now, and what to do.
    #[serde(default)]
    pub obstacle: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelFileSelector {
    /// The model's name here, as `model.downloads` lists it.
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelDownloadsParams {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDownloadsResult {
    pub downloads: Vec<ModelDownload>,
    /// The folder of all models.
    pub folder: String,
    /// Entries of that folder that hob did not make or cannot read.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A fetched model, or a download.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDownload {
    pub name: String,
    /// What to pull to get it again or to continue.
    pub source: String,
    pub file: String,
    pub state: DownloadState,
    pub bytes_done: u64,
    /// 0 while it is not known.
    pub bytes_total: u64,
    /// The current rate.
    #[serde(default)]
    pub bytes_per_second: Option<u64>,
    /// The remaining time at the current rate.
    #[serde(default)]
    pub seconds_left: Option<u64>,
    #[serde(default)]
    pub licence: Option<String>,
    /// The file, once it is complete.
    #[serde(default)]
    pub path: Option<String>,
    /// True if `local` is this model.
    #[serde(default)]
    pub local: bool,
    /// The reason for a failure and what to do.
    #[serde(default)]
    pub message: Option<String>,
}

/// The state of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DownloadState {
    Fetching,
    /// All bytes are here, and the checksum is being compared.
    Verifying,
    Complete,
    /// It was stopped or interrupted; pulling it again continues.
    Partial,
    Failed,
}

impl DownloadState {
    /// Returns true while the daemon works on it.
    pub fn is_active(self) -> bool {
        matches!(self, DownloadState::Fetching | DownloadState::Verifying)
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            DownloadState::Fetching => "fetching",
            DownloadState::Verifying => "verifying",
            DownloadState::Complete => "complete",
            DownloadState::Partial => "partial",
            DownloadState::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDeleteResult {
    pub name: String,
    pub freed_bytes: u64,
    /// True if `local` was this model and is chosen anew.
    #[serde(default)]
    pub was_local: bool,
}
