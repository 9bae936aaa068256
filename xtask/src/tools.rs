//! Programs beyond cargo that tests need. What may be installed here is installed; what may not
//! is named with the exact command to run. A test whose tool is missing says that it was not run,
//! and fails when `CI=true`.

use crate::shell;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// A program and how to get it.
struct Tool {
    name: &'static str,
    /// Any of these, asked for its version, shows that it is there.
    probes: &'static [&'static str],
    package: Package,
    /// What stays untested without it.
    needed_by: &'static str,
}

#[derive(Clone, Copy)]
enum Package {
    Apt(&'static str),
    /// Installed below the target folder, never globally.
    Npm(&'static str),
}

// Node comes before what npm installs.
const TOOLS: &[Tool] = &[
    Tool {
        name: "strace",
        probes: &["strace"],
        package: Package::Apt("strace"),
        needed_by: "faults 7 and 8 (failing fsync and write calls)",
    },
    Tool {
        name: "bubblewrap",
        probes: &["bwrap"],
        package: Package::Apt("bubblewrap"),
        needed_by: "the stronger level of the sandbox (faults 60 to 75)",
    },
    Tool {
        name: "curl",
        probes: &["curl"],
        package: Package::Apt("curl"),
        needed_by: "fault 68 (network off)",
    },
    Tool {
        name: "python3",
        probes: &["python3"],
        package: Package::Apt("python3"),
        needed_by: "the outside service in Python",
    },
    Tool {
        name: "chromium",
        probes: &["chromium", "chromium-browser", "google-chrome"],
        package: Package::Apt("chromium"),
        needed_by: "fault 39 (a page of another origin in a real browser)",
    },
    Tool {
        name: "node",
        probes: &["node"],
        package: Package::Apt("nodejs npm"),
        needed_by: "tsc",
    },
    Tool {
        name: "tsc",
        probes: &["tsc"],
        package: Package::Npm("typescript@5.9"),
        needed_by: "the type check of docs/wire.ts",
    },
];

/// Where tools of the second kind lie, and what the tests' `PATH` becomes with them.
pub(crate) struct Toolbox {
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
        };
        let mut apt_is_fresh = false;
        for tool in TOOLS {
            if !toolbox.has(tool) {
                toolbox.install(tool, &folder, &mut apt_is_fresh)?;
            }
            let line = if toolbox.has(tool) {
                format!("{:<10} there", tool.name)
            } else {
                format!(
                    "{:<10} MISSING, not run: {}. Get it with `{}`",
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
        tool.probes
            .iter()
            .any(|probe| shell::quietly(self.equip(shell::program(probe).arg("--version"))))
    }

    fn install(&self, tool: &Tool, folder: &Path, apt_is_fresh: &mut bool) -> Result<()> {
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
                std::fs::create_dir_all(folder)?;
                let mut install = shell::program("npm");
                install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
                shell::quietly(self.equip(install.arg(folder).arg(package)));
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
        Package::Npm(package) => format!("npm install --global {package}"),
    }
}
