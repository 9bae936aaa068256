//! `log.line`: the daemon's log as events, for watchers. A line without watchers costs only its
//! place in the file. Lines that come too fast are dropped here, but stay in the file.

use crate::RoomContext;
use hob_bus::{EventEmitter, Room};
use hob_kit::logging::{self, LogLine as Logged};
use hob_wire::WireError;
use hob_wire::rooms::gateway::{ServiceConnected, ServiceDisconnected};
use hob_wire::rooms::log::{EVENTS, LogLine, LogRecord};
use tokio::sync::mpsc;

/// Serves the room `log` and turns `lines` into events until the log ends. It also logs which services
/// connect and disconnect, which the bus tells only to current listeners.
pub fn serve(
    context: &RoomContext,
    lines: Option<mpsc::Receiver<Logged>>,
) -> Result<(), WireError> {
    let room = Room::new("log")
        .events(EVENTS)
        .on::<ServiceConnected, _, _>(|_, named| async move {
            tracing::debug!(service = named.service, "a service connected");
        })
        .on::<ServiceDisconnected, _, _>(|_, named| async move {
            tracing::debug!(service = named.service, "a service disconnected");
        });
    context.bus.serve(room)?;
    if let Some(lines) = lines {
        let pump = pump(lines, context.bus.emitter("log"));
        context.tasks.spawn_until_stop("log-lines", pump);
    }
    Ok(())
}

async fn pump(mut lines: mpsc::Receiver<Logged>, emitter: EventEmitter) {
    while let Some(logged) = lines.recv().await {
        let line = LogRecord {
            at: logged.at,
            level: logged.level,
            target: logged.target,
            message: logged.message,
        };
        // Lines logged while emitting must not be emitted again.
        logging::without_line_hook(|| emitter.emit::<LogLine>(None, &line));
    }
}
