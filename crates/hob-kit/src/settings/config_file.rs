//! Reads the config file. Every key must be declared and every value must fit its kind; each
//! violation is reported with its line.

use super::catalog::SettingsCatalog;
use super::key::SettingKind;
use super::value::SettingValue;
use std::fmt;
use toml_edit::{Document, Item, TableLike};

/// All problems of a config file, in the order of their lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblems {
    /// The name of the file in messages.
    pub file: String,
    pub problems: Vec<ConfigProblem>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Counted from 1; missing for an environment variable.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match problem.line {
                Some(line) => write!(f, "{}, line {line}: {}", self.file, problem.message)?,
                None => write!(f, "{}", problem.message)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigProblems {}

/// Reads the values that a file sets, by path.
pub(super) fn read(
    catalog: &SettingsCatalog,
    text: &str,
) -> Result<Vec<(String, SettingValue)>, Vec<ConfigProblem>> {
    let document = Document::parse(text).map_err(|failure| {
        let at = failure.span().map_or(0, |span| span.start);
        vec![ConfigProblem {
            line: Some(line_of(text, at)),
            message: format!(
                "this is not TOML: {}",
                failure.message().replace('\n', "; ")
            ),
        }]
    })?;
    let mut reader = ConfigFileReader {
        catalog,
        text,
        values: Vec::new(),
        problems: Vec::new(),
    };
    reader.table(document.as_table(), &[]);
    if reader.problems.is_empty() {
        return Ok(reader.values);
    }
    reader.problems.sort_by_key(|problem| problem.line);
    Err(reader.problems)
}

struct ConfigFileReader<'a> {
    catalog: &'a SettingsCatalog,
    text: &'a str,
    values: Vec<(String, SettingValue)>,
    problems: Vec<ConfigProblem>,
}

impl ConfigFileReader<'_> {
    fn table(&mut self, table: &dyn TableLike, above: &[&str]) {
        for (name, item) in table.iter() {
            let key_at = table
                .get_key_value(name)
                .and_then(|(key, _)| key.span())
                .or_else(|| item.span());
            let line = line_of(self.text, key_at.map_or(0, |span| span.start));
            let mut path = above.to_vec();
            path.push(name);
            self.item(item, &path, line);
        }
    }

    fn item(&mut self, item: &Item, path: &[&str], line: usize) {
        let written = join(path);
        if let Some(key) = self.catalog.find(&written) {
            match read_item(&key.kind, item) {
                Ok(value) => self.values.push((written, value)),
                Err(reason) => self.refuse(line, format!("{written}: {reason}")),
            }
            return;
        }
        match item.as_table_like() {
            Some(table) if self.catalog.is_table(path) => self.table(table, path),
            None if self.catalog.is_table(path) => {
                self.refuse(line, format!("'{written}' is a table; write [{written}]"));
            }
            _ => {
                let hint = self.hint(&written, item);
                self.refuse(line, format!("there is no setting '{written}'{hint}"));
            }
        }
    }

    fn hint(&self, written: &str, item: &Item) -> String {
        // For an unknown table, its first entry is the best hint of what was meant.
        let entry = item.as_table_like().and_then(|table| {
            let (name, _) = table.iter().next()?;
            self.catalog.nearest(&format!("{written}.{name}"))
        });
        match entry.or_else(|| self.catalog.nearest(written)) {
            Some(near) => format!("; did you mean '{near}'?"),
            None => "; 'hob config show' lists them all".to_owned(),
        }
    }

    fn refuse(&mut self, line: usize, message: String) {
        self.problems.push(ConfigProblem {
            line: Some(line),
            message,
        });
    }
}

fn read_item(kind: &SettingKind, item: &Item) -> Result<SettingValue, String> {
    let refused = || kind.refusal(&describe(item));
    let value = match kind {
        SettingKind::Bool => SettingValue::Bool(item.as_bool().ok_or_else(refused)?),
        SettingKind::Integer { .. } => {
            let number = item.as_integer().ok_or_else(refused)?;
            SettingValue::Integer(u64::try_from(number).map_err(|_| refused())?)
        }
        SettingKind::Duration { .. } => return kind.parse(item.as_str().ok_or_else(refused)?),
        SettingKind::Choice(_) | SettingKind::Text | SettingKind::Checked { .. } => {
            SettingValue::Text(item.as_str().ok_or_else(refused)?.to_owned())
        }
        SettingKind::List => {
            let items = item.as_array().ok_or_else(refused)?;
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            SettingValue::List(texts.collect::<Option<_>>().ok_or_else(refused)?)
        }
    };
    kind.check(value)
}

/// Formats a value for a message: short, on one line.
fn describe(item: &Item) -> String {
    const CHARS_MAX: usize = 60;
    if item.is_table() || item.is_array_of_tables() {
        return "a table".to_owned();
    }
    let text = item.to_string();
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

/// Joins a path as TOML writes it: names that are not bare are quoted.
pub(super) fn join(path: &[&str]) -> String {
    let segments = path.iter().map(|name| {
        let key = toml_edit::Key::new(*name);
        key.default_repr()
            .as_raw()
            .as_str()
            .unwrap_or(name)
            .to_owned()
    });
    segments.collect::<Vec<_>>().join(".")
}

fn line_of(text: &str, at: usize) -> usize {
    let breaks = text.match_indices('\n');
    breaks.take_while(|(index, _)| *index < at).count() + 1
}
