//! Times and their percentiles.

use std::time::Duration;

/// Samples of one kind.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub(crate) fn extend(&mut self, others: Samples) {
        self.0.extend(others.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The sample below which `percent` of all lie, in milliseconds.
    pub(crate) fn percentile_ms(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        let at = (self.0.len() * percent / 100).min(last);
        self.0
            .get(at)
            .map_or(f64::NAN, |sample| sample.as_secs_f64() * 1_000.0)
    }
}

/// How many a second.
pub(crate) fn rate(count: usize, elapsed: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts here stay far below 2^52"
    )]
    let count = count as f64;
    count / elapsed.as_secs_f64()
}
