//! Piper: a neural voice from a file, by the program `piper`, behind hob's own speech server.

use super::named_file;
use crate::descriptor::{Descriptor, Health, Kind, Port};
use crate::found::{Entry, Found, Place};
use crate::install::programs::on_path;
use crate::tts;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_wire::rooms::service::ServiceRole;

const NAME: &str = "piper";

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(async move { find(place) })),
    install: None,
};

pub const KEYS: &[Key] = &[Key::new(
    "piper.voice",
    SettingKind::Text,
    "",
    "The file of Piper's voice, NAME.onnx with NAME.onnx.json beside it.",
)
.live()];

fn descriptor() -> Descriptor {
    Descriptor {
        about: "Speech by Piper".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Tts),
        port: Port::Free,
        health: Some(Health::Path("/health".to_owned())),
        licence: Some("Piper: MIT or GPL-3.0, by version; each voice has its own".to_owned()),
        ..Descriptor::defaults(NAME)
    }
}

fn find(place: &Place<'_>) -> Found {
    let Some(program) = on_path(place.env, "piper") else {
        let why = "Piper is not installed. Install it with 'pipx install piper-tts', get a voice (NAME.onnx and NAME.onnx.json) and name it: hob config set piper.voice FILE.";
        return Found::Missing {
            why: why.to_owned(),
        };
    };
    let voice = match named_file(place, "piper.voice", "Piper's voice, a file NAME.onnx") {
        Ok(voice) => voice,
        Err(why) => return Found::Missing { why },
    };
    let what = format!("{} with {}", program.display(), voice.display());
    tts::command(place, NAME, &program, Some(&voice), what)
}
