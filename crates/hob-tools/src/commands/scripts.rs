//! The files a command line runs, as far as it plainly names them: `./build.sh`, `bash build.sh`,
//! `cd tools && python3 gen.py`. A person sees what is in them, and the approval is bound to it.
//!
//! Invariant: bounded in files and bytes; only files below the workspace are opened. What a command
//! line hides from this (variables, quotes, a Makefile) is shown as the line itself, no more.

use crate::beneath;
use crate::spot::hash;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

/// Scripts shown of one command line.
const SCRIPTS_MAX: usize = 4;
/// Simple commands looked at.
const COMMANDS_MAX: usize = 16;
/// Bytes shown of one.
const SHOWN_BYTES_MAX: usize = 8 * 1024;
/// Bytes of the largest script that is read.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] = &[
    ".", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "python",
    "python3", "ruby", "sh", "source", "zsh",
];
/// Words before a program that are not the program.
const BEFORE: &[&str] = &[
    "do", "else", "env", "exec", "if", "nice", "nohup", "setsid", "then", "time", "while",
];

/// A file that would be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// Below the workspace.
    pub(super) path: String,
    bytes: Vec<u8>,
}

impl Script {
    /// Its beginning, as text.
    pub(super) fn shown(&self) -> String {
        if self.bytes.contains(&0) {
            return format!("(a program of {} bytes)\n", self.bytes.len());
        }
        let head = &self.bytes[..self.bytes.len().min(SHOWN_BYTES_MAX)];
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let left = self.bytes.len() - head.len();
        if left > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "… ({left} more bytes)");
        }
        text
    }

    pub(super) fn mark(&self) -> String {
        format!("{}={}", self.path, hash(&self.bytes))
    }
}

/// The scripts that `command` names, run in the folder `below` the workspace `root`.
pub(super) fn named(command: &str, root: &OwnedFd, below: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    let mut folder = below.to_owned();
    let simple = command.split(['\n', ';', '&', '|', '(', ')', '{', '}']);
    for simple in simple.take(COMMANDS_MAX) {
        let words: Vec<String> = simple.split_whitespace().map(plain).collect();
        let assigned = |word: &str| word.contains('=') && !word.contains('/');
        let before = |word: &&String| assigned(word) || BEFORE.contains(&word.as_str());
        let mut words = words.iter().skip_while(before);
        let Some(program) = words.next() else {
            continue;
        };
        if program == "cd" {
            if let Some(into) = words.next() {
                folder = format!("{folder}/{into}");
            }
            continue;
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        let script = if INTERPRETERS.contains(&name) {
            words.find(|word| !word.starts_with('-'))
        } else {
            Some(program).filter(|program| program.contains('/'))
        };
        let Some(script) = script else { continue };
        if let Some(found) = read(root, &folder, script)
            && !scripts.contains(&found)
            && scripts.len() < SCRIPTS_MAX
        {
            scripts.push(found);
        }
    }
    scripts
}

/// A word without the quotes around it.
fn plain(word: &str) -> String {
    word.trim_matches(['"', '\'']).to_owned()
}

fn read(root: &OwnedFd, folder: &str, name: &str) -> Option<Script> {
    let path = if name.starts_with('/') {
        let lies = beneath::real_path(root).ok()?;
        let below = std::path::Path::new(name).strip_prefix(lies).ok()?;
        below.to_str()?.to_owned()
    } else {
        format!("{folder}/{name}")
    };
    beneath::check_path(&path).ok()?;
    // Without waiting for the other end of a pipe; nothing but a file is read.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened = rustix::fs::openat2(root, &path, flags, Mode::empty(), within).ok()?;
    let file = File::from(opened);
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > SCRIPT_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(SCRIPT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let steps = path
        .split('/')
        .filter(|step| !step.is_empty() && *step != ".");
    let path = steps.collect::<Vec<_>>().join("/");
    Some(Script { path, bytes })
}

#[cfg(test)]
#[path = "scripts_tests.rs"]
mod tests;
