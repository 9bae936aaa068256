//! The rate of a download over the last seconds, and the time that is left. Pure.

use std::collections::VecDeque;

/// The time over which the rate is measured.
const WINDOW_MS: u64 = 5_000;
/// The least time between two samples, which bounds their number.
const SAMPLE_MS: u64 = 100;
/// A rate over a shorter time says nothing.
const SPAN_MS_MIN: u64 = 300;

/// Measures a rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferRate {
    /// Times and total bytes, oldest first.
    samples: VecDeque<(u64, u64)>,
}

impl TransferRate {
    /// Notes that `bytes` were there in total at this time.
    pub(crate) fn note(&mut self, now_ms: u64, bytes: u64) {
        // A download that began anew has fewer bytes, and the old samples say nothing about it.
        if self.samples.back().is_some_and(|(_, last)| *last > bytes) {
            self.samples.clear();
        }
        let last_ms = self.samples.back().map(|(at_ms, _)| *at_ms);
        if last_ms.is_some_and(|last_ms| now_ms.saturating_sub(last_ms) < SAMPLE_MS) {
            return;
        }
        self.samples.push_back((now_ms, bytes));
        let is_old = |(at_ms, _): &(u64, u64)| now_ms.saturating_sub(*at_ms) > WINDOW_MS;
        while self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
    }

    /// The bytes per second; none before there is enough to tell.
    pub(crate) fn bytes_per_second(&self) -> Option<u64> {
        let ((from_ms, from), (to_ms, to)) = (self.samples.front()?, self.samples.back()?);
        let span_ms = to_ms.saturating_sub(*from_ms);
        let bytes = to.saturating_sub(*from);
        (span_ms >= SPAN_MS_MIN).then(|| bytes.saturating_mul(1_000) / span_ms)
    }

    /// The seconds until the rest is there; none without a rate.
    pub(crate) fn seconds_left(&self, rest: u64) -> Option<u64> {
        let rate = self.bytes_per_second().filter(|rate| *rate > 0)?;
        Some(rest.div_ceil(rate))
    }
}

#[cfg(test)]
#[path = "transfer_rate_tests.rs"]
mod tests;
