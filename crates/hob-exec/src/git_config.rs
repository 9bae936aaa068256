//! Whether a git configuration names a program that git would run. Pure.
//!
//! The grammar is git's own (`config.c`): sections with or without a quoted part, keys behind a
//! section on the same line, values with quotes, comments and continued lines. A file that does
//! not follow it counts as one that names a program, because other programs may read it otherwise.

/// Keys whose value is a program or leads to one, as `section.key`, in lower case.
const PROGRAM_KEYS: &[&str] = &[
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.virtualfilesystem",
    "diff.external",
    "filter.clean",
    "filter.process",
    "filter.smudge",
    "include.path",
    "includeif.path",
    "init.templatedir",
    "lfs.path",
    "protocol.allow",
    "remote.receivepack",
    "remote.uploadpack",
    "remote.vcs",
    "sequence.editor",
    "uploadpack.packobjectshook",
];
/// Sections in which every key is a program.
const PROGRAM_SECTIONS: &[&str] = &["pager"];
/// How the name of a key ends that holds a program, in any section.
const PROGRAM_ENDINGS: &[&str] = &[
    "browser",
    "cmd",
    "command",
    "difffilter",
    "driver",
    "helper",
    "program",
    "sendmailcmd",
    "smtpserver",
    "textconv",
];
/// What a boolean looks like; `core.fsmonitor` then means git's own monitor, or none.
const BOOLEANS: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "0", "1"];

/// The first setting by which git would run a program, as `section.key`.
pub(crate) fn names_program(config: &[u8]) -> Option<String> {
    let mut reader = Reader {
        bytes: config.strip_prefix(b"\xef\xbb\xbf").unwrap_or(config),
        at: 0,
        section: String::new(),
    };
    loop {
        match reader.setting() {
            Ok(Some(setting)) if setting.runs_program() => return Some(setting.shown()),
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(Broken) => return Some("a configuration that git cannot read".to_owned()),
        }
    }
}

struct Broken;

struct Setting {
    section: String,
    key: String,
    value: String,
}

impl Setting {
    fn shown(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    fn runs_program(&self) -> bool {
        let key = self.key.as_str();
        let value = self.value.trim();
        let name = self.shown();
        if name == "core.fsmonitor" {
            return !BOOLEANS.contains(&value.to_lowercase().as_str());
        }
        // An alias, a submodule's update and a credential helper run what follows a `!`; the
        // transport `ext::` runs its address.
        value.contains('!') && matches!(self.section.as_str(), "alias" | "submodule")
            || value.to_lowercase().contains("ext::")
            || PROGRAM_KEYS.contains(&name.as_str())
            || PROGRAM_SECTIONS.contains(&self.section.as_str())
            || PROGRAM_ENDINGS.iter().any(|ending| key.ends_with(ending))
    }
}

struct Reader<'c> {
    bytes: &'c [u8],
    at: usize,
    /// Its first part, in lower case; the quoted part does not say what a key means, except that
    /// of `url` and of `includeIf`, whose keys are all looked at.
    section: String,
}

impl Reader<'_> {
    /// The next character; the end of the file ends a line.
    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn setting(&mut self) -> Result<Option<Setting>, Broken> {
        let mut in_comment = false;
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => in_comment = false,
                _ if in_comment => {}
                b'#' | b';' => in_comment = true,
                b'[' => self.section()?,
                byte if byte.is_ascii_whitespace() => {}
                byte if byte.is_ascii_alphabetic() => return self.key(byte).map(Some),
                _ => return Err(Broken),
            }
        }
        Ok(None)
    }

    fn section(&mut self) -> Result<(), Broken> {
        let mut name = Vec::new();
        loop {
            match self.next().ok_or(Broken)? {
                b']' => break,
                byte if byte.is_ascii_whitespace() => {
                    let quoted = self.quoted_part()?;
                    // `[url "ext::…"]` has its program in the section's name.
                    if quoted.to_lowercase().contains("ext::") {
                        return Err(Broken);
                    }
                    break;
                }
                byte if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.' => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return Err(Broken),
            }
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        // The old form `[section.part]`.
        name.split('.')
            .next()
            .unwrap_or_default()
            .clone_into(&mut self.section);
        Ok(())
    }

    fn quoted_part(&mut self) -> Result<String, Broken> {
        let mut byte = self.next().ok_or(Broken)?;
        while byte == b' ' || byte == b'\t' {
            byte = self.next().ok_or(Broken)?;
        }
        if byte != b'"' {
            return Err(Broken);
        }
        let mut part = Vec::new();
        loop {
            match self.next().ok_or(Broken)? {
                b'\n' => return Err(Broken),
                b'"' => break,
                b'\\' => part.push(self.next().filter(|byte| *byte != b'\n').ok_or(Broken)?),
                byte => part.push(byte),
            }
        }
        if self.next() != Some(b']') {
            return Err(Broken);
        }
        Ok(String::from_utf8_lossy(&part).into_owned())
    }

    fn key(&mut self, first: u8) -> Result<Setting, Broken> {
        let mut key = vec![first.to_ascii_lowercase()];
        let mut next = self.next();
        while let Some(byte) = next.filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
            key.push(byte.to_ascii_lowercase());
            next = self.next();
        }
        while let Some(b' ' | b'\t') = next {
            next = self.next();
        }
        let value = match next {
            None | Some(b'\n') => String::new(),
            Some(b'=') => self.value()?,
            Some(_) => return Err(Broken),
        };
        Ok(Setting {
            section: self.section.clone(),
            key: String::from_utf8_lossy(&key).into_owned(),
            value,
        })
    }

    fn value(&mut self) -> Result<String, Broken> {
        let mut value = Vec::new();
        let (mut in_quotes, mut in_comment) = (false, false);
        loop {
            match self.next() {
                None | Some(b'\n') if in_quotes => return Err(Broken),
                None | Some(b'\n') => break,
                Some(_) if in_comment => {}
                Some(b'#' | b';') if !in_quotes => in_comment = true,
                Some(b'"') => in_quotes = !in_quotes,
                Some(b'\\') => match self.next() {
                    Some(b'\n') => {}
                    Some(byte @ (b't' | b'b' | b'n' | b'"' | b'\\')) => value.push(byte),
                    _ => return Err(Broken),
                },
                Some(byte) => value.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&value).into_owned())
    }
}

#[cfg(test)]
#[path = "git_config_tests.rs"]
mod tests;
