//! Starting a daemon: notices, refusals and errors.

use crate::fake::{Daemon, soon};
use hob_client::ClientError;
use hob_client::launcher::DaemonLauncher;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::{EnvVars, HostEnvironment};
use hob_kit::randomness::Randomness;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn world(home: &Home, autostart: &str) -> HostEnvironment {
    HostEnvironment {
        clock: Clock::system(),
        randomness: Randomness::seeded(1),
        env: EnvVars::from_pairs([("HOB_AUTOSTART", autostart)]),
        home: home.clone(),
    }
}

/// A program in place of the daemon, which runs `script`.
fn program(directory: &Path, script: &str) -> PathBuf {
    let path = directory.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("ours");
    path
}

fn empty_home() -> (tempfile::TempDir, Home) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let home = Home::at(&root.path().join("home"));
    (root, home)
}

#[tokio::test]
async fn nothing_is_started_when_that_is_forbidden() {
    let (root, home) = empty_home();
    let mark = root.path().join("started");
    let program = program(root.path(), &format!("touch '{}'", mark.display()));
    let launch = DaemonLauncher::new(&world(&home, "0"), program, |_| {});
    let error = soon(launch.ensure()).await.err();
    assert!(
        matches!(error, Some(ClientError::NotRunning { .. })),
        "{error:?}"
    );
    assert!(!mark.exists() && !home.root().exists());
}

#[tokio::test]
async fn a_start_that_fails_says_what_the_daemon_said() {
    let (root, home) = empty_home();
    let program = program(
        root.path(),
        "echo \"got $*\"; echo 'the moon is full' >&2; exit 7",
    );
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let launch = DaemonLauncher::new(&world(&home, "1"), program, move |line| {
        heard.lock().expect("unpoisoned").push(line.to_owned());
    });
    let error = soon(launch.ensure())
        .await
        .expect_err("it failed")
        .to_string();
    assert!(error.contains("the moon is full"), "{error}");
    assert!(error.contains("got daemon --detached"), "{error}");
    let said = said.lock().expect("unpoisoned");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains(&home.root().display().to_string()),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_home_that_was_taken_for_a_moment_is_tried_again() {
    let (root, home) = empty_home();
    home.ensure().expect("the home can be made");
    let starts = root.path().join("starts");
    let count = || {
        std::fs::read_to_string(&starts)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let program = program(
        root.path(),
        &format!("echo >> '{}'; exit 1", starts.display()),
    );
    let launch = DaemonLauncher::new(&world(&home, "1"), program, |_| {});
    let lock = hob_kit::home_lock::HomeLock::acquire(&home).expect("free");
    let release = async {
        while count() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        // Long enough for the launch to see that the home is held by someone else.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        drop(lock);
    };
    let (failed, ()) = soon(async { tokio::join!(launch.start(), release) }).await;
    assert!(failed.is_err(), "no daemon ever came");
    assert_eq!(
        count(),
        2,
        "started again once the home was free, and failed for good"
    );
}

#[tokio::test]
async fn a_daemon_that_is_there_is_not_started_again() {
    let daemon = Daemon::start();
    let launch = DaemonLauncher::new(&world(daemon.home(), "1"), "/nonexistent".into(), |_| {
        panic!("nothing is said");
    });
    let (ensured, _peer) = soon(async { tokio::join!(launch.ensure(), daemon.accept()) }).await;
    ensured.expect("it is there");
}
