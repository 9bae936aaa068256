//! A vision model in the user's own `llama-server`: a GGUF file and its projector.

use super::named_file;
use crate::descriptor::{HealthProbe, PortChoice, ServiceDescriptor, ServiceKind};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::programs::find_on_path;
use crate::llama::LlamaServer;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::time::Duration;

const NAME: &str = "vlm";
/// A larger context than for text, because pictures need many tokens.
const CONTEXT_TOKENS: &str = "8192";

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(async move { find(context) })),
    install: None,
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "vlm.model",
        SettingKind::Text,
        "",
        "The file of a model that sees, a GGUF.",
    )
    .live(),
    SettingKey::new(
        "vlm.projector",
        SettingKind::Text,
        "",
        "The file of that model's projector (mmproj), a GGUF.",
    )
    .live(),
];

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "A model that sees, by llama-server".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Vlm),
        port: PortChoice::Free,
        health: Some(HealthProbe::Path("/health".to_owned())),
        ready: Duration::from_mins(5),
        idle: Some(Duration::from_mins(10)),
        licence: Some("llama.cpp: MIT; each model has its own".to_owned()),
        ..ServiceDescriptor::defaults(NAME)
    }
}

fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let Some(program) = find_on_path(context.env, "llama-server") else {
        let why = "llama-server is not on the path. Install llama.cpp, and name a model that sees with its projector: hob config set vlm.model FILE and hob config set vlm.projector FILE.";
        return FoundService::Missing {
            why: why.to_owned(),
        };
    };
    let model = named_file(context, "vlm.model", "a model that sees, a GGUF");
    let projector = named_file(context, "vlm.projector", "its projector, a GGUF");
    let (model, projector) = match (model, projector) {
        (Ok(model), Ok(projector)) => (model, projector),
        (Err(why), _) | (_, Err(why)) => return FoundService::Missing { why },
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
    server.start_command(context)
}
