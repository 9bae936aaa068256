//! Finds a usable tmux, or explains how to install one.

use crate::{detached, find_program};
use hob_kit::host_environment::EnvVars;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The oldest usable tmux: it has control clients without output, and options of panes.
pub const VERSION_MIN: (u32, u32) = (3, 2);
const NAME: &str = "tmux";

/// Package managers, and the command that installs tmux with each.
const INSTALL_COMMANDS: &[(&str, &str)] = &[
    ("apt-get", "sudo apt install tmux"),
    ("dnf", "sudo dnf install tmux"),
    ("pacman", "sudo pacman -S tmux"),
    ("zypper", "sudo zypper install tmux"),
    ("apk", "sudo apk add tmux"),
    ("xbps-install", "sudo xbps-install tmux"),
    ("emerge", "sudo emerge app-misc/tmux"),
    ("nix-env", "nix-env -iA nixpkgs.tmux"),
    ("brew", "brew install tmux"),
];

/// A usable tmux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmuxProgram {
    pub program: PathBuf,
    /// The version as tmux prints it, such as `3.3a`.
    pub version: String,
}

/// The reason why there are no terminals here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TmuxMissing {
    #[error("Terminals need tmux, which is not installed; run: {install}")]
    Tmux { install: String },
    #[error("There is no program '{name}', which the setting terminal.tmux names.")]
    Named { name: String },
    #[error("tmux {version} is too old for terminals, which need {}.{} or newer; run: {install}", VERSION_MIN.0, VERSION_MIN.1)]
    Old { version: String, install: String },
    #[error("'{}' does not say which tmux it is: {reason}.", program.display())]
    Broken { program: PathBuf, reason: String },
}

impl TmuxProgram {
    /// Finds the tmux of the setting `terminal.tmux`, or the one on the path.
    pub async fn find(env: &EnvVars, setting: Option<&str>) -> Result<TmuxProgram, TmuxMissing> {
        let install = || install_command(env);
        let named = setting.filter(|name| !name.is_empty());
        let found = find_program(named.unwrap_or(NAME), env);
        let program = found.ok_or_else(|| match named {
            Some(name) => TmuxMissing::Named {
                name: name.to_owned(),
            },
            None => TmuxMissing::Tmux { install: install() },
        })?;
        let argv: [OsString; 2] = [program.clone().into(), "-V".into()];
        let broken = |reason: String| TmuxMissing::Broken {
            program: program.clone(),
            reason,
        };
        let variables = detached::variables(env, &[]);
        let output = detached::run_for_output(&argv, Path::new("/"), variables)
            .await
            .map_err(|error| broken(error.to_string()))?;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = answer.strip_prefix("tmux ").unwrap_or(&answer).to_owned();
        match parse_version(&version) {
            Some(numbers) if numbers >= VERSION_MIN => Ok(TmuxProgram { program, version }),
            Some(_) => Err(TmuxMissing::Old {
                version,
                install: install(),
            }),
            None => Err(broken(format!("it answered '{answer}'"))),
        }
    }
}

/// Parses the numbers of a version such as `3.3a`, `next-3.5` or `openbsd-7.4`. A development build
/// prints `master`.
fn parse_version(version: &str) -> Option<(u32, u32)> {
    if version == "master" {
        return Some((u32::MAX, 0));
    }
    let text = version.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let (major, rest) = text.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn install_command(env: &EnvVars) -> String {
    let here = |program: &str| find_program(program, env).is_some();
    let found = INSTALL_COMMANDS.iter().find(|(program, _)| here(program));
    let command = found.map_or("install the package 'tmux'", |(_, command)| command);
    if rustix::process::getuid().is_root() {
        command.trim_start_matches("sudo ").to_owned()
    } else {
        command.to_owned()
    }
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
