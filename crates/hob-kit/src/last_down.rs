//! The mark of the last `hob down` of a home. Each `hob down` replaces it. A start remembers the
//! mark it began with, and a daemon that finds another one once it holds the home's lock exits. So
//! no start that began before a `hob down` runs after it.

use crate::atomic_file;
use crate::home::Home;
use crate::randomness::Randomness;
use std::io;

/// Random bytes of a mark.
const MARK_BYTES: usize = 16;
/// The mark of a home in which `hob down` was never run.
const NONE: &str = "none";

/// Reads the current mark.
pub fn read(home: &Home) -> String {
    let text = std::fs::read_to_string(home.last_down_file()).unwrap_or_default();
    match text.trim() {
        "" => NONE.to_owned(),
        mark => mark.to_owned(),
    }
}

/// Replaces the mark, which cancels every start that began before.
pub fn renew(home: &Home, randomness: &Randomness) -> io::Result<()> {
    let mark = format!("{}\n", randomness.hex(MARK_BYTES));
    // Not synced: no start that is under way survives a power loss.
    atomic_file::replace_unsynced(&home.last_down_file(), mark.as_bytes())
}
