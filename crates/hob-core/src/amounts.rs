//! Sizes and counts as text for a person, and the money that a person types. Pure.

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

/// Parses `0.50` or `$2` into millionths of a dollar, without floats: they would round.
pub fn parse_dollars(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "expected dollars such as 0.50";
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !is_number(whole) || !is_number(part) {
        return Err(WRONG);
    }
    if part.len() > 6 {
        return Err("at most six decimal places");
    }
    let whole: u64 = format!("0{whole}").parse().map_err(|_| WRONG)?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| WRONG)?;
    let micro = whole.checked_mul(1_000_000).ok_or(WRONG)?;
    let micro = micro.checked_add(part).ok_or(WRONG)?;
    if micro == 0 {
        return Err("must be more than zero");
    }
    Ok(micro)
}

#[cfg(test)]
#[path = "amounts_tests.rs"]
mod tests;
