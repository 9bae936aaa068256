//! Damaged rows, below the list they are missing from. Pure.

use super::text::one_line;
use super::{ScreenStyle, TextTone};
use hob_wire::DamagedRow;

pub fn lines(rows: &[DamagedRow], screen: &ScreenStyle) -> Vec<String> {
    rows.iter()
        .map(|row| screen.paint(TextTone::Bad, &one_line(&row.message)))
        .collect()
}
