//! Damaged rows, below the list they are missing from. Pure.

use super::words::one_line;
use super::{Screen, Tone};
use hob_wire::DamagedRow;

pub fn lines(rows: &[DamagedRow], screen: &Screen) -> Vec<String> {
    rows.iter()
        .map(|row| screen.paint(Tone::Bad, &one_line(&row.message)))
        .collect()
}
