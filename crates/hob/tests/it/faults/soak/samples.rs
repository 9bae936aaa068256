//! What the daemon takes while it works: memory and descriptors, sampled, and the line through
//! them.

use crate::faults::http;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use std::time::{Duration, Instant};

/// How often a sample is taken.
const EVERY: Duration = Duration::from_secs(1);
const MIB: f64 = 1024.0 * 1024.0;

/// What a soak may take.
pub(super) struct Bounds {
    /// The slope of the line through the samples after the warm-up.
    pub(super) slope_mib_an_hour: Option<f64>,
    /// From the middle of the first fifth after the warm-up to the middle of the last.
    pub(super) rise_mib: f64,
    /// Descriptors at the most in the last fifth, beyond those of the first.
    pub(super) descriptors: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Since the warm-up.
    seconds: f64,
    resident_mib: f64,
    descriptors: u64,
}

/// The samples after the warm-up, in the order of their time.
pub(super) struct Samples(Vec<Sample>);

/// A line through samples.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// A second.
    slope: f64,
    /// The standard error of the slope.
    error: f64,
}

impl Samples {
    /// Watches the daemon for `length`, of which the first `warm_up` is not kept.
    pub(super) fn gather(rig: &Rig, length: Duration, warm_up: Duration) -> Samples {
        let begun = Instant::now();
        let mut kept = Vec::new();
        while begun.elapsed() < length {
            std::thread::sleep(EVERY);
            let Some(seconds) = begun.elapsed().checked_sub(warm_up) else {
                continue;
            };
            let figures = metrics(rig);
            kept.push(Sample {
                seconds: seconds.as_secs_f64(),
                resident_mib: gauge(&figures, "hob_process_resident_bytes") / MIB,
                descriptors: whole(gauge(&figures, "hob_process_open_files")),
            });
        }
        Samples(kept)
    }

    pub(super) fn report(&self, trial: &Trial) {
        let (first, last) = (self.first_fifth(), self.last_fifth());
        let (from, to) = (middle_mib(first), middle_mib(last));
        trial.figure("rss_mib", format_args!("{from:.1} to {to:.1}"));
        let line = self.memory_line();
        let (slope, error) = (line.slope * 3600.0, line.error * 3600.0);
        trial.figure("rss_mib_an_hour", format_args!("{slope:.2} ± {error:.2}"));
        let (from, to) = (most_descriptors(first), most_descriptors(last));
        trial.figure("descriptors", format_args!("{from} to {to}"));
        if std::env::var("HOB_SOAK_SAMPLES").is_ok() {
            for sample in &self.0 {
                println!("{sample:?}");
            }
        }
    }

    pub(super) fn check(&self, bounds: &Bounds) {
        let (first, last) = (self.first_fifth(), self.last_fifth());
        let rise = middle_mib(last) - middle_mib(first);
        assert!(
            rise <= bounds.rise_mib,
            "resident memory rose by {rise:.1} MiB"
        );
        if let Some(most) = bounds.slope_mib_an_hour {
            let line = self.memory_line();
            // What is surely more than the bound: twice the standard error is given to noise.
            let surely = (line.slope - 2.0 * line.error) * 3600.0;
            assert!(
                surely <= most,
                "resident memory rises by more than {surely:.2} MiB an hour"
            );
        }
        let (from, to) = (most_descriptors(first), most_descriptors(last));
        assert!(
            to <= from + bounds.descriptors,
            "descriptors rose from {from} to {to}"
        );
    }

    fn first_fifth(&self) -> &[Sample] {
        &self.0[..self.0.len().div_ceil(5)]
    }

    fn last_fifth(&self) -> &[Sample] {
        &self.0[self.0.len() - self.0.len().div_ceil(5)..]
    }

    fn memory_line(&self) -> Line {
        let points = self.0.iter().map(|it| (it.seconds, it.resident_mib));
        Line::through(&points.collect::<Vec<_>>())
    }
}

impl Line {
    /// The line with the least sum of squares of its distances to the points.
    #[expect(clippy::cast_precision_loss, reason = "samples are few")]
    fn through(points: &[(f64, f64)]) -> Line {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let common: f64 = points
            .iter()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum();
        let slope = common / spread;
        let rest: f64 = points
            .iter()
            .map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2))
            .sum();
        let error = (rest / (count - 2.0) / spread).sqrt();
        Line { slope, error }
    }
}

/// The median of the resident memory.
fn middle_mib(samples: &[Sample]) -> f64 {
    let mut sizes: Vec<f64> = samples.iter().map(|it| it.resident_mib).collect();
    sizes.sort_by(f64::total_cmp);
    sizes[sizes.len() / 2]
}

fn most_descriptors(samples: &[Sample]) -> u64 {
    let all = samples.iter().map(|it| it.descriptors);
    all.max().expect("samples")
}

fn metrics(rig: &Rig) -> String {
    let bearer = format!("Authorization: Bearer {}", rig.token());
    let request = http::request("GET", rig.port(), "/metrics", &[&bearer], "");
    let reply = http::exchange(rig.port(), &request).expect("the metrics");
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

fn gauge(figures: &str, name: &str) -> f64 {
    let line = figures
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = line.and_then(|value| value.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name} is a figure"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of descriptors"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
