//! An application of the desktop, read from its file by the desktop entry specification.
//!
//! Invariant: what it starts is a list of arguments; nothing of it is ever read by a shell.

use hob_wire::rooms::desktop::DesktopEntry;
use std::path::Path;

const GROUP: &str = "[Desktop Entry]";

/// What a file of the desktop says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path below the folder of applications, `/` as `-`, without `.desktop`.
    pub(super) id: String,
    pub(super) file: String,
    pub(super) name: String,
    /// Its name in the person's language.
    pub(super) local_name: Option<String>,
    pub(super) generic_name: Option<String>,
    pub(super) icon: Option<String>,
    pub(super) exec: String,
    /// A program without which it is not installed.
    pub(super) try_exec: Option<String>,
    /// The folder it starts in.
    pub(super) path: Option<String>,
    pub(super) terminal: bool,
    /// Not for menus.
    pub(super) no_display: bool,
    /// As if it did not exist, nor any of the same id in later folders.
    pub(super) hidden: bool,
}

impl Entry {
    /// Reads a file's text; none if it is no application. `language` is such as `de_DE`.
    pub(super) fn read(text: &str, id: &str, file: &Path, language: Option<&str>) -> Option<Entry> {
        let mut entry = Entry {
            id: id.to_owned(),
            file: file.display().to_string(),
            ..Entry::default()
        };
        let mut application = false;
        let short = language.and_then(|language| language.split('_').next());
        let lines = text.lines().skip_while(|line| line.trim() != GROUP).skip(1);
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
                    // The longer form of a language is the nearer one.
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

    /// The program and its arguments, without files to open.
    pub(super) fn argv(&self) -> Result<Vec<String>, String> {
        let broken = |why: &str| format!("The file {} is broken: {why}.", self.file);
        let mut argv = Vec::new();
        for word in words(&self.exec).map_err(broken)? {
            self.expand(&word, &mut argv).map_err(|why| broken(&why))?;
        }
        if argv.is_empty() {
            return Err(broken("it does not say what to start"));
        }
        Ok(argv)
    }

    /// Puts what a word stands for behind the arguments.
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
                // Files and addresses, of which there are none, and what is no longer used.
                Some('f' | 'F' | 'u' | 'U' | 'i' | 'd' | 'D' | 'n' | 'N' | 'v' | 'm') => {}
                Some(other) => return Err(format!("nobody knows what %{other} is")),
                None => return Err("it ends with %".to_owned()),
            }
        }
        // A word that was a placeholder alone is no argument.
        if !out.is_empty() || !word.starts_with('%') {
            argv.push(out);
        }
        Ok(())
    }

    /// As others see it.
    pub(super) fn shown(&self) -> DesktopEntry {
        DesktopEntry {
            id: self.id.clone(),
            file: self.file.clone(),
            name: self.local_name.clone().unwrap_or_else(|| self.name.clone()),
            generic_name: self.generic_name.clone(),
            exec: self.argv().map(|argv| line(&argv)).unwrap_or_default(),
            terminal: self.terminal,
        }
    }

    /// The name of the program it starts.
    pub(super) fn program(&self) -> Option<String> {
        let program = self.argv().ok()?.into_iter().next()?;
        program.rsplit('/').next().map(str::to_owned)
    }
}

/// The escapes every value may hold.
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

/// The words of a command line: blanks between them, quotes around those that hold one.
fn words(line: &str) -> Result<Vec<String>, &'static str> {
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

/// Arguments as a person would type them.
pub(super) fn line(argv: &[String]) -> String {
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
