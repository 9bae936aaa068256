//! Service states in AgentLoop's format.

use super::{is_shown, translate};
use crate::agentloop::types::AgentLoopServiceStatus;
use hob_wire::rooms::service::{self, LastExit, ServiceStatus};

fn service_status(state: service::ServiceState, last_exit: Option<LastExit>) -> ServiceStatus {
    ServiceStatus {
        name: "tts".to_owned(),
        state,
        pid: Some(7),
        port: Some(80),
        detail: Some("so".to_owned()),
        last_exit,
        restarts: 1,
    }
}

#[test]
fn each_state_has_a_word() {
    use service::ServiceState::{Backoff, Failed, Running, Starting, Stopped, Stopping};
    for (ours, theirs, error) in [
        (Stopped, AgentLoopServiceStatus::Stopped, None),
        (Starting, AgentLoopServiceStatus::Starting, None),
        (Running, AgentLoopServiceStatus::Running, None),
        (Stopping, AgentLoopServiceStatus::Stopping, None),
        (Backoff, AgentLoopServiceStatus::Starting, Some("so")),
        (Failed, AgentLoopServiceStatus::Error, Some("so")),
    ] {
        let told = translate(service_status(ours, None), "kokomo".to_owned());
        assert_eq!((told.status, told.last_error.as_deref()), (theirs, error));
        assert_eq!((told.name.as_str(), told.pid), ("kokomo", Some(7)));
        assert_eq!(is_shown(&service_status(ours, None)), ours != Stopped);
    }
}

#[test]
fn how_it_ended_is_told() {
    let exited = service_status(service::ServiceState::Stopped, Some(LastExit::Code(3)));
    assert_eq!(translate(exited, String::new()).last_exit_code, Some(3));
    let mut killed = service_status(
        service::ServiceState::Failed,
        Some(LastExit::Signal("SIGKILL".to_owned())),
    );
    killed.detail = None;
    let told = translate(killed, String::new());
    assert_eq!(told.last_exit_code, None);
    assert_eq!(told.last_error.as_deref(), Some("It was ended by SIGKILL."));
}
