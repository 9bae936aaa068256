//! How the bus stops: nothing new, what is under way first, then the links.

use crate::hub::{Hub, encode_error, gone};
use crate::party::{Home, Party};
use crate::peer::Closed;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it is looked whether the waiting is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// See [`crate::Bus::drain`].
pub(crate) async fn drain(hub: &Arc<Hub>, within: Duration) -> bool {
    hub.draining.store(true, Ordering::Relaxed);
    hub.tasks.begin_drain();
    // A quarter of the time is kept for flushing.
    let idle = || hub.tally.pending.get() == 0;
    let _ = tokio::time::timeout(within * 3 / 4, until(idle)).await;
    let outside: Vec<Arc<Party>> = hub.parties.all();
    let outside = || outside.iter().filter(|party| party.home == Home::Outside);
    // Every caller from outside is told before anyone is closed.
    fail_callers_from_outside(hub);
    for party in outside() {
        hub.close(party, Closed::ShuttingDown);
    }
    let flushed = || hub.outlets.load(Ordering::Relaxed) == 0;
    tokio::time::timeout(within / 4, until(flushed))
        .await
        .is_ok()
}

/// Requests between rooms are left alone: rooms go on until their tasks are stopped, so that
/// nothing inside takes the end of a connection for a failure of its own work.
fn fail_callers_from_outside(hub: &Hub) {
    let routes = hub.registry.routes();
    let owners = routes.services.values().filter_map(|it| it.owner.clone());
    for server in owners.chain(hub.parties.all()) {
        for waiting in server.pending.take_from_outside() {
            let error = encode_error(&gone(&waiting.method.service));
            hub.finish(waiting, Err(error));
        }
    }
}

async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
