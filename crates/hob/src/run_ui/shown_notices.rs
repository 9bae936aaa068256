//! The notices that were shown in a home, kept in a file: each is shown once.
//!
//! Invariant: a lost or broken file only repeats a notice.

use hob_kit::atomic_file;
use hob_kit::home::Home;
use serde::{Deserialize, Serialize};

/// The most servers remembered as shown; the oldest is dropped.
const SERVERS_MAX: usize = 32;
/// The largest notices file that is read; hob never writes a larger one.
const NOTICES_BYTES_MAX: u64 = 64 * 1_024;

/// The notices that were shown in this home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ShownNotices {
    /// The person refused to install the local model, in a former version. A refusal is now the
    /// setting `onboard.offer`.
    pub(super) declined: bool,
    /// The lines shown about servers that got a prompt.
    servers: Vec<String>,
}

impl ShownNotices {
    /// Reads the file; a missing or broken one counts as empty.
    pub(super) fn read(home: &Home) -> ShownNotices {
        let path = home.notices();
        let small = |len: u64| len <= NOTICES_BYTES_MAX;
        if !std::fs::metadata(&path).is_ok_and(|it| small(it.len())) {
            return ShownNotices::default();
        }
        let text = std::fs::read(&path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Returns true the first time a line about a server is shown in this home, and records it.
    pub(super) fn is_first_server(home: &Home, line: &str) -> bool {
        let mut notices = ShownNotices::read(home);
        if notices.servers.iter().any(|known| known == line) {
            return false;
        }
        notices.servers.push(line.to_owned());
        let beyond = notices.servers.len().saturating_sub(SERVERS_MAX);
        notices.servers.drain(..beyond);
        notices.save(home);
        true
    }

    fn save(self, home: &Home) {
        if let Ok(text) = serde_json::to_vec(&self) {
            let _ = atomic_file::replace_unsynced(&home.notices(), &text);
        }
    }
}

#[cfg(test)]
#[path = "shown_notices_tests.rs"]
mod tests;
