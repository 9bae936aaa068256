//! `daemon.status` through the bus.

use crate::fixture::Fixture;
use hob_daemon::daemon::{DaemonFacts, serve};
use hob_wire::rooms::daemon::{DaemonStatusParams, Status, StoreState};
use hob_wire::rooms::session::SessionCreateParams;
use std::sync::{Arc, OnceLock};

#[tokio::test]
async fn the_status_says_what_is_true_now() {
    let house = Fixture::new();
    let listeners = Arc::new(OnceLock::new());
    let facts = DaemonFacts {
        version: "1.2.3".to_owned(),
        started_at: 17,
        listeners: Arc::clone(&listeners),
        notes: Arc::new(OnceLock::new()),
    };
    serve(&house.context, facts).expect("is served");
    let caller = house.caller();
    let early = caller
        .call::<Status>(&DaemonStatusParams {})
        .await
        .expect("answers");
    assert_eq!(early.listeners, Vec::<String>::new());
    assert_eq!((early.sessions, early.seq), (0, 0));

    let opened = vec!["ws 127.0.0.1:1".to_owned()];
    listeners.set(opened.clone()).expect("is set once");
    let created = house
        .store
        .create_session(SessionCreateParams::default())
        .await;
    created.expect("creates");
    let status = caller
        .call::<Status>(&DaemonStatusParams {})
        .await
        .expect("answers");
    assert_eq!(status.version, "1.2.3");
    assert_eq!(status.pid, std::process::id());
    assert_eq!(status.epoch, house.store.epoch());
    assert_eq!(status.started_at, 17);
    assert_eq!(status.listeners, opened);
    assert_eq!(status.store.state, StoreState::Ready);
    assert_eq!((status.sessions, status.seq), (1, 1));
    house.close().await;
}
