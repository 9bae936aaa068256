//! What a daemon costs that has nothing to do: the processor time and the memory of one with
//! something to keep, beside one with nothing, over the same while.

use crate::daemon::Process;
use crate::report::Row;
use anyhow::Result;
use std::time::Duration;

/// Two daemons at rest.
pub(crate) struct AtRest<'p> {
    /// What is kept: `1000 loops`.
    pub(crate) what: String,
    pub(crate) hob: &'p Process,
    pub(crate) bare: &'p Process,
    /// What the bare one has: `no loop`.
    pub(crate) bare_name: &'static str,
    pub(crate) memory_mb: fn(&Process) -> Result<f64>,
}

impl AtRest<'_> {
    /// Rests, and measures it.
    pub(crate) async fn rows(&self, rest: Duration) -> Result<[Row; 2]> {
        let before = (self.hob.processor()?, self.bare.processor()?);
        tokio::time::sleep(rest).await;
        let share = |before: Duration, after: Duration| {
            after.saturating_sub(before).as_secs_f64() / rest.as_secs_f64() * 100.0
        };
        let row = |what: &str, unit, hob, bare| Row {
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
