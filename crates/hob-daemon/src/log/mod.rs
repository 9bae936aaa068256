//! `log.line`: the daemon's own log as events, for whoever watches. Lines nobody watches cost
//! nothing but their place in the file; lines that come faster than they can be handed on are
//! left out here and are in the file all the same.

use hob_bus::{Emitter, Room};
use hob_kit::logging::{self, LogLine as Logged};
use hob_wire::rooms::gateway::{ServiceConnected, ServiceDisconnected};
use hob_wire::rooms::log::{Line, LogLine};
use tokio::sync::mpsc;

/// The service `log`. It also writes down which services come and go, which the bus only says
/// to whoever listens at that moment.
pub fn room() -> Room {
    Room::new("log")
        .event::<LogLine>()
        .on::<ServiceConnected, _, _>(|_, named| async move {
            tracing::debug!(service = named.service, "a service connected");
        })
        .on::<ServiceDisconnected, _, _>(|_, named| async move {
            tracing::debug!(service = named.service, "a service went away");
        })
}

/// Turns the log's lines into events until the log ends: a task of its own.
pub async fn pump(mut lines: mpsc::Receiver<Logged>, emitter: Emitter) {
    while let Some(logged) = lines.recv().await {
        let line = Line {
            at: logged.at,
            level: logged.level,
            target: logged.target,
            message: logged.message,
        };
        // Whatever emitting logs must not become a line to emit again.
        logging::quietly(|| emitter.emit::<LogLine>(None, &line));
    }
}
