//! Graceful shutdown: refuse new work, wait for requests in flight, then close the links.

use crate::endpoint::{Endpoint, EndpointOrigin};
use crate::hub::{Hub, encode_error, service_gone};
use crate::peer::CloseReason;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The interval of checks while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// See [`crate::Bus::drain`].
pub(crate) async fn drain(hub: &Arc<Hub>, within: Duration) -> bool {
    hub.draining.store(true, Ordering::Relaxed);
    hub.tasks.begin_drain();
    // Three quarters of the time for requests in flight; the rest is kept for flushing.
    let idle = || hub.counters.pending.get() == 0;
    // Running out of time is no error: external requests that are left are failed below.
    let _ = tokio::time::timeout(within * 3 / 4, wait_until(idle)).await;
    let external: Vec<Arc<Endpoint>> = hub.endpoints.all();
    let external = || {
        external
            .iter()
            .filter(|endpoint| endpoint.origin == EndpointOrigin::External)
    };
    // Every external caller is answered before any link is closed; otherwise closing a service's
    // link would fail its callers after their own links were gone.
    fail_external_callers(hub);
    for endpoint in external() {
        hub.close(endpoint, CloseReason::ShuttingDown);
    }
    let flushed = || hub.open_outlets.load(Ordering::Relaxed) == 0;
    tokio::time::timeout(within / 4, wait_until(flushed))
        .await
        .is_ok()
}

/// Fails the requests of external callers. Requests between rooms continue, because rooms run until
/// their tasks stop and must not see the shutdown as a failure of their own work.
fn fail_external_callers(hub: &Hub) {
    let routes = hub.registry.routes();
    let owners = routes.services.values().filter_map(|it| it.owner.clone());
    for server in owners.chain(hub.endpoints.all()) {
        for pending in server.pending.take_external() {
            let error = encode_error(&service_gone(&pending.method.service));
            hub.finish_forwarded(pending, Err(error));
        }
    }
}

async fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
