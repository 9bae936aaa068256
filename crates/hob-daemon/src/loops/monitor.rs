//! Runs a loop's monitor command. Its output goes out as an event and into the next prompt. A
//! failure or a timeout is an output like any other.

use super::LoopContext;
use crate::scheduled_command::ScheduledCommand;
use hob_wire::rooms::loops::{LoopMonitor, LoopMonitorPayload, MonitorOutput};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs the monitor until it exits, times out or is stopped.
pub(super) async fn run_monitor(
    context: Arc<LoopContext>,
    name: String,
    command: ScheduledCommand,
    stop: CancellationToken,
) -> (ScheduledCommand, MonitorOutput) {
    let outcome = context.command_runner.run(&command, &stop).await;
    let output = outcome.into_output(context.deps.clock.wall_ms());
    let payload = LoopMonitorPayload {
        name,
        output: output.clone(),
    };
    context.emitter.emit::<LoopMonitor>(None, &payload);
    (command, output)
}
