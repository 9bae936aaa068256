//! The time of day a job is restricted to: `08:00-22:00`, or `22:00-06:00` over midnight.

use super::civil;
use jiff::ToSpan;
use jiff::civil::Time;
use jiff::tz::TimeZone;

/// Active hours; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveHours {
    from: Time,
    to: Time,
}

impl ActiveHours {
    /// Parses `HH:MM-HH:MM`; `24:00` is the end of the day.
    pub fn parse(text: &str) -> Result<ActiveHours, String> {
        let wrong =
            || format!("'{text}' are not active hours; write them as 08:00-22:00 or 22:00-06:00.");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let from = parse_time(from.trim()).ok_or_else(wrong)?;
        let to = parse_time(to.trim()).ok_or_else(wrong)?;
        if from == to {
            return Err(format!(
                "The active hours '{text}' are empty; leave them out for the whole day."
            ));
        }
        Ok(ActiveHours { from, to })
    }

    /// Returns true if an instant lies in them.
    pub fn contains(&self, at_ms: u64, zone: &TimeZone) -> bool {
        let Some(wall) = civil::wall(zone, at_ms) else {
            return false;
        };
        let time = wall.time();
        if self.from < self.to {
            self.from <= time && time < self.to
        } else {
            // Over midnight: the evening of one day and the morning of the next.
            time >= self.from || time < self.to
        }
    }

    /// Returns their first start after an instant outside them.
    pub(super) fn next_start_after(&self, at_ms: u64, zone: &TimeZone) -> Option<u64> {
        let wall = civil::wall(zone, at_ms)?;
        let mut day = wall.date();
        // Today's start may have passed, so the next two days are tried too.
        for _ in 0..3 {
            let begin = civil::instant(zone, day.to_datetime(self.from))?;
            if begin > at_ms {
                return Some(begin);
            }
            day = day.checked_add(1.day()).ok()?;
        }
        None
    }
}

fn parse_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "00"));
    if hour.is_empty() || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    if (hour, minute) == (24, 0) {
        // As an end, midnight is covered by the rule for hours over midnight.
        return Some(Time::midnight());
    }
    Time::new(hour, minute, 0, 0).ok()
}
