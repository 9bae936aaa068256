//! Models on Apple's processors, by the servers of `mlx-lm` and `mlx-vlm`.

use crate::descriptor::{Descriptor, Guard, Health, Kind, Port};
use crate::found::{Entry, Found, Place};
use crate::install::programs::on_path;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_wire::rooms::service::ServiceRole;
use std::time::Duration;

pub const LM: Entry = Entry {
    descriptor: || MLX_LM.descriptor(),
    find: Some(|place| Box::pin(async move { MLX_LM.find(place) })),
    install: None,
};
pub const VLM: Entry = Entry {
    descriptor: || MLX_VLM.descriptor(),
    find: Some(|place| Box::pin(async move { MLX_VLM.find(place) })),
    install: None,
};

pub const KEYS: &[Key] = &[
    Key::new(
        "mlx.model",
        SettingKind::Text,
        "mlx-community/Qwen2.5-0.5B-Instruct-4bit",
        "The model that mlx-lm serves, by its name at Hugging Face or its folder.",
    )
    .live(),
    Key::new(
        "mlx.vision_model",
        SettingKind::Text,
        "mlx-community/Qwen2-VL-2B-Instruct-4bit",
        "The model that mlx-vlm serves, by its name at Hugging Face or its folder.",
    )
    .live(),
];

/// One of the two; they differ in their words only.
struct Server {
    name: &'static str,
    about: &'static str,
    role: ServiceRole,
    program: &'static str,
    setting: &'static str,
    health: &'static str,
}

const MLX_LM: Server = Server {
    name: "mlx-lm",
    about: "A language model on Apple's processors",
    role: ServiceRole::Llm,
    program: "mlx_lm.server",
    setting: "mlx.model",
    health: "/health",
};
const MLX_VLM: Server = Server {
    name: "mlx-vlm",
    about: "A model that sees, on Apple's processors",
    role: ServiceRole::Vlm,
    program: "mlx_vlm.server",
    setting: "mlx.vision_model",
    health: "/health",
};

impl Server {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            about: self.about.to_owned(),
            kind: Kind::Http,
            role: Some(self.role),
            port: Port::Free,
            health: Some(Health::Path(self.health.to_owned())),
            // The first start may fetch a model.
            ready: Duration::from_mins(30),
            idle: Some(Duration::from_mins(10)),
            guard: Guard {
                os: vec!["macos".to_owned()],
                arch: vec!["aarch64".to_owned()],
            },
            licence: Some("MIT; each model has its own".to_owned()),
            ..Descriptor::defaults(self.name)
        }
    }

    fn find(&self, place: &Place<'_>) -> Found {
        let Some(program) = on_path(place.env, self.program) else {
            return Found::Missing {
                why: format!(
                    "{} is not on the path. Install it with 'pipx install {}'.",
                    self.program, self.name
                ),
            };
        };
        let model = place.settings.text(self.setting).trim().to_owned();
        let words = ["--host", "127.0.0.1", "--port", "{port}", "--model", &model];
        let mut argv = vec![program.clone().into_os_string()];
        argv.extend(words.iter().map(std::ffi::OsString::from));
        Found::Command {
            argv,
            env: Vec::new(),
            cwd: place.home.service(self.name),
            what: format!("{} with {model}", program.display()),
            model: Some(model),
            modest: false,
        }
    }
}
