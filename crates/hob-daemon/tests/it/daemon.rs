//! `daemon.status` and `daemon.doctor` through the bus.

use crate::fixture::Fixture;
use hob_daemon::daemon::{DaemonFacts, serve};
use hob_wire::rooms::daemon::{
    DaemonDoctorParams, DaemonStatusParams, Doctor, DoctorFinding, FindingLevel, Status, StoreState,
};
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
        spawner: None,
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

#[tokio::test]
async fn the_doctor_finds_what_is_wrong_and_names_a_fix() {
    use std::os::unix::fs::PermissionsExt;
    let house = Fixture::new();
    let facts = DaemonFacts {
        version: "1.2.3".to_owned(),
        started_at: 17,
        listeners: Arc::new(OnceLock::new()),
        notes: Arc::new(OnceLock::from(vec![
            "Another program has port 7717. Free it.".to_owned(),
        ])),
        spawner: None,
    };
    serve(&house.context, facts).expect("is served");
    // The folder of a test is open to others.
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(house.home.root(), private).expect("ours");
    let caller = house.caller();
    let examine = async || {
        let told = caller.call::<Doctor>(&DaemonDoctorParams {}).await;
        told.expect("answers")
    };
    let level = |findings: &[DoctorFinding], check: &str| {
        let of_check = findings.iter().filter(|it| it.check == check);
        of_check.map(|it| it.level).max()
    };
    let well = examine().await;
    for check in ["home", "disk", "config", "daemon", "store"] {
        assert_eq!(
            level(&well.findings, check),
            Some(FindingLevel::Well),
            "{check} in {:#?}",
            well.findings
        );
    }
    assert_eq!(level(&well.findings, "port"), Some(FindingLevel::Warning));
    assert!(!well.scheduled_work);
    std::fs::write(house.home.config_file(), "colour = 1\n").expect("writes");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(house.home.database(), open).expect("ours");
    let ill = examine().await;
    assert_eq!(level(&ill.findings, "config"), Some(FindingLevel::Broken));
    assert_eq!(level(&ill.findings, "home"), Some(FindingLevel::Warning));
    let bad = ill
        .findings
        .iter()
        .filter(|it| it.level > FindingLevel::Well);
    assert!(bad.clone().count() >= 3, "{:#?}", ill.findings);
    assert!(bad.clone().all(|it| it.fix.is_some()));
    house.close().await;
}
