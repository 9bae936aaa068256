//! Reads the agents of a workspace, `.agentloop/agents/*.md`. They are read anew for each message,
//! so that a change counts at once.
//!
//! Invariants: the folder is opened beneath the workspace without following links, and its files as
//! prompt files are. Files, their number and their size are bounded. What cannot be read is
//! reported and leaves the built-in agents as they are.

use crate::agentloop::agent_packs::AgentPacks;
use crate::agentloop::pack_file;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::prompt_file::{PromptFolder, read_prompt_file};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The folder of the agents, part by part from the workspace.
const FOLDERS: [&str; 2] = [".agentloop", "agents"];
/// Most files that are read.
const FILES_MAX: usize = 64;
/// Most entries of the folder that are looked at.
const ENTRIES_MAX: usize = 1_024;
/// Most bytes of one file; the rest is left out.
const FILE_BYTES_MAX: usize = 32 * 1024;
/// Flags to open a folder only for looking up names.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The agents of a workspace together with the built-in ones.
#[derive(Debug)]
pub(crate) struct WorkspacePacks {
    pub(crate) packs: AgentPacks,
    /// Sentences about files that were not read.
    pub(crate) refused: Vec<String>,
}

/// Reads the agents. Blocks.
pub(crate) fn load(workspace: &Path, home: &Home, mask: &SecretMask) -> WorkspacePacks {
    let mut loaded = WorkspacePacks {
        packs: AgentPacks::built_in(),
        refused: Vec::new(),
    };
    let handle = match open_beneath(workspace) {
        Ok(Some(handle)) => handle,
        Ok(None) => return loaded,
        Err(why) => {
            loaded.refused.push(why);
            return loaded;
        }
    };
    // The path of the handle, so that no other folder can take the place of the opened one.
    let folder = Path::new("/proc/self/fd").join(handle.as_raw_fd().to_string());
    for name in file_names(&folder) {
        let place = PromptFolder::Outside {
            folder: &folder,
            home,
        };
        match read_prompt_file(place, &name, FILE_BYTES_MAX, mask) {
            Ok(text) => {
                let stem = name.strip_suffix(".md").unwrap_or(&name);
                let file = text.and_then(|text| pack_file::parse(&text, stem));
                loaded.packs.extend(file);
            }
            Err(why) => loaded.refused.push(format!("Agent file: {why}")),
        }
    }
    loaded
}

/// Opens the folder of the agents; `None` if the workspace has none.
fn open_beneath(workspace: &Path) -> Result<Option<File>, String> {
    let mut handle = match rustix::fs::open(workspace, FOLDER, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(format!("The workspace cannot be read: {error}.")),
    };
    for name in FOLDERS {
        let flags = FOLDER.union(OFlags::NOFOLLOW);
        handle = match rustix::fs::openat(&handle, name, flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(format!(
                    "'{name}' of the workspace is a link or no folder, so its agents were not read."
                ));
            }
            Err(error) => return Err(format!("'{name}' cannot be read: {error}.")),
        };
    }
    Ok(Some(File::from(handle)))
}

/// The names of the agents' files, sorted.
fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries
        .take(ENTRIES_MAX)
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == "md"))
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    names.truncate(FILES_MAX);
    names
}

#[cfg(test)]
#[path = "workspace_packs_tests.rs"]
mod tests;
