//! Which services there are: those that ship, and the files of a home.
//!
//! Invariants: a name is there once, and a home's file beats what ships; a file that cannot be read
//! is a problem with its name and line, and hides nothing else.

use crate::descriptor::Descriptor;
use crate::file;
use crate::found::Entry;
use crate::others::{kokoro, mlx, piper, vlm};
use crate::{llm, opencode, tts};
use hob_kit::home::Home;
use hob_kit::text_file;
use hob_wire::rooms::service::ServiceRole;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files of a home that are read.
const FILES_MAX: usize = 256;
/// The longest file.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The services that ship; to add one, add its folder and its line.
pub fn entries() -> &'static [Entry] {
    &[
        llm::ENTRY,
        opencode::ENTRY,
        tts::ENTRY,
        piper::ENTRY,
        kokoro::ENTRY,
        vlm::ENTRY,
        mlx::LM,
        mlx::VLM,
    ]
}

/// What other systems call a service of a role.
const ROLE_NAMES: &[(&str, ServiceRole)] = &[
    ("kokomo", ServiceRole::Tts),
    ("mlx", ServiceRole::Llm),
    ("vlm", ServiceRole::Vlm),
];

/// All services, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    services: Vec<Shelved>,
    problems: Vec<String>,
    broken: Vec<BrokenFile>,
}

/// A file that names a service and does not describe one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub name: String,
    pub file: PathBuf,
    /// In a sentence, with the file and the line.
    pub problem: String,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Shelved {
    pub descriptor: Descriptor,
    /// Of those that ship.
    pub entry: Option<Entry>,
    /// Of those a home describes.
    pub file: Option<PathBuf>,
}

impl Shelf {
    /// Reads the home's files; waits for the disk.
    pub fn read(home: &Home) -> Shelf {
        let mut shelf = Shelf::default();
        for entry in entries() {
            shelf.put(Shelved {
                descriptor: (entry.descriptor)(),
                entry: Some(*entry),
                file: None,
            });
        }
        for path in shelf.files(&home.service_files()) {
            match read_file(&path) {
                Ok(descriptor) => shelf.put(Shelved {
                    descriptor,
                    entry: None,
                    file: Some(path),
                }),
                Err(problem) => {
                    shelf
                        .broken
                        .extend(service_name(&path).map(|name| BrokenFile {
                            name: name.to_owned(),
                            problem: problem.clone(),
                            file: path.clone(),
                        }));
                    shelf.problems.push(problem);
                }
            }
        }
        let by_name = |one: &Shelved, other: &Shelved| {
            let name = |it: &Shelved| it.descriptor.name.clone();
            name(one).cmp(&name(other))
        };
        shelf.services.sort_by(by_name);
        shelf
    }

    pub fn services(&self) -> &[Shelved] {
        &self.services
    }

    /// Files that could not be read, each with the reason.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Those of them that have a service's name.
    pub fn broken(&self) -> &[BrokenFile] {
        &self.broken
    }

    /// The broken file of this name.
    pub fn broken_file(&self, name: &str) -> Option<&BrokenFile> {
        self.broken.iter().find(|broken| broken.name == name)
    }

    pub fn names(&self) -> Vec<&str> {
        let names = self.services.iter();
        names.map(|it| it.descriptor.name.as_str()).collect()
    }

    /// The service of a name, an alias, or another system's word for its role.
    pub fn find(&self, name: &str) -> Option<&Shelved> {
        let by = |test: &dyn Fn(&Descriptor) -> bool| {
            self.services.iter().find(|it| test(&it.descriptor))
        };
        by(&|it| it.name == name)
            .or_else(|| by(&|it| it.aliases.iter().any(|alias| alias == name)))
            .or_else(|| {
                let (_, role) = ROLE_NAMES.iter().find(|(word, _)| *word == name)?;
                by(&|it| it.role == Some(*role))
            })
    }

    fn put(&mut self, shelved: Shelved) {
        let name = &shelved.descriptor.name;
        self.services.retain(|it| it.descriptor.name != *name);
        self.services.push(shelved);
    }

    fn files(&mut self, folder: &Path) -> Vec<PathBuf> {
        let found = match std::fs::read_dir(folder) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                let problem = format!("{} cannot be read: {error}.", folder.display());
                self.problems.push(problem);
                return Vec::new();
            }
        };
        let paths = found.filter_map(|entry| Some(entry.ok()?.path()));
        let is_toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
        let mut paths: Vec<PathBuf> = paths.filter(is_toml).collect();
        paths.sort();
        if paths.len() > FILES_MAX {
            self.problems.push(format!(
                "{} holds {} files; only the first {FILES_MAX} are read.",
                folder.display(),
                paths.len()
            ));
            paths.truncate(FILES_MAX);
        }
        paths
    }
}

/// The service that a file is named after.
fn service_name(path: &Path) -> Option<&str> {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    name.filter(|name| file::is_name(name))
}

fn read_file(path: &Path) -> Result<Descriptor, String> {
    let shown = path.display();
    let unreadable = |why: String| format!("{shown} cannot be read: {why}.");
    let name = service_name(path).ok_or_else(|| {
        format!(
            "{shown} is left out: a service's name has small letters, digits, '-' and '_', begins with a letter and is at most {} long.",
            file::NAME_CHARS_MAX
        )
    })?;
    let open = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let is_file = open.metadata().is_ok_and(|it| it.is_file());
    if !is_file {
        return Err(unreadable("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    let mut bounded = open.take(FILE_BYTES_MAX + 1);
    let read = bounded.read_to_end(&mut bytes);
    read.map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(format!(
            "it is longer than {FILE_BYTES_MAX} bytes"
        )));
    }
    let text = text_file::decode(bytes)
        .map_err(|not_text| format!("{shown}, line {}: {not_text}", not_text.line))?;
    file::read(name, &text).map_err(|problem| problem.shown(&shown.to_string()))
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
