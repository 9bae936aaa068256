//! Times out requests that a service does not answer. It checks four times a second while requests
//! are pending and sleeps otherwise.

use crate::endpoint::Endpoint;
use crate::hub::{Hub, encode_error};
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::time::Duration;

const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn run(hub: Arc<Hub>) {
    loop {
        if hub.counters.pending.get() == 0 {
            hub.pending_added.notified().await;
        }
        tokio::time::sleep(SWEEP_INTERVAL).await;
        sweep(&hub);
    }
}

fn sweep(hub: &Hub) {
    let now_ms = hub.clock.monotonic_ms();
    let timeout = WireError::new(
        ErrorCode::Timeout,
        "the service did not answer in time; it is unknown whether it acted",
    );
    for server in servers(hub) {
        // Whoever takes a request out answers it, so an answer that races with this timeout counts
        // as stray.
        for pending in server.pending.take_expired(now_ms) {
            hub.finish_forwarded(pending, Err(encode_error(&timeout)));
        }
    }
}

/// Every endpoint that may have pending requests: services, and connections that were services.
fn servers(hub: &Hub) -> Vec<Arc<Endpoint>> {
    let routes = hub.registry.routes();
    let builtin = routes.services.values().filter(|it| it.offer.builtin);
    let mut servers: Vec<Arc<Endpoint>> = builtin.filter_map(|it| it.owner.clone()).collect();
    // Rooms are not in the list of endpoints. External services are, also after they gave up a name.
    servers.extend(hub.endpoints.all());
    servers
}
