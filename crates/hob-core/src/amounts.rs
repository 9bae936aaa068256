//! Sizes and counts as text for a person. Pure.

/// Formats a size: `1.5 MiB`.
pub fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1_024 {
        return format!("{count} B");
    }
    let mut tenths = count.saturating_mul(10) / 1_024;
    let mut unit = units[0];
    for larger in &units[1..] {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1_024;
        unit = larger;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A number with its noun: `1 message`, `3 messages`.
pub fn count_noun(number: u64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
