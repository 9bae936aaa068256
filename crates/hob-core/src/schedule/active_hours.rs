//! The time of the day a job is restricted to: `08:00-22:00`, or `22:00-06:00` over midnight.

use super::civil;
use jiff::ToSpan;
use jiff::civil::Time;
use jiff::tz::TimeZone;

/// Active hours; the end does not belong to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    from: Time,
    to: Time,
}

impl Hours {
    /// Reads `HH:MM-HH:MM`; `24:00` is the end of the day.
    pub fn parse(text: &str) -> Result<Hours, String> {
        let wrong =
            || format!("'{text}' are no active hours; write them as 08:00-22:00 or 22:00-06:00.");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let from = time(from.trim()).ok_or_else(wrong)?;
        let to = time(to.trim()).ok_or_else(wrong)?;
        if from == to {
            return Err(format!(
                "The active hours '{text}' are empty; leave them out for the whole day."
            ));
        }
        Ok(Hours { from, to })
    }

    /// Whether an instant lies in them.
    pub fn hold(&self, at_ms: u64, zone: &TimeZone) -> bool {
        let Some(wall) = civil::wall(zone, at_ms) else {
            return false;
        };
        let time = wall.time();
        if self.from < self.to {
            self.from <= time && time < self.to
        } else {
            time >= self.from || time < self.to
        }
    }

    /// When they begin for the first time after an instant outside them.
    pub(super) fn begin_after(&self, at_ms: u64, zone: &TimeZone) -> Option<u64> {
        let wall = civil::wall(zone, at_ms)?;
        let mut day = wall.date();
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

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "00"));
    if hour.is_empty() || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    if (hour, minute) == (24, 0) {
        return Some(Time::midnight());
    }
    Time::new(hour, minute, 0, 0).ok()
}
