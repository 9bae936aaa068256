//! Converts a service's description to the machine's policy, and its state to the wire.

use super::ServiceContext;
use super::settings;
use hob_core::service::{RestartPolicy, ServiceMachineState, ServicePolicy};
use hob_services::{ServiceDescriptor, ServiceKind};
use hob_wire::rooms::service::ServiceState;
use std::time::Duration;

/// Returns the machine's policy of a service, from its descriptor and settings.
pub(super) fn policy(context: &ServiceContext, descriptor: &ServiceDescriptor) -> ServicePolicy {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let idle = settings::idle(&context.settings(), descriptor);
    ServicePolicy {
        restart: match descriptor.restart {
            hob_services::ServiceRestart::Always => RestartPolicy::Always,
            hob_services::ServiceRestart::OnFailure => RestartPolicy::OnFailure,
            hob_services::ServiceRestart::Never => RestartPolicy::Never,
        },
        has_health_check: descriptor.kind == ServiceKind::Http,
        ready_timeout_ms: ms(descriptor.ready),
        probe_interval_ms: ms(descriptor.liveness.every),
        probe_failures_max: descriptor.liveness.failures,
        restarts_max: descriptor.intensity.restarts,
        window_ms: ms(descriptor.intensity.within),
        idle_ms: idle.map(ms),
    }
}

pub(super) fn wire_state(state: ServiceMachineState) -> ServiceState {
    match state {
        ServiceMachineState::Stopped => ServiceState::Stopped,
        ServiceMachineState::Starting => ServiceState::Starting,
        ServiceMachineState::Running => ServiceState::Running,
        ServiceMachineState::Stopping => ServiceState::Stopping,
        ServiceMachineState::Backoff => ServiceState::Backoff,
        ServiceMachineState::Failed => ServiceState::Failed,
    }
}
