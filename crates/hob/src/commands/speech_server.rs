//! `hob speech-server`: the process of the services `tts` and `piper`. Only the supervisor starts it,
//! so no help page lists it.

use hob_exec::{Spawner, SpawnerParts};
use hob_kit::host_environment::EnvVars;
use hob_kit::tasks::TaskGroup;
use hob_services::tts::{self, SpeechServerParts};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Serves until it is stopped. Errors go to stderr, which is the service's log.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            crate::terminal::Terminal::note(why);
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &[OsString]) -> Result<(), String> {
    let parts = read(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("The runtime does not start: {error}."))?;
    let served = runtime.block_on(tts::serve(parts));
    served.map_err(|error| format!("Speech cannot be served: {error}."))
}

/// `--port PORT --program FILE [--voice FILE] [--hidden FOLDER]…`
fn read(arguments: &[OsString]) -> Result<SpeechServerParts, String> {
    let (mut port, mut program, mut voice_file, mut hidden) = (None, None, None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or("An argument has no value.")?;
        match name.to_str() {
            Some("--port") => port = value.to_str().and_then(|port| port.parse().ok()),
            Some("--program") => program = Some(PathBuf::from(value)),
            Some("--voice") => voice_file = Some(PathBuf::from(value)),
            Some("--hidden") => hidden.push(PathBuf::from(value)),
            _ => return Err(format!("Unknown argument '{}'.", name.display())),
        }
    }
    Ok(SpeechServerParts {
        port: port.ok_or("Give a port.")?,
        program: program.ok_or("Give the program that speaks.")?,
        voice_file,
        hidden,
        spawner: Spawner::new(SpawnerParts {
            shim: hob_exec::spawner::own_shim(),
            env: EnvVars::capture(),
            tasks: TaskGroup::new(),
            sandbox_support: None,
        }),
    })
}
