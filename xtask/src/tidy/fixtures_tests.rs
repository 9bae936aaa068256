//! Small worlds for the tests of the rules.

use crate::source::{ProjectFile, RustSource};
use crate::workspace::{CrateDependency, LockedPackage, Workspace, WorkspaceCrate};

pub(super) fn source(path: &str, text: &str) -> RustSource {
    RustSource::parse(path, text).unwrap()
}

pub(super) fn page(path: &str, text: &str) -> ProjectFile {
    ProjectFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// A crate of ours with dependencies as `name`, `dev:name`, `ext:name` or `dev:ext:name`.
pub(super) fn member(name: &str, layer: &str, dependencies: &[&str]) -> WorkspaceCrate {
    let lines: Vec<String> = dependencies
        .iter()
        .map(|text| format!("{}.workspace = true", text.rsplit(':').next().unwrap()))
        .collect();
    WorkspaceCrate {
        name: name.to_owned(),
        manifest: format!("crates/{name}/Cargo.toml"),
        manifest_text: format!("[dependencies]\n{}\n", lines.join("\n")),
        layer: (!layer.is_empty()).then(|| layer.to_owned()),
        dependencies: dependencies.iter().map(|text| dependency(text)).collect(),
    }
}

pub(super) fn workspace(members: Vec<WorkspaceCrate>) -> Workspace {
    Workspace {
        members,
        ..Workspace::default()
    }
}

pub(super) fn package(name: &str, version: &str, license: &str) -> LockedPackage {
    LockedPackage {
        name: name.to_owned(),
        version: version.to_owned(),
        license: (!license.is_empty()).then(|| license.to_owned()),
    }
}

fn dependency(text: &str) -> CrateDependency {
    let (dev, rest) = match text.strip_prefix("dev:") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (external, name) = match rest.strip_prefix("ext:") {
        Some(name) => (true, name),
        None => (false, rest),
    };
    CrateDependency {
        name: name.to_owned(),
        dev,
        external,
    }
}
