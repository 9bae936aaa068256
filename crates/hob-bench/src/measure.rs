//! Times and their percentiles.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Samples of one kind.
#[derive(Debug, Default)]
pub(crate) struct LatencySamples(Vec<Duration>);

impl LatencySamples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub(crate) fn extend(&mut self, others: LatencySamples) {
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

/// The medians of several alternating rounds of hob and its yardstick: a stall of the disk hits
/// one round, and neither side alone picks its best.
#[derive(Debug, Default)]
pub(crate) struct RoundPairs {
    hob: Vec<f64>,
    yardstick: Vec<f64>,
}

impl RoundPairs {
    pub(crate) fn push(&mut self, yardstick: f64, hob: f64) {
        self.yardstick.push(yardstick);
        self.hob.push(hob);
    }

    pub(crate) fn hob(&self) -> f64 {
        median(&self.hob)
    }

    pub(crate) fn yardstick(&self) -> f64 {
        median(&self.yardstick)
    }
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs blocking work, which returns its duration, and returns its rate per second.
pub(crate) async fn blocking_rate(
    count: usize,
    work: impl FnOnce(&Path) -> Result<Duration> + Send + 'static,
) -> Result<f64> {
    let dir = TempDir::new()?;
    let path = dir.path().to_owned();
    let elapsed = tokio::task::spawn_blocking(move || work(&path)).await??;
    Ok(rate(count, elapsed))
}

/// The rate per second.
pub(crate) fn rate(count: usize, elapsed: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts here stay far below 2^52"
    )]
    let count = count as f64;
    count / elapsed.as_secs_f64()
}
