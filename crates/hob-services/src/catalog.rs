//! The catalog of services: those that ship with hob, and those of a home's files.
//!
//! Invariants: names are unique, and a home's file overrides a shipped service; an invalid file is
//! reported with its name and line and does not affect other services.

use crate::descriptor::ServiceDescriptor;
use crate::discovery::ShippedService;
use crate::others::{kokoro, mlx, piper, vlm};
use crate::service_file;
use crate::{llm, opencode, tts};
use hob_kit::home::Home;
use hob_kit::text_file;
use hob_wire::rooms::service::ServiceRole;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The maximum of files in a home.
const FILES_MAX: usize = 256;
/// The longest file.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The shipped services. To add one, add its folder and a line here.
pub fn shipped_services() -> &'static [ShippedService] {
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

/// Names that other systems use for a service role.
const ROLE_NAMES: &[(&str, ServiceRole)] = &[
    ("kokomo", ServiceRole::Tts),
    ("mlx", ServiceRole::Llm),
    ("vlm", ServiceRole::Vlm),
];

/// All services, sorted by name.
#[derive(Clone, Debug, Default)]
pub struct ServiceCatalog {
    services: Vec<CatalogService>,
    problems: Vec<String>,
    broken: Vec<BrokenFile>,
}

/// An invalid file with a valid service name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub name: String,
    pub file: PathBuf,
    /// A sentence with the file and the line.
    pub problem: String,
}

/// One service of the catalog.
#[derive(Clone, Debug)]
pub struct CatalogService {
    pub descriptor: ServiceDescriptor,
    /// The shipped service, if it ships with hob.
    pub shipped: Option<ShippedService>,
    /// The file, if a home describes it.
    pub file: Option<PathBuf>,
}

impl ServiceCatalog {
    /// Reads the shipped services and the home's files, which may name these opt-in listeners. Blocks
    /// on the disk.
    pub fn read(home: &Home, listeners: &[&str]) -> ServiceCatalog {
        let mut catalog = ServiceCatalog::default();
        for entry in shipped_services() {
            catalog.insert(CatalogService {
                descriptor: (entry.descriptor)(),
                shipped: Some(*entry),
                file: None,
            });
        }
        // After the shipped ones, so that a file overrides a shipped service of the same name.
        for path in catalog.list_files(&home.service_files()) {
            match read_file(&path, listeners) {
                Ok(descriptor) => catalog.insert(CatalogService {
                    descriptor,
                    shipped: None,
                    file: Some(path),
                }),
                Err(problem) => {
                    catalog
                        .broken
                        .extend(service_name(&path).map(|name| BrokenFile {
                            name: name.to_owned(),
                            problem: problem.clone(),
                            file: path.clone(),
                        }));
                    catalog.problems.push(problem);
                }
            }
        }
        let by_name = |one: &CatalogService, other: &CatalogService| {
            let name = |it: &CatalogService| it.descriptor.name.clone();
            name(one).cmp(&name(other))
        };
        catalog.services.sort_by(by_name);
        catalog
    }

    pub fn services(&self) -> &[CatalogService] {
        &self.services
    }

    /// The problems of all invalid files.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The invalid files with a valid service name.
    pub fn broken(&self) -> &[BrokenFile] {
        &self.broken
    }

    /// The invalid file of this service name.
    pub fn broken_file(&self, name: &str) -> Option<&BrokenFile> {
        self.broken.iter().find(|broken| broken.name == name)
    }

    pub fn names(&self) -> Vec<&str> {
        let names = self.services.iter();
        names.map(|it| it.descriptor.name.as_str()).collect()
    }

    /// Finds a service by its name, an alias, or another system's name for its role.
    pub fn find(&self, name: &str) -> Option<&CatalogService> {
        let by = |test: &dyn Fn(&ServiceDescriptor) -> bool| {
            self.services.iter().find(|it| test(&it.descriptor))
        };
        by(&|it| it.name == name)
            .or_else(|| by(&|it| it.aliases.iter().any(|alias| alias == name)))
            .or_else(|| {
                let (_, role) = ROLE_NAMES.iter().find(|(word, _)| *word == name)?;
                by(&|it| it.role == Some(*role))
            })
    }

    fn insert(&mut self, service: CatalogService) {
        // A later service replaces an earlier one of the same name.
        let name = &service.descriptor.name;
        self.services.retain(|it| it.descriptor.name != *name);
        self.services.push(service);
    }

    fn list_files(&mut self, folder: &Path) -> Vec<PathBuf> {
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
        // Sorted, so that the same files are read each time when there are too many.
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
    name.filter(|name| service_file::is_service_name(name))
}

fn read_file(path: &Path, listeners: &[&str]) -> Result<ServiceDescriptor, String> {
    let shown = path.display();
    let unreadable = |why: String| format!("{shown} cannot be read: {why}.");
    let name = service_name(path).ok_or_else(|| {
        format!(
            "{shown} is left out: a service's name has small letters, digits, '-' and '_', begins with a letter and is at most {} long.",
            service_file::NAME_CHARS_MAX
        )
    })?;
    let open = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let is_file = open.metadata().is_ok_and(|it| it.is_file());
    if !is_file {
        return Err(unreadable("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed, to tell a file of the maximum size from a longer one.
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
    service_file::parse(name, &text, listeners)
        .map_err(|problem| problem.display_with_file(&shown.to_string()))
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
