//! Piper: a neural voice from a file, spoken by the program `piper` behind hob's own speech server.

use super::named_file;
use crate::descriptor::{HealthProbe, PortChoice, ServiceDescriptor, ServiceKind};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::programs::find_on_path;
use crate::tts;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::rooms::service::ServiceRole;

const NAME: &str = "piper";

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(async move { find(context) })),
    install: None,
};

pub const KEYS: &[SettingKey] = &[SettingKey::new(
    "piper.voice",
    SettingKind::Text,
    "",
    "The file of Piper's voice, NAME.onnx with NAME.onnx.json beside it.",
)
.live()];

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "Speech by Piper".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Tts),
        port: PortChoice::Free,
        health: Some(HealthProbe::Path("/health".to_owned())),
        licence: Some("Piper: MIT or GPL-3.0, by version; each voice has its own".to_owned()),
        ..ServiceDescriptor::defaults(NAME)
    }
}

fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let Some(program) = find_on_path(context.env, "piper") else {
        let why = "Piper is not installed. Install it with 'pipx install piper-tts', get a voice (NAME.onnx and NAME.onnx.json) and name it: hob config set piper.voice FILE.";
        return FoundService::Missing {
            why: why.to_owned(),
        };
    };
    let voice = match named_file(context, "piper.voice", "Piper's voice, a file NAME.onnx") {
        Ok(voice) => voice,
        Err(why) => return FoundService::Missing { why },
    };
    let what = format!("{} with {}", program.display(), voice.display());
    tts::server_command(context, NAME, &program, Some(&voice), what)
}
