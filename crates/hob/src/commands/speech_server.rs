//! `hob speech-server`: the process of the services `tts` and `piper`. The supervisor starts it; no person does, so
//! it stands in no list.

use hob_exec::{Spawner, SpawnerParts};
use hob_kit::tasks::Tasks;
use hob_kit::world::Env;
use hob_services::tts::{self, ServeParts};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Serves until it is ended; what goes wrong is for the service's log.
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
fn read(arguments: &[OsString]) -> Result<ServeParts, String> {
    let (mut port, mut program, mut voice_file, mut hidden) = (None, None, None, Vec::new());
    let mut words = arguments.iter();
    while let Some(name) = words.next() {
        let value = words.next().ok_or("An argument has no value.")?;
        match name.to_str() {
            Some("--port") => port = value.to_str().and_then(|port| port.parse().ok()),
            Some("--program") => program = Some(PathBuf::from(value)),
            Some("--voice") => voice_file = Some(PathBuf::from(value)),
            Some("--hidden") => hidden.push(PathBuf::from(value)),
            _ => return Err(format!("There is no argument '{}'.", name.display())),
        }
    }
    Ok(ServeParts {
        port: port.ok_or("Give a port.")?,
        program: program.ok_or("Give the program that speaks.")?,
        voice_file,
        hidden,
        spawner: Spawner::new(SpawnerParts {
            shim: hob_exec::spawner::own_shim(),
            env: Env::capture(),
            tasks: Tasks::new(),
            facts: None,
        }),
    })
}
