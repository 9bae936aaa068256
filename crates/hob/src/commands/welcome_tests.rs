//! The first screen, at 80 columns.

use super::*;
use crate::render::text::width;
use hob_wire::rooms::daemon::{StoreState, StoreStatus};

const NOW: u64 = 1_794_778_625_000;

fn view(status: Result<Option<DaemonStatus>, CommandFailure>) -> WelcomeScreen {
    WelcomeScreen {
        home: "/home/ada/.local/share/hob".to_owned(),
        is_new: true,
        program: "target/release/hob".to_owned(),
        status,
    }
}

fn status() -> DaemonStatus {
    DaemonStatus {
        version: "0.1.0".to_owned(),
        protocol: 1,
        pid: 4_242,
        epoch: 3,
        started_at: NOW - 11_520_000,
        home: "/home/ada/.local/share/hob".to_owned(),
        listeners: vec!["http 127.0.0.1:7717".to_owned()],
        notes: Vec::new(),
        store: StoreStatus {
            state: StoreState::Ready,
            message: None,
            losses: Vec::new(),
            findings: Vec::new(),
            damaged: Vec::new(),
            schema: 1,
            sqlite: "3.54.1".to_owned(),
            bytes: 1_258_291,
        },
        sessions: 3,
        seq: 128,
    }
}

fn drawn(view: &WelcomeScreen) -> String {
    let lines = lines(view, &ScreenStyle::plain(NOW));
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
    lines.join("\n")
}

#[test]
fn a_newcomer_sees_where_they_are_and_what_to_try() {
    insta::assert_snapshot!(drawn(&view(Ok(None))));
}

#[test]
fn a_running_daemon_shows_how_it_is() {
    let mut view = view(Ok(Some(status())));
    view.program = "hob".to_owned();
    insta::assert_snapshot!(drawn(&view));
}

#[test]
fn a_daemon_that_refuses_is_named() {
    let failure = CommandFailure::failed("The daemon refused the token: it is not known.");
    let text = drawn(&view(Err(failure)));
    assert!(text.contains("refused the token"), "{text}");
}
