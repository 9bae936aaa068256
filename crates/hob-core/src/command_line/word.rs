//! A word of a command line, without its quotes. Pure.

use std::ops::Range;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellWord {
    pub(super) text: String,
    /// The position in `text` from which it is known only when the line runs.
    pub(super) unknown_at: Option<usize>,
    /// The number of bytes at the beginning of `text` that were not quoted.
    pub(super) unquoted_bytes: usize,
    /// It begins with `~/` or `~name/`: a folder that is known only when the line runs.
    pub(super) begins_at_home: bool,
    /// The variables in it whose values are folders that a caller knows: `$PWD`, `$HOME`, `~`.
    pub(super) folders: Vec<(FolderVariable, Range<usize>)>,
    /// It also holds something else that is known only when the line runs.
    pub(super) is_decided_later: bool,
    /// The command lines of its substitutions: `$(…)`, `` `…` ``, `<(…)`.
    pub(super) substitutions: Vec<String>,
    /// The here-document that it delimits.
    pub(super) document: Option<String>,
}

/// A variable whose value is a known folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderVariable {
    /// `$PWD`.
    Current,
    /// `$HOME` or `~`.
    Home,
}

impl FolderVariable {
    pub(super) fn named(name: &str) -> Option<FolderVariable> {
        match name {
            "PWD" => Some(FolderVariable::Current),
            "HOME" => Some(FolderVariable::Home),
            _ => None,
        }
    }
}

impl ShellWord {
    /// Returns its text: without quotes, variables and substitutions as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if nothing in it but [`FolderVariable`]s is decided when the line runs.
    pub fn is_known(&self) -> bool {
        !self.is_decided_later
    }

    /// Returns the path that it names, if it is known: the folder it begins in, and the rest.
    pub fn path(&self) -> Option<(Option<FolderVariable>, &str)> {
        match &self.folders[..] {
            [] => Some((None, &self.text[..])),
            [(folder, range)] if range.start == 0 => Some((Some(*folder), &self.text[range.end..])),
            _ => None,
        }
        .filter(|_| self.is_known())
    }

    /// Returns the last component of its path: `rm` of `/bin/rm`.
    pub fn file_name(&self) -> &str {
        let name = self.text.rsplit('/').next().unwrap_or_default();
        // A path that ends in a slash has no file name and is compared as a whole.
        if name.is_empty() { &self.text } else { name }
    }

    /// Returns true if the program it names is known only when the line runs.
    pub(super) fn hides_its_file_name(&self) -> bool {
        match self.unknown_at {
            None => false,
            Some(0) if self.begins_at_home => !self.text.contains('/'),
            Some(_) => true,
        }
    }

    /// Returns true if it is this word, unquoted, so it can be a keyword.
    pub(super) fn is_bare(&self, text: &str) -> bool {
        self.text == text && self.unquoted_bytes == text.len()
    }

    /// Returns true if it has the form `name=value`, as far as it is unquoted.
    pub(super) fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.text[..self.unquoted_bytes].split_once('=') else {
            return false;
        };
        // `name+=value` appends to the variable.
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = match name.split_once('[') {
            Some((name, index)) if index.ends_with(']') => name,
            Some(_) => return false,
            None => name,
        };
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(is_letter)
    }

    /// Returns true if it contains a substitution, quoted or not: some builtins and variables are
    /// evaluated once more.
    pub(super) fn names_substitution(&self) -> bool {
        self.text.contains("$(") || self.text.contains('`')
    }
}
