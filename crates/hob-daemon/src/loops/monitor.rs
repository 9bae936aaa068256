//! A run of a loop's monitor: what it printed is told and kept for the next prompt. One that fails
//! or hangs is an output like any other.

use super::Shared;
use crate::errand::Errand;
use hob_wire::rooms::loops::{LoopMonitor, LoopMonitorPayload, MonitorOutput};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs the monitor to its end, its deadline or until it is stopped.
pub(super) async fn watch(
    shared: Arc<Shared>,
    name: String,
    errand: Errand,
    stop: CancellationToken,
) -> (Errand, MonitorOutput) {
    let outcome = shared.parts.errands.run(&errand, &stop).await;
    let output = outcome.into_output(shared.parts.clock.wall_ms());
    let payload = LoopMonitorPayload {
        name,
        output: output.clone(),
    };
    shared.emitter.emit::<LoopMonitor>(None, &payload);
    (errand, output)
}
