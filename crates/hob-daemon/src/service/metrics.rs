//! `service.metrics`: samples of the processor time and memory of running services.
//!
//! Invariants: a service has at most [`SAMPLES_MAX`] samples; while none runs, nothing is read; a
//! service that hob did not start has no samples, because its processes are not hob's to look at.

use super::ServiceContext;
use hob_exec::process_usage::{self, ProcessUsage};
use hob_wire::WireError;
use hob_wire::rooms::service::{ServiceMetrics, ServiceSample, ServiceSelector};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Samples kept of a service: an hour.
pub(super) const SAMPLES_MAX: usize = 360;
const INTERVAL: Duration = Duration::from_secs(10);
/// A request takes a sample of its own if the last one is older.
const FRESH_MS: u64 = 2_000;

/// The samples of all services.
#[derive(Debug, Default)]
// A std mutex: held to add or copy samples, never over an await.
pub(super) struct SampleHistory(Mutex<BTreeMap<String, ServiceHistory>>);

#[derive(Debug, Default)]
struct ServiceHistory {
    /// The process, monotonic time and processor time of the last sample.
    last: Option<(u32, u64, u64)>,
    samples: VecDeque<ServiceSample>,
}

/// The moment of a sample.
#[derive(Clone, Copy, Debug)]
struct SampleTime {
    wall_ms: u64,
    monotonic_ms: u64,
}

impl SampleHistory {
    fn add(&self, name: &str, pid: u32, at: SampleTime, usage: ProcessUsage) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = all.entry(name.to_owned()).or_default();
        let last = history.last.filter(|(former, _, _)| *former == pid);
        let cpu = last.and_then(|(_, since_ms, cpu_ms)| {
            let span_ms = at.monotonic_ms.saturating_sub(since_ms);
            let used_ms = usage.cpu_ms.saturating_sub(cpu_ms);
            used_ms.saturating_mul(1_000).checked_div(span_ms)
        });
        history.last = Some((pid, at.monotonic_ms, usage.cpu_ms));
        history.samples.push_back(ServiceSample {
            at: at.wall_ms,
            cpu_millis: cpu,
            memory_bytes: usage.memory_bytes,
            processes: usage.processes,
        });
        if history.samples.len() > SAMPLES_MAX {
            history.samples.pop_front();
        }
    }

    fn of(&self, name: &str) -> Vec<ServiceSample> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = all.get(name);
        history.map_or_else(Vec::new, |it| it.samples.iter().cloned().collect())
    }

    /// True if the last sample of this process is older than [`FRESH_MS`], or there is none.
    fn is_due(&self, name: &str, pid: u32, now_ms: u64) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.get(name).and_then(|history| history.last);
        last.is_none_or(|(former, at_ms, _)| {
            former != pid || now_ms.saturating_sub(at_ms) >= FRESH_MS
        })
    }

    /// Forgets services that no longer exist.
    fn retain(&self, exists: impl Fn(&str) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|name, _| exists(name));
    }
}

impl ServiceContext {
    pub(super) async fn metrics(
        self: &Arc<Self>,
        params: ServiceSelector,
    ) -> Result<ServiceMetrics, WireError> {
        let (service, handle) = self.find_named(&params.name).await?;
        let name = service.descriptor.name.clone();
        let pid = handle.view.borrow().status.pid;
        let now_ms = self.deps.clock.monotonic_ms();
        if let Some(pid) = pid.filter(|pid| self.samples.is_due(&name, *pid, now_ms)) {
            self.sample(vec![(name.clone(), pid)]).await;
        }
        Ok(ServiceMetrics {
            samples: self.samples.of(&name),
            interval_ms: u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX),
            name,
        })
    }

    /// Takes samples of the running services until the daemon stops.
    pub(super) async fn keep_samples(self: &Arc<Self>) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let running: Vec<(String, u32)> = {
                let registry = self.registry();
                self.samples
                    .retain(|name| registry.handles.contains_key(name));
                let all = registry.handles.iter();
                let pid = |name: &String, pid: Option<u32>| Some((name.clone(), pid?));
                all.filter_map(|(name, handle)| pid(name, handle.view.borrow().status.pid))
                    .collect()
            };
            if !running.is_empty() {
                self.sample(running).await;
            }
        }
    }

    async fn sample(&self, running: Vec<(String, u32)>) {
        let pids = running.iter().map(|(_, pid)| i32::try_from(*pid));
        let pids: Vec<i32> = pids.map(|pid| pid.unwrap_or(i32::MAX)).collect();
        let read = tokio::task::spawn_blocking(move || process_usage::of_children(&pids));
        let Ok(usages) = read.await else {
            return;
        };
        let at = SampleTime {
            wall_ms: self.deps.clock.wall_ms(),
            monotonic_ms: self.deps.clock.monotonic_ms(),
        };
        for ((name, pid), usage) in running.iter().zip(usages) {
            if let Some(usage) = usage {
                self.samples.add(name, *pid, at, usage);
            }
        }
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
