//! What the machine is told of a service, and what is said of its state.

use super::Shared;
use super::settings;
use hob_core::service::{Policy, Restart, State};
use hob_kit::failpoint;
use hob_services::{Descriptor, Kind};
use hob_wire::rooms::service::ServiceState;
use std::time::Duration;

/// What is promised of a service, as it is described and set.
pub(super) fn policy(shared: &Shared, descriptor: &Descriptor) -> Policy {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let idle = settings::idle(&shared.settings(), descriptor);
    Policy {
        restart: match descriptor.restart {
            hob_services::Restart::Always => Restart::Always,
            hob_services::Restart::OnFailure => Restart::OnFailure,
            hob_services::Restart::Never => Restart::Never,
        },
        has_health: descriptor.kind == Kind::Http,
        ready_ms: ms(descriptor.ready),
        live_ms: ms(descriptor.liveness.every),
        live_failures: descriptor.liveness.failures,
        restarts_max: if failpoint::broken(21) {
            u32::MAX
        } else {
            descriptor.intensity.restarts
        },
        window_ms: ms(descriptor.intensity.within),
        idle_ms: idle.map(ms),
    }
}

pub(super) fn shown(state: State) -> ServiceState {
    match state {
        State::Stopped => ServiceState::Stopped,
        State::Starting => ServiceState::Starting,
        State::Running => ServiceState::Running,
        State::Stopping => ServiceState::Stopping,
        State::Backoff => ServiceState::Backoff,
        State::Failed => ServiceState::Failed,
    }
}
