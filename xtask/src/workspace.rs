//! The workspace as `cargo metadata` tells it: our crates, what they depend on, and every package
//! in the lockfile.

use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) members: Vec<WorkspaceCrate>,
    /// Every package that any target of the lockfile builds, ours included.
    pub(crate) packages: Vec<LockedPackage>,
    pub(crate) target: PathBuf,
}

/// A crate of ours.
#[derive(Debug)]
pub(crate) struct WorkspaceCrate {
    pub(crate) name: String,
    /// Its `Cargo.toml`, from the root.
    pub(crate) manifest: String,
    pub(crate) manifest_text: String,
    pub(crate) layer: Option<String>,
    pub(crate) dependencies: Vec<CrateDependency>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CrateDependency {
    pub(crate) name: String,
    pub(crate) dev: bool,
    /// From outside the workspace.
    pub(crate) external: bool,
}

#[derive(Debug)]
pub(crate) struct LockedPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
}

impl Workspace {
    pub(crate) fn load() -> Result<Workspace> {
        let text =
            shell::output(shell::cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
        let metadata = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        let mut workspace = Workspace::read(&metadata, &shell::root());
        for member in &mut workspace.members {
            let path = shell::root().join(&member.manifest);
            member.manifest_text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
        }
        Ok(workspace)
    }

    /// Reads the metadata; manifests' texts are left empty.
    pub(crate) fn read(metadata: &Value, root: &Path) -> Workspace {
        let packages = metadata["packages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let ours: Vec<&str> = metadata["workspace_members"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let is_ours =
            |package: &&Value| package["id"].as_str().is_some_and(|id| ours.contains(&id));
        Workspace {
            members: packages
                .iter()
                .filter(is_ours)
                .map(|package| read_member(package, root))
                .collect(),
            packages: packages.iter().map(read_package).collect(),
            target: PathBuf::from(text(&metadata["target_directory"])),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&WorkspaceCrate> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl WorkspaceCrate {
    /// The line of its manifest that names a dependency; 1 when it cannot be found.
    pub(crate) fn line_of(&self, dependency: &str) -> usize {
        let names = |line: &str| {
            line.strip_prefix(dependency)
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        let found = self.manifest_text.lines().position(names);
        found.map_or(1, |index| index + 1)
    }
}

fn read_member(package: &Value, root: &Path) -> WorkspaceCrate {
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    let manifest = manifest.strip_prefix(root).unwrap_or(&manifest);
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    WorkspaceCrate {
        name: text(&package["name"]),
        manifest: manifest.display().to_string(),
        manifest_text: String::new(),
        layer: package["metadata"]["hob"]["layer"]
            .as_str()
            .map(str::to_owned),
        dependencies: dependencies
            .map(|dependency| CrateDependency {
                name: text(&dependency["name"]),
                dev: dependency["kind"] == "dev",
                external: !dependency["source"].is_null(),
            })
            .collect(),
    }
}

fn read_package(package: &Value) -> LockedPackage {
    LockedPackage {
        name: text(&package["name"]),
        version: text(&package["version"]),
        license: package["license"].as_str().map(str::to_owned),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
