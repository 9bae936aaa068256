//! Models on Apple processors, with the servers of `mlx-lm` and `mlx-vlm`.

use crate::descriptor::{HealthProbe, PlatformGuard, PortChoice, ServiceDescriptor, ServiceKind};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::programs::find_on_path;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::time::Duration;

pub const LM: ShippedService = ShippedService {
    descriptor: || MLX_LM.descriptor(),
    find: Some(|context| Box::pin(async move { MLX_LM.find(context) })),
    install: None,
};
pub const VLM: ShippedService = ShippedService {
    descriptor: || MLX_VLM.descriptor(),
    find: Some(|context| Box::pin(async move { MLX_VLM.find(context) })),
    install: None,
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "mlx.model",
        SettingKind::Text,
        "mlx-community/Qwen2.5-0.5B-Instruct-4bit",
        "The model that mlx-lm serves, by its name at Hugging Face or its folder.",
    )
    .live(),
    SettingKey::new(
        "mlx.vision_model",
        SettingKind::Text,
        "mlx-community/Qwen2-VL-2B-Instruct-4bit",
        "The model that mlx-vlm serves, by its name at Hugging Face or its folder.",
    )
    .live(),
];

/// The data of one of the two servers.
struct MlxServer {
    name: &'static str,
    about: &'static str,
    role: ServiceRole,
    program: &'static str,
    setting: &'static str,
    health: &'static str,
}

const MLX_LM: MlxServer = MlxServer {
    name: "mlx-lm",
    about: "A language model on Apple's processors",
    role: ServiceRole::Llm,
    program: "mlx_lm.server",
    setting: "mlx.model",
    health: "/health",
};
const MLX_VLM: MlxServer = MlxServer {
    name: "mlx-vlm",
    about: "A model that sees, on Apple's processors",
    role: ServiceRole::Vlm,
    program: "mlx_vlm.server",
    setting: "mlx.vision_model",
    health: "/health",
};

impl MlxServer {
    fn descriptor(&self) -> ServiceDescriptor {
        ServiceDescriptor {
            about: self.about.to_owned(),
            kind: ServiceKind::Http,
            role: Some(self.role),
            port: PortChoice::Free,
            health: Some(HealthProbe::Path(self.health.to_owned())),
            // The first start may download a model.
            ready: Duration::from_mins(30),
            idle: Some(Duration::from_mins(10)),
            guard: PlatformGuard {
                os: vec!["macos".to_owned()],
                arch: vec!["aarch64".to_owned()],
            },
            licence: Some("MIT; each model has its own".to_owned()),
            ..ServiceDescriptor::defaults(self.name)
        }
    }

    fn find(&self, context: &DiscoveryContext<'_>) -> FoundService {
        let Some(program) = find_on_path(context.env, self.program) else {
            return FoundService::Missing {
                why: format!(
                    "{} is not on the path. Install it with 'pipx install {}'.",
                    self.program, self.name
                ),
            };
        };
        let model = context.settings.text(self.setting).trim().to_owned();
        let words = ["--host", "127.0.0.1", "--port", "{port}", "--model", &model];
        let mut argv = vec![program.clone().into_os_string()];
        argv.extend(words.iter().map(std::ffi::OsString::from));
        FoundService::Command {
            argv,
            env: Vec::new(),
            cwd: context.home.service(self.name),
            what: format!("{} with {model}", program.display()),
            model: Some(model),
            modest: false,
        }
    }
}
