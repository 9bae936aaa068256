//! A model that sees, by a `llama-server` of the person's own: a GGUF and its projector.

use super::named_file;
use crate::descriptor::{Descriptor, Health, Kind, Port};
use crate::found::{Entry, Found, Place};
use crate::install::programs::on_path;
use crate::llama::LlamaServer;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::time::Duration;

const NAME: &str = "vlm";
/// Pictures take room.
const CONTEXT_TOKENS: &str = "8192";

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(async move { find(place) })),
    install: None,
};

pub const KEYS: &[Key] = &[
    Key::new(
        "vlm.model",
        SettingKind::Text,
        "",
        "The file of a model that sees, a GGUF.",
    )
    .live(),
    Key::new(
        "vlm.projector",
        SettingKind::Text,
        "",
        "The file of that model's projector (mmproj), a GGUF.",
    )
    .live(),
];

fn descriptor() -> Descriptor {
    Descriptor {
        about: "A model that sees, by llama-server".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Vlm),
        port: Port::Free,
        health: Some(Health::Path("/health".to_owned())),
        ready: Duration::from_mins(5),
        idle: Some(Duration::from_mins(10)),
        licence: Some("llama.cpp: MIT; each model has its own".to_owned()),
        ..Descriptor::defaults(NAME)
    }
}

fn find(place: &Place<'_>) -> Found {
    let Some(program) = on_path(place.env, "llama-server") else {
        let why = "llama-server is not on the path. Install llama.cpp, and name a model that sees with its projector: hob config set vlm.model FILE and hob config set vlm.projector FILE.";
        return Found::Missing {
            why: why.to_owned(),
        };
    };
    let model = named_file(place, "vlm.model", "a model that sees, a GGUF");
    let projector = named_file(place, "vlm.projector", "its projector, a GGUF");
    let (model, projector) = match (model, projector) {
        (Ok(model), Ok(projector)) => (model, projector),
        (Err(why), _) | (_, Err(why)) => return Found::Missing { why },
    };
    let name = model.file_stem().unwrap_or_default().to_string_lossy();
    let server = LlamaServer {
        service: NAME,
        program: &program,
        model: &model,
        name: &name,
        context_tokens: CONTEXT_TOKENS,
        projector: Some(&projector),
        modest: false,
    };
    server.found(place)
}
