//! Which tmux there is, and what to say when there is none.

use crate::{detached, look_up};
use hob_kit::world::Env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The oldest tmux that will do: control clients without output and panes' own options.
pub const VERSION_MIN: (u32, u32) = (3, 2);
const NAME: &str = "tmux";

/// How tmux is installed, by the program that would do it.
const INSTALLS: &[(&str, &str)] = &[
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

/// A tmux that will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tmux {
    pub program: PathBuf,
    /// As it says itself, such as `3.3a`.
    pub version: String,
}

/// Why terminals cannot be had here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("Terminals need tmux, which is not installed; run: {install}")]
    Tmux { install: String },
    #[error("There is no program '{name}', which the setting terminal.tmux names.")]
    Named { name: String },
    #[error("tmux {version} is too old for terminals, which need {}.{} or newer; run: {install}", VERSION_MIN.0, VERSION_MIN.1)]
    Old { version: String, install: String },
    #[error("'{}' does not say which tmux it is: {reason}.", program.display())]
    Broken { program: PathBuf, reason: String },
}

impl Tmux {
    /// The tmux of the setting (`terminal.tmux`), or the one in the path.
    pub async fn find(env: &Env, setting: Option<&str>) -> Result<Tmux, Missing> {
        let install = || install(env);
        let named = setting.filter(|name| !name.is_empty());
        let found = look_up(named.unwrap_or(NAME), env);
        let program = found.ok_or_else(|| match named {
            Some(name) => Missing::Named {
                name: name.to_owned(),
            },
            None => Missing::Tmux { install: install() },
        })?;
        let argv: [OsString; 2] = [program.clone().into(), "-V".into()];
        let broken = |reason: String| Missing::Broken {
            program: program.clone(),
            reason,
        };
        let variables = detached::variables(env, &[]);
        let output = detached::answer(&argv, Path::new("/"), variables)
            .await
            .map_err(|error| broken(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = said.strip_prefix("tmux ").unwrap_or(&said).to_owned();
        match numbers(&version) {
            Some(numbers) if numbers >= VERSION_MIN => Ok(Tmux { program, version }),
            Some(_) => Err(Missing::Old {
                version,
                install: install(),
            }),
            None => Err(broken(format!("it answered '{said}'"))),
        }
    }
}

/// The two numbers of a version: of `3.3a`, `next-3.5` or `openbsd-7.4`. One built from its
/// source's newest state calls itself `master`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    if version == "master" {
        return Some((u32::MAX, 0));
    }
    let text = version.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let (major, rest) = text.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn install(env: &Env) -> String {
    let here = |program: &str| look_up(program, env).is_some();
    let found = INSTALLS.iter().find(|(program, _)| here(program));
    let command = found.map_or("install the package 'tmux'", |(_, command)| command);
    if rustix::process::getuid().is_root() {
        command.trim_start_matches("sudo ").to_owned()
    } else {
        command.to_owned()
    }
}

#[cfg(test)]
#[path = "found_tests.rs"]
mod tests;
