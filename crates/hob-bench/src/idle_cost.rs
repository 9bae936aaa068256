//! The cost of an idle daemon: processor time and memory of a daemon with stored items, compared with
//! an empty one over the same time.

use crate::daemon::ServerProcess;
use crate::report::BenchRow;
use anyhow::Result;
use std::time::Duration;

/// Two idle daemons to compare.
pub(crate) struct IdleComparison<'p> {
    /// The stored items: `1000 loops`.
    pub(crate) what: String,
    pub(crate) hob: &'p ServerProcess,
    pub(crate) bare: &'p ServerProcess,
    /// The name of the empty daemon: `no loop`.
    pub(crate) bare_name: &'static str,
    pub(crate) memory_mb: fn(&ServerProcess) -> Result<f64>,
}

impl IdleComparison<'_> {
    /// Waits for the duration and measures both.
    pub(crate) async fn rows(&self, rest: Duration) -> Result<[BenchRow; 2]> {
        let before = (self.hob.processor()?, self.bare.processor()?);
        tokio::time::sleep(rest).await;
        let share = |before: Duration, after: Duration| {
            after.saturating_sub(before).as_secs_f64() / rest.as_secs_f64() * 100.0
        };
        let row = |what: &str, unit, hob, bare| BenchRow {
            name: format!("{} at rest, {what}", self.what),
            unit,
            hob,
            yardstick: Some(bare),
            yardstick_name: self.bare_name,
            goal: None,
        };
        let hob = share(before.0, self.hob.processor()?);
        let bare = share(before.1, self.bare.processor()?);
        let memory = ((self.memory_mb)(self.hob)?, (self.memory_mb)(self.bare)?);
        Ok([
            row("processor", "% of a core", hob, bare),
            row("memory", "MB", memory.0, memory.1),
        ])
    }
}
