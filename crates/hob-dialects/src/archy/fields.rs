//! Reads the fields of a request's `data` as Archy does: a missing or null field has a default.
//!
//! Invariant: a field of the wrong type is an error and never counts as missing, so that nothing is
//! typed into the wrong session. Only a command that is no text counts as a missing command.

use crate::archy::settings;
use crate::archy::types::{
    COMMAND_EMPTY, COMMAND_TOO_LONG, COMMAND_WITH_NUL, LOOK_MS_MIN, NAME_BYTES_MAX,
    WAIT_SECONDS_MAX,
};
use hob_kit::settings::Settings;
use hob_wire::limits::TERMINAL_COMMAND_CHARS_MAX;
use serde_json::Value;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchyFields<'d>(pub(crate) &'d Value);

impl<'d> ArchyFields<'d> {
    fn get(self, key: &str) -> Option<&'d Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, key: &str) -> Result<Option<&'d str>, String> {
        let wrong = || format!("Invalid {key}: a text is needed");
        let text = |value: &'d Value| value.as_str().ok_or_else(wrong);
        self.get(key).map(text).transpose()
    }

    /// Returns a whole number of 0 or more; fractions are rounded up.
    pub(crate) fn number(self, key: &str) -> Result<Option<u64>, String> {
        let wrong = || format!("Invalid {key}: a number is needed");
        let number = |value: &Value| value.as_f64().ok_or_else(wrong);
        let number = self.get(key).map(number).transpose()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float ends at the bounds, which is what is meant"
        )]
        Ok(number.map(|number| number.ceil() as u64))
    }

    /// Returns a name, which may not be a path.
    pub(crate) fn name(self, key: &str) -> Result<Option<&'d str>, String> {
        let Some(name) = self.text(key)? else {
            return Ok(None);
        };
        if name.contains(['/', '\0']) || name.contains("..") {
            return Err(format!("Invalid {key}: contains illegal characters"));
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(format!("Invalid {key}: too long"));
        }
        Ok(Some(name))
    }

    /// Like [`ArchyFields::name`], for a required field.
    pub(crate) fn require_name(self, key: &str) -> Result<&'d str, String> {
        let name = self.name(key)?.filter(|name| !name.trim().is_empty());
        name.ok_or_else(|| format!("Missing {key} parameter"))
    }

    /// The named session, or the default one.
    pub(crate) fn session(self, settings: &Settings) -> Result<String, String> {
        let named = self.name("session")?.filter(|name| !name.is_empty());
        let session = named.unwrap_or_else(|| settings::session(settings));
        Ok(session.to_owned())
    }

    /// Returns a text as it is, or the error `missing`.
    pub(crate) fn require_text(self, key: &str, missing: &str) -> Result<&'d str, String> {
        let text = self.0.get(key).and_then(Value::as_str);
        text.ok_or_else(|| missing.to_owned())
    }

    /// Returns the command, or the error `missing`.
    pub(crate) fn command(self, missing: &str) -> Result<&'d str, String> {
        let command = self.require_text("command", missing)?;
        check_command(command)?;
        Ok(command)
    }

    /// The time to wait for a command's end.
    pub(crate) fn max_wait(self, seconds: u64) -> Result<Duration, String> {
        let seconds = self.number("max_wait")?.unwrap_or(seconds);
        Ok(Duration::from_secs(seconds.min(WAIT_SECONDS_MAX)))
    }

    /// The time between two checks of a session.
    pub(crate) fn interval(self, settings: &Settings) -> Result<Duration, String> {
        let asked = self.number("interval_ms")?;
        let interval = asked.unwrap_or_else(|| settings::poll_interval_ms(settings));
        let longest = WAIT_SECONDS_MAX * 1_000;
        Ok(Duration::from_millis(interval.clamp(LOOK_MS_MIN, longest)))
    }
}

pub(crate) fn check_command(command: &str) -> Result<(), String> {
    let wrong = if command.trim().is_empty() {
        COMMAND_EMPTY
    } else if command.contains('\0') {
        COMMAND_WITH_NUL
    } else if command.chars().count() > TERMINAL_COMMAND_CHARS_MAX {
        COMMAND_TOO_LONG
    } else {
        return Ok(());
    };
    Err(wrong.to_owned())
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
