//! What a request's `data` holds, read as Archy reads it: what is missing or null has a default.
//!
//! Invariant: a field of the wrong kind is told, never taken for a missing one, so that nothing is
//! typed where nobody meant it; but a command that is no text is a missing command.

use crate::settings;
use hob_kit::settings::Settings;
use hob_wire::archy::{
    COMMAND_EMPTY, COMMAND_TOO_LONG, COMMAND_WITH_NUL, LOOK_MS_MIN, NAME_BYTES_MAX,
    WAIT_SECONDS_MAX,
};
use hob_wire::limits::TERMINAL_COMMAND_CHARS_MAX;
use serde_json::Value;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'d>(pub(crate) &'d Value);

impl<'d> Fields<'d> {
    fn get(self, key: &str) -> Option<&'d Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, key: &str) -> Result<Option<&'d str>, String> {
        let wrong = || format!("Invalid {key}: a text is needed");
        let text = |value: &'d Value| value.as_str().ok_or_else(wrong);
        self.get(key).map(text).transpose()
    }

    /// A whole number from 0 on; fractions are rounded up.
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

    /// A text that names something and is no path.
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

    /// As [`Fields::name`], where one is needed.
    pub(crate) fn need_name(self, key: &str) -> Result<&'d str, String> {
        let name = self.name(key)?.filter(|name| !name.trim().is_empty());
        name.ok_or_else(|| format!("Missing {key} parameter"))
    }

    /// The session that is meant.
    pub(crate) fn session(self, settings: &Settings) -> Result<String, String> {
        let named = self.name("session")?.filter(|name| !name.is_empty());
        let session = named.unwrap_or_else(|| settings::archy_session(settings));
        Ok(session.to_owned())
    }

    /// The command to run; `missing` is what is said where there is none.
    pub(crate) fn command(self, missing: &str) -> Result<&'d str, String> {
        let command = self.0.get("command").and_then(Value::as_str);
        let command = command.ok_or_else(|| missing.to_owned())?;
        check_command(command)?;
        Ok(command)
    }

    /// How long to wait.
    pub(crate) fn max_wait(self, seconds: u64) -> Result<Duration, String> {
        let seconds = self.number("max_wait")?.unwrap_or(seconds);
        Ok(Duration::from_secs(seconds.min(WAIT_SECONDS_MAX)))
    }

    /// How long to wait between two looks.
    pub(crate) fn interval(self, settings: &Settings) -> Result<Duration, String> {
        let asked = self.number("interval_ms")?;
        let interval = asked.unwrap_or_else(|| settings::archy_poll_interval_ms(settings));
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
