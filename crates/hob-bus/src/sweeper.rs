//! Tells callers that their service stayed silent. It looks four times a second while something
//! waits and sleeps otherwise.

use crate::hub::{Hub, encode_error};
use crate::party::Party;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::time::Duration;

const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn run(hub: Arc<Hub>) {
    loop {
        if hub.tally.pending.get() == 0 {
            hub.waiting.notified().await;
        }
        tokio::time::sleep(SWEEP_INTERVAL).await;
        sweep(&hub);
    }
}

fn sweep(hub: &Hub) {
    let now_ms = hub.clock.monotonic_ms();
    let timeout = WireError::new(
        ErrorCode::Timeout,
        "the service did not answer in time; whether it acted is not known",
    );
    for server in servers(hub) {
        for waiting in server.pending.take_expired(now_ms) {
            hub.finish(waiting, Err(encode_error(&timeout)));
        }
    }
}

/// Every party that may have been given a request: services, and connections that were one.
fn servers(hub: &Hub) -> Vec<Arc<Party>> {
    let routes = hub.registry.routes();
    let builtin = routes.services.values().filter(|it| it.offer.builtin);
    let mut servers: Vec<Arc<Party>> = builtin.filter_map(|it| it.owner.clone()).collect();
    servers.extend(hub.parties.all());
    servers
}
