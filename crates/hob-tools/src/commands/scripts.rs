//! The files that a command line names and runs. A person sees their content, and the run gets
//! exactly those bytes.
//!
//! Invariants: files and bytes are bounded; only regular files below the given root are opened; a
//! named file that cannot be shown or bound is reported. Files that a script loads, and commands
//! of a Makefile or of package scripts, are not examined.

use super::script_calls::{ScriptUse, script_use};
use crate::workspace_dir;
use crate::workspace_path::sha256_hex;
use hob_core::command_line::{FolderVariable, ShellCommand, ShellCommands, ShellWord};
use hob_exec::BoundFile;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Scripts shown of one command line.
const SCRIPTS_MAX: usize = 8;
/// Bytes shown of one script.
const SHOWN_BYTES_MAX: usize = 8 * 1024;
/// Bytes of all scripts of a line together.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;
/// Levels of nested command lines.
const NESTING_MAX: usize = 4;
/// Notes about files that are not shown.
const NOTES_MAX: usize = 8;
/// A note for every script.
pub(crate) const LOADS_NOTE: &str = "Files that the script loads are not shown and not bound.";

/// The context in which a command line runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptContext<'p> {
    /// A real path; only files below it are opened.
    pub(crate) root: &'p Path,
    /// The initial working directory; none if it is unknown.
    pub(crate) folder: Option<&'p Path>,
    pub(crate) home: Option<&'p Path>,
    /// Folders that are never shown.
    pub(crate) hidden: &'p [PathBuf],
}

/// A file that the command would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptFile {
    /// The path as a person sees it.
    path: String,
    named: PathBuf,
    real: PathBuf,
    bytes: Vec<u8>,
    mode: u32,
}

/// The scripts of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandScripts {
    found: Vec<ScriptFile>,
    /// Notes about named files that cannot be shown.
    notes: Vec<String>,
    /// True if the line is one command that opens its one script first.
    opens_at_start: bool,
}

impl CommandScripts {
    /// The files that `command` names.
    pub(crate) fn find(command: &str, place: &ScriptContext<'_>) -> CommandScripts {
        let mut reader = ScriptFinder {
            place,
            folders: vec![place.folder.map(Path::to_owned)],
            bytes_left: SCRIPT_BYTES_MAX,
            nesting: 0,
            has_inner: false,
            scripts: CommandScripts::default(),
        };
        let line = ShellCommands::parse(command, 0);
        for command in &line.commands {
            reader.take(command);
        }
        let mut scripts = reader.scripts;
        // A loop or a line within the line may open its script later, or again.
        let is_plain = line.commands.len() == 1 && !line.has_grammar && !reader.has_inner;
        scripts.opens_at_start = is_plain && scripts.found.len() == 1;
        scripts
    }

    /// The text for a person; empty if nothing is named.
    pub(crate) fn preview(&self, is_bound: bool) -> String {
        let mut text = String::new();
        for script in &self.found {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n--- {} ---\n{}", script.path, script.preview());
        }
        if self.found.is_empty() && self.notes.is_empty() {
            return text;
        }
        text.push('\n');
        if !self.found.is_empty() {
            let told = if is_bound {
                "These bytes are what runs."
            } else {
                "The script is not bound: it could be replaced before it runs."
            };
            let _ = writeln!(text, "{told} {LOADS_NOTE}");
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    /// A string that differs for different scripts.
    pub(crate) fn fingerprint(&self) -> String {
        let found = self.found.iter().map(ScriptFile::fingerprint);
        let all = found.chain(self.notes.iter().cloned());
        all.collect::<Vec<_>>().join("|")
    }

    /// The files as a sandbox binds them.
    pub(crate) fn bound_files(&self) -> Vec<BoundFile> {
        let bound = |script: &ScriptFile| BoundFile {
            path: script.real.clone(),
            named: script.named.clone(),
            bytes: script.bytes.clone(),
            mode: script.mode,
            opens_at_start: self.opens_at_start,
        };
        self.found.iter().map(bound).collect()
    }

    #[cfg(test)]
    fn paths(&self) -> Vec<&str> {
        self.found
            .iter()
            .map(|script| script.path.as_str())
            .collect()
    }
}

impl ScriptFile {
    /// The beginning of the file, as text.
    fn preview(&self) -> String {
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
            let _ = writeln!(text, "… ({left} more bytes)");
        }
        text
    }

    fn fingerprint(&self) -> String {
        format!("{}={:o}:{}", self.path, self.mode, sha256_hex(&self.bytes))
    }
}

struct ScriptFinder<'p> {
    place: &'p ScriptContext<'p>,
    /// The working directory for each level of subshell.
    folders: Vec<Option<PathBuf>>,
    bytes_left: u64,
    /// The current level of nested command lines: `bash -c`, `eval`.
    nesting: usize,
    /// True if there was such a line.
    has_inner: bool,
    scripts: CommandScripts,
}

