//! Changes one key of the config file. Invariant: every other line, comments included, stays as the
//! user wrote it.

use super::config_file::join;
use super::value::SettingValue;
use crate::text_file;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

/// Reads the text of the file; empty if it does not exist. A file that is not UTF-8 is an error
/// that contains a [`text_file::NotText`].
pub fn read_file(path: &Path) -> io::Result<String> {
    match std::fs::read(path) {
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => text_file::decode(read?)
            .map_err(|not_text| io::Error::new(io::ErrorKind::InvalidData, not_text)),
    }
}

/// The reason for which a text could not be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the file is not TOML: {0}")]
    NotToml(String),
    #[error("'{0}' is not a table in the file")]
    NotATable(String),
}

impl From<toml_edit::TomlError> for EditError {
    fn from(failure: toml_edit::TomlError) -> Self {
        EditError::NotToml(failure.message().to_owned())
    }
}

/// Returns `text` with `path` set to `value`, or without the key if the value is `None`.
pub fn set(text: &str, path: &str, value: Option<&SettingValue>) -> Result<String, EditError> {
    let path = toml_edit::Key::parse(path)?;
    let names: Vec<&str> = path.iter().map(toml_edit::Key::get).collect();
    let Some((name, tables)) = names.split_last() else {
        return Ok(text.to_owned());
    };
    match value {
        Some(value) => set_value(text, tables, name, value),
        None => unset(text, tables, name),
    }
}

/// Sets a key in the file, once `check` has accepted the complete new text.
pub fn set_in_file<E>(
    file: &Path,
    path: &str,
    value: Option<&SettingValue>,
    check: impl FnOnce(&str) -> Result<(), E>,
) -> Result<(), SetError<E>> {
    let text = read_file(file).map_err(SetError::Io)?;
    let edited = set(&text, path, value).map_err(SetError::Edit)?;
    // The whole new text is checked before it is written: a daemon must never find a file that it
    // refuses.
    check(&edited).map_err(SetError::Refused)?;
    crate::atomic_file::replace(file, edited.as_bytes()).map_err(SetError::Io)
}

/// The reason for which the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetError<E> {
    #[error("the config file could not be written: {0}")]
    Io(io::Error),
    #[error("{0}")]
    Edit(EditError),
    #[error("{0}")]
    Refused(E),
}

fn set_value(
    text: &str,
    tables: &[&str],
    name: &str,
    value: &SettingValue,
) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let mut is_new = false;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for step in tables {
        is_new |= !table.contains_key(step);
        let item = table.entry(step).or_insert_with(implicit_table);
        table = item
            .as_table_like_mut()
            .ok_or_else(|| EditError::NotATable((*step).to_owned()))?;
    }
    let mut fresh = value.to_toml();
    if let Some(present) = table.get_mut(name).and_then(Item::as_value_mut) {
        // The comment after the old value belongs to the line and stays.
        *fresh.decor_mut() = present.decor().clone();
        *present = fresh;
        return Ok(document.to_string());
    }
    table.insert(name, Item::Value(fresh));
    let appended = document.to_string();
    // Preferred over the end of the table: right below the comment that shows the default. The
    // result is parsed to make sure that it means the same there.
    let wanted = values_of(&appended);
    let same = |edited: &String| values_of(edited).is_some_and(|found| Some(found) == wanted);
    let below = below_comment(text, tables, name, value).filter(same);
    let last = || is_new.then(|| with_new_table(text, tables, name, value));
    Ok(below.or_else(|| last().filter(same)).unwrap_or(appended))
}

/// Appends a new table at the end of the text. Comments there stay with the table above them.
fn with_new_table(text: &str, tables: &[&str], name: &str, value: &SettingValue) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let (header, name) = (join(tables), join(&[name]));
    format!("{text}{gap}[{header}]\n{name} = {value}\n")
}

/// Returns a table that prints no header until it has a value.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Inserts the key on a new line below `# name = …` in its section.
fn below_comment(text: &str, tables: &[&str], name: &str, value: &SettingValue) -> Option<String> {
    let header = format!("[{}]", join(tables));
    let mut in_section = tables.is_empty();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let line = line.trim();
        if line.starts_with('[') {
            in_section = line
                .split('#')
                .next()
                .is_some_and(|line| line.trim() == header);
        }
        let shows_default = || {
            let rest = line.strip_prefix('#')?.trim_start().strip_prefix(name)?;
            rest.trim_start().strip_prefix('=')
        };
        if in_section && shows_default().is_some() {
            let (before, after) = text.split_at(end);
            let gap = if before.ends_with('\n') { "" } else { "\n" };
            return Some(format!("{before}{gap}{} = {value}\n{after}", join(&[name])));
        }
    }
    None
}

/// Removes the lines of the key and nothing else. Removing it from the parsed document would also
/// remove the comments above it.
fn unset(text: &str, tables: &[&str], name: &str) -> Result<String, EditError> {
    let document = Document::parse(text)?;
    let mut table: &dyn TableLike = document.as_table();
    let mut inline = false;
    for step in tables {
        let Some(item) = table.get(step) else {
            return Ok(text.to_owned());
        };
        inline |= item.is_inline_table();
        let Some(next) = item.as_table_like() else {
            return Ok(text.to_owned());
        };
        table = next;
    }
    let spans = table
        .get_key_value(name)
        .and_then(|(key, item)| Some((key.span()?, item.span()?)));
    let Some((key, value)) = spans else {
        return Ok(text.to_owned());
    };
    // An inline table is one line with other keys, so its line cannot be removed.
    if inline {
        return unset_inline(text, tables, name);
    }
    let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[value.end..]
        .find('\n')
        .map_or(text.len(), |at| value.end + at + 1);
    let left = format!("{}{}", &text[..start], &text[end..]);
    Ok(without_bare_header(&left, tables).unwrap_or(left))
}

/// Removes the header of these tables if only blank lines are left below it; otherwise `None`.
fn without_bare_header(text: &str, tables: &[&str]) -> Option<String> {
    let header = format!("[{}]", join(tables));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.trim() == header)?;
    let below = &lines[at + 1..];
    let end = below
        .iter()
        .position(|line| line.trim_start().starts_with('['));
    let bare = &below[..end.unwrap_or(below.len())];
    if bare.iter().any(|line| !line.trim().is_empty()) {
        return None;
    }
    let mut above = lines[..at].concat();
    if end.is_none() {
        above.truncate(above.trim_end().len());
        if !above.is_empty() {
            above.push('\n');
        }
    }
    Some(above + &below[bare.len()..].concat())
}

fn unset_inline(text: &str, tables: &[&str], name: &str) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for step in tables {
        match table.get_mut(step).and_then(Item::as_table_like_mut) {
            Some(next) => table = next,
            None => return Ok(text.to_owned()),
        }
    }
    table.remove(name);
    Ok(document.to_string())
}

/// Returns every value of a text by path, without comments; `None` if it is not TOML.
fn values_of(text: &str) -> Option<BTreeMap<String, String>> {
    fn gather(table: &dyn TableLike, above: &[&str], into: &mut BTreeMap<String, String>) {
        for (name, item) in table.iter() {
            let mut path = above.to_vec();
            path.push(name);
            match item.as_table_like() {
                Some(table) => gather(table, &path, into),
                None => {
                    into.insert(join(&path), item.to_string().trim().to_owned());
                }
            }
        }
    }
    let document = Document::parse(text).ok()?;
    let mut values = BTreeMap::new();
    gather(document.as_table(), &[], &mut values);
    Some(values)
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
