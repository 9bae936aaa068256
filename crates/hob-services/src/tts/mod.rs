//! Speech on this machine: espeak-ng behind `POST /tts` and OpenAI's `POST /v1/audio/speech`.
//!
//! - `speech_program`: runs the program in the sandbox, one process per text
//! - `voices`: the voices of espeak-ng; `server`: the HTTP server of [`serve`]
//!
//! The process is hob itself (`hob speech-server`), so only espeak-ng must be installed.
//! Invariants: text reaches espeak-ng only through stdin; a voice is passed only if espeak-ng has
//! it; the lengths in the WAV header are correct.

mod server;
mod speech_program;
mod voices;

pub use server::{SpeechServerParts, serve};

use crate::descriptor::{HealthProbe, PortChoice, ServiceDescriptor, ServiceKind};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::programs::find_on_path;
use hob_wire::rooms::service::ServiceRole;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

pub const NAME: &str = "tts";
/// The hidden subcommand of hob that runs this service.
pub const SUBCOMMAND: &str = "speech-server";
/// The supported programs, the better one first.
const PROGRAMS: [&str; 2] = ["espeak-ng", "espeak"];
/// Package managers, and the command that installs espeak-ng with each.
const INSTALLERS: [(&str, &str); 6] = [
    ("apt-get", "sudo apt install espeak-ng"),
    ("dnf", "sudo dnf install espeak-ng"),
    ("pacman", "sudo pacman -S espeak-ng"),
    ("zypper", "sudo zypper install espeak-ng"),
    ("apk", "sudo apk add espeak-ng"),
    ("brew", "brew install espeak-ng"),
];

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(async move { find(context) })),
    install: None,
};

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "Speech by espeak-ng".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Tts),
        aliases: vec!["kokomo".to_owned()],
        port: PortChoice::Free,
        health: Some(HealthProbe::Path("/health".to_owned())),
        ready: Duration::from_secs(15),
        idle: Some(Duration::from_mins(30)),
        licence: Some("espeak-ng: GPL-3.0-or-later (of your system; not shipped)".to_owned()),
        ..ServiceDescriptor::defaults(NAME)
    }
}

fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let Some(program) = PROGRAMS
        .iter()
        .find_map(|name| find_on_path(context.env, name))
    else {
        return FoundService::Missing {
            why: missing_message(context),
        };
    };
    let what = program.display().to_string();
    server_command(context, NAME, &program, None, what)
}

/// Returns the command of a speech server for `program`; with a voice file it is Piper.
pub(crate) fn server_command(
    context: &DiscoveryContext<'_>,
    name: &str,
    program: &Path,
    voice_file: Option<&Path>,
    what: String,
) -> FoundService {
    // The shim that resolves this link is hob itself, even if its file on disk was replaced.
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
    // The speech program must not read hob's own files.
    for folder in context.home.folders() {
        argv.extend(["--hidden".into(), folder.into()]);
    }
    FoundService::Command {
        argv,
        env: Vec::new(),
        cwd: context.home.service(name),
        what,
        model: None,
        modest: false,
    }
}

fn missing_message(context: &DiscoveryContext<'_>) -> String {
    let known = INSTALLERS
        .iter()
        .find(|(program, _)| find_on_path(context.env, program).is_some());
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