impl ScriptFinder<'_> {
    fn take(&mut self, command: &ShellCommand) {
        let outer = self.folders.last().cloned().flatten();
        self.folders.resize(command.depth + 1, outer);
        match script_use(command) {
            ScriptUse::ChangeFolder(into) => {
                let folder = into.and_then(|into| self.path(&into).ok());
                if let Some(last) = self.folders.last_mut() {
                    *last = folder;
                }
            }
            ScriptUse::Inner(_) if self.nesting == NESTING_MAX => {
                self.note("Lines within lines are not shown and not bound.".to_owned());
            }
            ScriptUse::Inner(commands) => {
                self.nesting += 1;
                self.has_inner = true;
                for command in &commands {
                    self.take(command);
                }
                self.nesting -= 1;
            }
            ScriptUse::Scripts(named) => {
                for named in &named {
                    self.add(named);
                }
            }
            ScriptUse::NotShown(note) => self.note(note),
            ScriptUse::Other => {}
        }
    }

    fn add(&mut self, named: &ShellWord) {
        let shown = workspace_dir::shorten(named.text());
        if !named.is_known() {
            self.note(format!(
                "'{shown}' is a script whose name is decided when it runs: it is not shown and not bound."
            ));
            return;
        }
        let Ok(path) = self.path(named) else {
            self.note(format!(
                "The folder that '{shown}' lies in is not known before it runs: it is not shown and not bound."
            ));
            return;
        };
        match self.read(&path) {
            Ok(Some(script)) => {
                let is_new = self
                    .scripts
                    .found
                    .iter()
                    .all(|old| old.named != script.named);
                if is_new && self.scripts.found.len() < SCRIPTS_MAX {
                    self.bytes_left -= script.bytes.len() as u64;
                    self.scripts.found.push(script);
                } else if is_new {
                    self.note(format!(
                        "'{shown}' is one script too many: it is not bound."
                    ));
                }
            }
            // A program of the system, which no sandboxed command can change.
            Ok(None) => {}
            Err(why) => self.note(format!("'{shown}' {why}: it is not shown and not bound.")),
        }
    }

    fn note(&mut self, note: String) {
        let notes = &mut self.scripts.notes;
        if notes.len() < NOTES_MAX && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The absolute path of a word, relative to the current working directory.
    fn path(&self, word: &ShellWord) -> Result<PathBuf, ()> {
        let folder = self.folders.last().and_then(Option::as_deref);
        let (base, rest) = word.path().ok_or(())?;
        let base = match base {
            None if rest.starts_with('/') => return Ok(PathBuf::from(rest)),
            None => return Ok(folder.ok_or(())?.join(rest)),
            Some(FolderVariable::Current) => folder,
            Some(FolderVariable::Home) => self.place.home,
        };
        let mut path = base.ok_or(())?.as_os_str().to_owned();
        path.push(rest);
        Ok(PathBuf::from(path))
    }

    /// Reads a file; `None` for one outside the root. The error says why it cannot be shown.
    fn read(&self, named: &Path) -> Result<Option<ScriptFile>, String> {
        let place = self.place;
        let Ok(real) = std::fs::canonicalize(named) else {
            let missing = "does not exist yet, so what it will hold is not known".to_owned();
            return if lexical(named).starts_with(place.root) {
                Err(missing)
            } else {
                Ok(None)
            };
        };
        let Ok(below) = real.strip_prefix(place.root) else {
            return if lexical(named).starts_with(place.root) {
                Err("is a link that leads out of the workspace".to_owned())
            } else {
                Ok(None)
            };
        };
        if place.hidden.iter().any(|hidden| real.starts_with(hidden)) {
            return Err("belongs to hob itself".to_owned());
        }
        let failed = |error: &dyn std::fmt::Display| format!("cannot be read ({error})");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(place.root, flags, Mode::empty());
        let root = root.map_err(|error| failed(&error))?;
        // NONBLOCK: a pipe without a writer must not block; the type is checked after opening.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = rustix::fs::openat2(&root, below, flags, Mode::empty(), within);
        let file = File::from(opened.map_err(|error| failed(&error))?);
        let found = file.metadata().map_err(|error| failed(&error))?;
        if !found.is_file() {
            return Err("is no plain file".to_owned());
        }
        let mut bytes = Vec::new();
        let length = file.take(self.bytes_left + 1).read_to_end(&mut bytes);
        if length.map_err(|error| failed(&error))? as u64 > self.bytes_left {
            return Err(format!(
                "is larger than the {SCRIPT_BYTES_MAX} bytes that are bound"
            ));
        }
        Ok(Some(ScriptFile {
            path: below.display().to_string(),
            named: named.to_owned(),
            real,
            bytes,
            mode: found.mode() & 0o777,
        }))
    }
}

/// Removes `.` and `..` from a path without reading the disk.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            step => plain.push(step),
        }
    }
    plain
}

#[cfg(test)]
#[path = "scripts_tests.rs"]
mod tests;
