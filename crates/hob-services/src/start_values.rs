//! Values that are known only at a start: `{port}`, `{home}`, `{dir}`, `{password}`. Pure.
//!
//! Invariants: a filled-in value is not expanded again; other braces stay as they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The values of one start.
#[derive(Clone, Copy, Debug)]
pub struct StartValues<'a> {
    pub port: Option<u16>,
    pub home: &'a Path,
    /// The service's own folder.
    pub dir: &'a Path,
    pub password: Option<&'a str>,
}

impl StartValues<'_> {
    /// Replaces every known name in braces.
    pub fn fill(&self, text: &OsStr) -> OsString {
        // Bytes instead of text, because a path need not be UTF-8.
        let mut filled = Vec::new();
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|byte| *byte == b'{') {
            filled.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            if let Some((value, length)) = self.value_at(rest) {
                // The value is not scanned again: a path that contains `{port}` stays as it is.
                filled.extend_from_slice(value.as_bytes());
                rest = &rest[length..];
            } else {
                filled.push(b'{');
                rest = &rest[1..];
            }
        }
        filled.extend_from_slice(rest);
        OsString::from_vec(filled)
    }

    /// Returns the value of the name at the start of these bytes, and the name's length.
    fn value_at(&self, bytes: &[u8]) -> Option<(OsString, usize)> {
        let port = self.port.map(|port| OsString::from(port.to_string()));
        let values: [(&str, Option<OsString>); 4] = [
            ("{port}", port),
            ("{home}", Some(self.home.as_os_str().to_owned())),
            ("{dir}", Some(self.dir.as_os_str().to_owned())),
            ("{password}", self.password.map(OsString::from)),
        ];
        let mut known = values.into_iter();
        known.find_map(|(name, value)| {
            bytes.starts_with(name.as_bytes()).then_some(())?;
            Some((value?, name.len()))
        })
    }
}

#[cfg(test)]
#[path = "start_values_tests.rs"]
mod tests;
