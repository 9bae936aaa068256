//! Finds settings of a git configuration by which git would run a program. Pure.
//!
//! The grammar is git's own (`config.c`): sections with or without a quoted part, keys behind a
//! section on the same line, values with quotes, comments and continued lines. A malformed file
//! counts as one that names a program, because git may read it differently.

/// Keys whose value is or leads to a program, as `section.key` in lower case.
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
/// Endings of keys that name a program, in any section.
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
/// Boolean values. With one of them `core.fsmonitor` means git's built-in monitor, or none.
const BOOLEANS: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "0", "1"];

/// The first setting by which git would run a program, as `section.key`.
pub(crate) fn find_program_setting(config: &[u8]) -> Option<String> {
    let mut reader = GitConfigReader {
        // Git skips a byte order mark, so a section behind one counts.
        bytes: config.strip_prefix(b"\xef\xbb\xbf").unwrap_or(config),
        at: 0,
        section: String::new(),
    };
    loop {
        match reader.next_setting() {
            Ok(Some(setting)) if setting.runs_program() => return Some(setting.full_name()),
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(ConfigSyntaxError) => {
                return Some("a configuration that git cannot read".to_owned());
            }
        }
    }
}

struct ConfigSyntaxError;

struct GitSetting {
    section: String,
    key: String,
    value: String,
}

impl GitSetting {
    fn full_name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    fn runs_program(&self) -> bool {
        let key = self.key.as_str();
        let value = self.value.trim();
        let name = self.full_name();
        if name == "core.fsmonitor" {
            return !BOOLEANS.contains(&value.to_lowercase().as_str());
        }
        // An alias, a submodule's update and a credential helper run the text after a `!`; the
        // transport `ext::` runs its address.
        value.contains('!') && matches!(self.section.as_str(), "alias" | "submodule")
            || value.to_lowercase().contains("ext::")
            || PROGRAM_KEYS.contains(&name.as_str())
            || PROGRAM_SECTIONS.contains(&self.section.as_str())
            || PROGRAM_ENDINGS.iter().any(|ending| key.ends_with(ending))
    }
}

struct GitConfigReader<'c> {
    bytes: &'c [u8],
    at: usize,
    /// The first part of the section name, in lower case. The quoted part does not change the
    /// meaning of a key, except for `url` and `includeIf`, whose keys are all checked.
    section: String,
}

impl GitConfigReader<'_> {
    /// Returns the next byte, with `\r\n` as `\n`.
    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn next_setting(&mut self) -> Result<Option<GitSetting>, ConfigSyntaxError> {
        let mut in_comment = false;
        while let Some(byte) = self.next_byte() {
            match byte {
                b'\n' => in_comment = false,
                _ if in_comment => {}
                b'#' | b';' => in_comment = true,
                b'[' => self.read_section()?,
                byte if byte.is_ascii_whitespace() => {}
                byte if byte.is_ascii_alphabetic() => return self.read_setting(byte).map(Some),
                _ => return Err(ConfigSyntaxError),
            }
        }
        Ok(None)
    }

    fn read_section(&mut self) -> Result<(), ConfigSyntaxError> {
        let mut name = Vec::new();
        loop {
            match self.next_byte().ok_or(ConfigSyntaxError)? {
                b']' => break,
                byte if byte.is_ascii_whitespace() => {
                    let quoted = self.read_quoted_part()?;
                    // `[url "ext::…"]` has its program in the section name.
                    if quoted.to_lowercase().contains("ext::") {
                        // The error makes the whole file count as one that runs a program.
                        return Err(ConfigSyntaxError);
                    }
                    break;
                }
                byte if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.' => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return Err(ConfigSyntaxError),
            }
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        // The deprecated form `[section.part]`.
        name.split('.')
            .next()
            .unwrap_or_default()
            .clone_into(&mut self.section);
        Ok(())
    }

    fn read_quoted_part(&mut self) -> Result<String, ConfigSyntaxError> {
        let mut byte = self.next_byte().ok_or(ConfigSyntaxError)?;
        while byte == b' ' || byte == b'\t' {
            byte = self.next_byte().ok_or(ConfigSyntaxError)?;
        }
        if byte != b'"' {
            return Err(ConfigSyntaxError);
        }
        let mut part = Vec::new();
        loop {
            match self.next_byte().ok_or(ConfigSyntaxError)? {
                b'\n' => return Err(ConfigSyntaxError),
                b'"' => break,
                b'\\' => part.push(
                    self.next_byte()
                        .filter(|byte| *byte != b'\n')
                        .ok_or(ConfigSyntaxError)?,
                ),
                byte => part.push(byte),
            }
        }
        if self.next_byte() != Some(b']') {
            return Err(ConfigSyntaxError);
        }
        Ok(String::from_utf8_lossy(&part).into_owned())
    }

    fn read_setting(&mut self, first: u8) -> Result<GitSetting, ConfigSyntaxError> {
        let mut key = vec![first.to_ascii_lowercase()];
        let mut next = self.next_byte();
        while let Some(byte) = next.filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
            key.push(byte.to_ascii_lowercase());
            next = self.next_byte();
        }
        while let Some(b' ' | b'\t') = next {
            next = self.next_byte();
        }
        let value = match next {
            None | Some(b'\n') => String::new(),
            Some(b'=') => self.read_value()?,
            Some(_) => return Err(ConfigSyntaxError),
        };
        Ok(GitSetting {
            section: self.section.clone(),
            key: String::from_utf8_lossy(&key).into_owned(),
            value,
        })
    }

    fn read_value(&mut self) -> Result<String, ConfigSyntaxError> {
        let mut value = Vec::new();
        let (mut in_quotes, mut in_comment) = (false, false);
        loop {
            match self.next_byte() {
                None | Some(b'\n') if in_quotes => return Err(ConfigSyntaxError),
                None | Some(b'\n') => break,
                Some(_) if in_comment => {}
                Some(b'#' | b';') if !in_quotes => in_comment = true,
                Some(b'"') => in_quotes = !in_quotes,
                Some(b'\\') => match self.next_byte() {
                    Some(b'\n') => {}
                    // The letters of control characters are kept as they are: no check looks for
                    // such characters.
                    Some(byte @ (b't' | b'b' | b'n' | b'"' | b'\\')) => value.push(byte),
                    _ => return Err(ConfigSyntaxError),
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
