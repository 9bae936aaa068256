//! One application, parsed from its file by the desktop entry specification.
//!
//! Invariant: `Exec` becomes a list of arguments; no shell ever reads it.

use hob_wire::rooms::desktop::DesktopEntry;
use std::path::Path;

const GROUP: &str = "[Desktop Entry]";

/// A parsed `.desktop` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ApplicationEntry {
    /// The path below the folder of applications, with `-` for `/`, without `.desktop`.
    pub(super) id: String,
    pub(super) file: String,
    pub(super) name: String,
    /// The name in the user's language.
    pub(super) local_name: Option<String>,
    pub(super) generic_name: Option<String>,
    pub(super) icon: Option<String>,
    pub(super) exec: String,
    /// A program that must exist, or the application counts as not installed.
    pub(super) try_exec: Option<String>,
    /// The folder it starts in.
    pub(super) path: Option<String>,
    pub(super) terminal: bool,
    /// Not shown in menus.
    pub(super) no_display: bool,
    /// Treated as deleted, together with entries of the same id in later folders.
    pub(super) hidden: bool,
}

impl ApplicationEntry {
    /// Parses a file's text; none if it is not an application. `language` looks like `de_DE`.
    pub(super) fn read(
        text: &str,
        id: &str,
        file: &Path,
        language: Option<&str>,
    ) -> Option<ApplicationEntry> {
        let mut entry = ApplicationEntry {
            id: id.to_owned(),
            file: file.display().to_string(),
            ..ApplicationEntry::default()
        };
        let mut application = false;
        let short = language.and_then(|language| language.split('_').next());
        let lines = text.lines().skip_while(|line| line.trim() != GROUP).skip(1);
        // Only the main group counts. Actions follow in groups of their own.
        for line in lines.take_while(|line| !line.starts_with('[')) {
            let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let value = value.trim();
            match key.trim() {
                "Type" => application = value == "Application",
                "Name" => entry.name = unescape(value),
                "GenericName" => entry.generic_name = Some(unescape(value)),
                "Icon" => entry.icon = Some(unescape(value)).filter(|icon| !icon.is_empty()),
                "Exec" => entry.exec = unescape(value),
                "TryExec" => entry.try_exec = Some(unescape(value)).filter(|name| !name.is_empty()),
                "Path" => entry.path = Some(unescape(value)).filter(|path| !path.is_empty()),
                "Terminal" => entry.terminal = value == "true",
                "NoDisplay" => entry.no_display = value == "true",
                "Hidden" => entry.hidden = value == "true",
                local => {
                    let of = local
                        .strip_prefix("Name[")
                        .and_then(|rest| rest.strip_suffix(']'));
                    // `Name[de_DE]` beats `Name[de]`, in whichever order they come.
                    if of.is_some()
                        && (of == language || (of == short && entry.local_name.is_none()))
                    {
                        entry.local_name = Some(unescape(value));
                    }
                }
            }
        }
        let whole = entry.hidden || (application && !entry.name.is_empty());
        whole.then_some(entry)
    }

    /// Returns the program and its arguments, without files to open.
    pub(super) fn argv(&self) -> Result<Vec<String>, String> {
        let broken = |why: &str| format!("The file {} is broken: {why}.", self.file);
        let mut argv = Vec::new();
        for word in split_exec(&self.exec).map_err(broken)? {
            self.expand(&word, &mut argv).map_err(|why| broken(&why))?;
        }
        if argv.is_empty() {
            return Err(broken("it does not say what to start"));
        }
        Ok(argv)
    }

    /// Expands the field codes of a word and appends the result.
    fn expand(&self, word: &str, argv: &mut Vec<String>) -> Result<(), String> {
        if word == "%i" {
            if let Some(icon) = &self.icon {
                argv.extend(["--icon".to_owned(), icon.clone()]);
            }
            return Ok(());
        }
        let mut out = String::new();
        let mut letters = word.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            match letters.next() {
                Some('%') => out.push('%'),
                Some('c') => out.push_str(self.local_name.as_ref().unwrap_or(&self.name)),
                Some('k') => out.push_str(&self.file),
                // Files and URLs, of which there are none, and deprecated codes.
                Some('f' | 'F' | 'u' | 'U' | 'i' | 'd' | 'D' | 'n' | 'N' | 'v' | 'm') => {}
                Some(other) => return Err(format!("%{other} is unknown")),
                None => return Err("it ends with %".to_owned()),
            }
        }
        // A word that was only a field code and expanded to nothing is dropped.
        if !out.is_empty() || !word.starts_with('%') {
            argv.push(out);
        }
        Ok(())
    }

    /// Converts the entry for the wire.
    pub(super) fn to_wire(&self) -> DesktopEntry {
        DesktopEntry {
            id: self.id.clone(),
            file: self.file.clone(),
            name: self.local_name.clone().unwrap_or_else(|| self.name.clone()),
            generic_name: self.generic_name.clone(),
            exec: self
                .argv()
                .map(|argv| quote_argv(&argv))
                .unwrap_or_default(),
            terminal: self.terminal,
        }
    }

    /// Returns the name of the program it starts.
    pub(super) fn program(&self) -> Option<String> {
        let program = self.argv().ok()?.into_iter().next()?;
        program.rsplit('/').next().map(str::to_owned)
    }
}

/// Resolves the escapes that every value may hold.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('s') => text.push(' '),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\\') | None => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

/// Splits an `Exec` line into words: at blanks, except inside double quotes.
fn split_exec(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if quoted => {
                let escaped = letters.next().ok_or("a quote is not closed")?;
                let word = word.get_or_insert_default();
                // The specification escapes only these four inside quotes.
                if !['"', '`', '$', '\\'].contains(&escaped) {
                    word.push('\\');
                }
                word.push(escaped);
            }
            ' ' | '\t' | '\n' if !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    if quoted {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

/// Quotes arguments for a shell, for display only.
pub(super) fn quote_argv(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
