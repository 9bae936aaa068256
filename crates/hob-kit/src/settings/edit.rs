//! Changing one key of the config file. Invariant: every other line, comments included, stays as
//! the person wrote it.

use super::value::Value;
use std::io;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The file's text; empty when there is none.
pub fn read_file(path: &Path) -> io::Result<String> {
    match std::fs::read_to_string(path) {
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Why a text could not be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the file is not TOML: {0}")]
    NotToml(String),
    #[error("'{0}' is not a table in the file")]
    NotATable(String),
}

/// `text` with `path` set to `value`, or without it when the value is none.
pub fn set(text: &str, path: &str, value: Option<&Value>) -> Result<String, EditError> {
    let not_toml = |failure: toml_edit::TomlError| EditError::NotToml(failure.message().to_owned());
    let mut document: DocumentMut = text.parse().map_err(not_toml)?;
    let path = toml_edit::Key::parse(path).map_err(not_toml)?;
    let names: Vec<&str> = path.iter().map(toml_edit::Key::get).collect();
    let Some((name, tables)) = names.split_last() else {
        return Ok(text.to_owned());
    };
    match value {
        Some(value) => set_value(document.as_table_mut(), tables, name, value)?,
        None => unset(document.as_table_mut(), tables, name),
    }
    Ok(document.to_string())
}

fn set_value(
    root: &mut Table,
    tables: &[&str],
    name: &str,
    value: &Value,
) -> Result<(), EditError> {
    let mut table: &mut dyn TableLike = root;
    for step in tables {
        let item = table.entry(step).or_insert_with(|| {
            let mut fresh = Table::new();
            fresh.set_implicit(true);
            Item::Table(fresh)
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| EditError::NotATable((*step).to_owned()))?;
    }
    let mut fresh = value.to_toml();
    if let Some(present) = table.get_mut(name).and_then(Item::as_value_mut) {
        // The comment behind the old value belongs to the line, not to the value.
        *fresh.decor_mut() = present.decor().clone();
        *present = fresh;
    } else {
        table.insert(name, Item::Value(fresh));
    }
    Ok(())
}

fn unset(root: &mut Table, tables: &[&str], name: &str) {
    let mut table: &mut dyn TableLike = root;
    for step in tables {
        let Some(next) = table.get_mut(step).and_then(Item::as_table_like_mut) else {
            return;
        };
        table = next;
    }
    table.remove(name);
}

/// Sets a key in the file itself, checked by `check` before anything is written.
pub fn set_in_file<E>(
    file: &Path,
    path: &str,
    value: Option<&Value>,
    check: impl FnOnce(&str) -> Result<(), E>,
) -> Result<(), SetError<E>> {
    let text = read_file(file).map_err(SetError::Io)?;
    let edited = set(&text, path, value).map_err(SetError::Edit)?;
    check(&edited).map_err(SetError::Refused)?;
    crate::file::replace(file, edited.as_bytes()).map_err(SetError::Io)
}

/// Why the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetError<E> {
    #[error("the config file could not be written: {0}")]
    Io(io::Error),
    #[error("{0}")]
    Edit(EditError),
    #[error("{0}")]
    Refused(E),
}
