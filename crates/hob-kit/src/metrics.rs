//! A registry of metrics. A room registers once how its metrics are collected; `/metrics` reads
//! them.
//!
//! Invariant: collecting never waits; the name, help and kind of a metric never change.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// One value of a metric, with its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSample {
    /// A Prometheus name, such as `hob_terminals`.
    pub name: &'static str,
    pub help: &'static str,
    /// True for a counter, which only grows; false for a gauge.
    pub is_counter: bool,
    /// A label and its value, such as `outcome` and `failed`. Samples of one name follow each other.
    pub label: Option<(&'static str, &'static str)>,
    pub value: u64,
}

type MetricCollector = Box<dyn Fn() -> Vec<MetricSample> + Send + Sync>;

/// All registered metrics; cheap to clone.
#[derive(Clone, Default)]
pub struct MetricRegistry {
    // A std mutex: held to add a reader or to read numbers, never over an await.
    readers: Arc<Mutex<Vec<MetricCollector>>>,
}

impl MetricRegistry {
    /// Registers a function that collects samples.
    pub fn register(&self, read: impl Fn() -> Vec<MetricSample> + Send + Sync + 'static) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.push(Box::new(read));
    }

    /// Collects all samples, in the order of registration.
    pub fn collect(&self) -> Vec<MetricSample> {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.iter().flat_map(|read| read()).collect()
    }
}

impl fmt::Debug for MetricRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").finish_non_exhaustive()
    }
}
