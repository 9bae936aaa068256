//! The project's files as the rules read them: text, and for Rust also its syntax.

use anyhow::{Context, Result};
use std::path::Path;
use syn::Attribute;
use syn::spanned::Spanned;

/// Folders without sources of the project.
const SKIPPED: &[&str] = &["target", ".git", "node_modules"];

/// A text file of the project.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    /// From the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A Rust file.
pub(crate) struct RustSource {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
}

impl RustSource {
    pub(crate) fn parse(path: &str, text: &str) -> syn::Result<RustSource> {
        Ok(RustSource {
            path: path.to_owned(),
            text: text.to_owned(),
            syntax: syn::parse_file(text)?,
        })
    }

    /// True if the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("_tests.rs") || self.path.contains("/tests/")
    }

    /// True if the file belongs to this crate.
    pub(crate) fn is_in_crate(&self, name: &str) -> bool {
        self.path.starts_with(&format!("crates/{name}/"))
    }

    /// The lines `from..=to`, counted from 1.
    pub(crate) fn lines(&self, from: usize, to: usize) -> impl Iterator<Item = &str> {
        let count = to.saturating_sub(from) + 1;
        self.text.lines().skip(from.saturating_sub(1)).take(count)
    }
}

/// Every readable file below `root`, in order of path.
pub(crate) fn pages(root: &Path) -> Result<Vec<ProjectFile>> {
    let mut found = Vec::new();
    collect(root, root, &mut found)?;
    found.sort_by(|a: &ProjectFile, b: &ProjectFile| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<ProjectFile>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                collect(root, &path, found)?;
            }
            continue;
        }
        // Pictures and test databases are not UTF-8.
        if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path.strip_prefix(root).unwrap_or(&path);
            let path = path.display().to_string();
            found.push(ProjectFile { path, text });
        }
    }
    Ok(())
}

/// True if these attributes make an item test code: `#[test]`, `#[tokio::test]`, `#[cfg(test)]`.
pub(crate) fn marks_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        let is = |name: &str| last.is_some_and(|segment| segment.ident == name);
        is("test") || is("cfg") && mentions(attribute, "test")
    })
}

/// True if an attribute's arguments contain this word.
pub(crate) fn mentions(attribute: &Attribute, word: &str) -> bool {
    match &attribute.meta {
        syn::Meta::List(list) => list
            .tokens
            .to_string()
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|part| part == word),
        _ => false,
    }
}

/// The line something starts on.
pub(crate) fn line(node: &impl Spanned) -> usize {
    node.span().start().line
}
