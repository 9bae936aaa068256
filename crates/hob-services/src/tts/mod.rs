//! Speech on this machine: espeak-ng behind `POST /tts` and OpenAI's `POST /v1/audio/speech`.
//!
//! - `speaker`: the program, run in the sandbox, a process for each text
//! - `voices`: which voices it has; `server`: what [`serve`] answers
//!
//! The process is hob itself (`hob speech-server`), so that nothing is installed but espeak-ng.
//! Invariants: a text reaches espeak-ng only by its stdin, and a voice only if it has that voice;
//! the WAV's lengths are true.

mod server;
mod speaker;
mod voices;

pub use server::{ServeParts, serve};

use crate::descriptor::{Descriptor, Health, Kind, Port};
use crate::found::{Entry, Found, Place};
use crate::install::programs::on_path;
use hob_wire::rooms::service::ServiceRole;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

pub const NAME: &str = "tts";
/// The hidden command of hob that is this service.
pub const SUBCOMMAND: &str = "speech-server";
/// The programs that can speak here, the better one first.
const PROGRAMS: [&str; 2] = ["espeak-ng", "espeak"];
/// Package managers, and what installs espeak-ng with each.
const INSTALLERS: [(&str, &str); 6] = [
    ("apt-get", "sudo apt install espeak-ng"),
    ("dnf", "sudo dnf install espeak-ng"),
    ("pacman", "sudo pacman -S espeak-ng"),
    ("zypper", "sudo zypper install espeak-ng"),
    ("apk", "sudo apk add espeak-ng"),
    ("brew", "brew install espeak-ng"),
];

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(async move { find(place) })),
    install: None,
};

fn descriptor() -> Descriptor {
    Descriptor {
        about: "Speech by espeak-ng".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Tts),
        aliases: vec!["kokomo".to_owned()],
        port: Port::Free,
        health: Some(Health::Path("/health".to_owned())),
        ready: Duration::from_secs(15),
        idle: Some(Duration::from_mins(30)),
        licence: Some("espeak-ng: GPL-3.0-or-later (of your system; not shipped)".to_owned()),
        ..Descriptor::defaults(NAME)
    }
}

fn find(place: &Place<'_>) -> Found {
    let Some(program) = PROGRAMS.iter().find_map(|name| on_path(place.env, name)) else {
        return Found::Missing {
            why: missing(place),
        };
    };
    let what = program.display().to_string();
    command(place, NAME, &program, None, what)
}

/// How a speech server around `program` is started; with a voice's file it is Piper.
pub(crate) fn command(
    place: &Place<'_>,
    name: &str,
    program: &Path,
    voice_file: Option<&Path>,
    what: String,
) -> Found {
    // This very program, also when its file was replaced: the shim that starts it is the same.
    let mut argv: Vec<OsString> = vec![
        "/proc/self/exe".into(),
        SUBCOMMAND.into(),
        "--port".into(),
        "{port}".into(),
        "--program".into(),
        program.into(),
    ];
    if let Some(file) = voice_file {
        argv.extend(["--voice".into(), file.into()]);
    }
    for folder in place.home.folders() {
        argv.extend(["--hidden".into(), folder.into()]);
    }
    Found::Command {
        argv,
        env: Vec::new(),
        cwd: place.home.service(name),
        what,
        model: None,
        modest: false,
    }
}

fn missing(place: &Place<'_>) -> String {
    let known = INSTALLERS
        .iter()
        .find(|(program, _)| on_path(place.env, program).is_some());
    match known {
        Some((_, command)) => {
            format!("The program espeak-ng is not installed. Install it with '{command}'.")
        }
        None => {
            "The program espeak-ng is not installed. Install it with your system's package manager."
                .to_owned()
        }
    }
}

#[cfg(test)]
#[path = "tts_tests.rs"]
mod tests;
