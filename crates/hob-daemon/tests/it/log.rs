//! The daemon's log as events.

use crate::fixture::Fixture;
use hob_kit::clock::Clock;
use hob_kit::logging::{self, DaemonLog, LogOptions};
use hob_kit::mask::SecretMask;
use hob_kit::settings::{Settings, SettingsCatalog};
use std::sync::Arc;
use tracing_subscriber::layer::SubscriberExt;

#[tokio::test]
async fn a_logged_line_becomes_an_event_with_secrets_masked() {
    let house = Fixture::new();
    let mask = SecretMask::new();
    mask.add("swordfish-77");
    let options = LogOptions {
        file: house.home.log_file(),
        clock: Clock::manual(1_700_000_000_000),
        mask,
        mirror: false,
    };
    let catalog = Arc::new(SettingsCatalog::new(&[logging::KEYS]));
    let log = DaemonLog::new(options, &Settings::defaults(catalog));
    let lines = log.lines().expect("is the first");
    hob_daemon::log::serve(&house.context, Some(lines)).expect("is served");

    let subscriber = tracing_subscriber::registry().with(log.layer());
    tracing::subscriber::with_default(subscriber, || {
        tracing::warn!(word = "swordfish-77", "spoken");
    });
    let (notice, payload) = house.heard("log.line").await;
    assert_eq!(&*notice.source, "log");
    assert_eq!(payload["at"], 1_700_000_000_000_u64);
    assert_eq!(payload["level"], "warn");
    assert_eq!(payload["message"], "spoken word=\"[masked]\"");
    house.close().await;
}
