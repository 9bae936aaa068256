//! The last `hob down` of a home: a mark that each one replaces. A start remembers the mark it began
//! with, and a daemon that finds another one when it holds the home's lock ends again. So nothing
//! that began before a `hob down` runs after it.

use crate::dice::Dice;
use crate::file;
use crate::home::Home;
use std::io;

/// Random bytes of a mark.
const MARK_BYTES: usize = 16;
/// The mark of a home that was never told to go down.
const NONE: &str = "none";

/// The mark as it is now.
pub fn read(home: &Home) -> String {
    let text = std::fs::read_to_string(home.last_down_file()).unwrap_or_default();
    match text.trim() {
        "" => NONE.to_owned(),
        mark => mark.to_owned(),
    }
}

/// Replaces the mark: every start that began before this comes to nothing.
pub fn renew(home: &Home, dice: &Dice) -> io::Result<()> {
    let mark = format!("{}\n", dice.hex(MARK_BYTES));
    file::replace_unsynced(&home.last_down_file(), mark.as_bytes())
}
