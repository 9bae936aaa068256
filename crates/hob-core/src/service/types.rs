//! The settings, inputs and outputs of the service machine.

/// The condition for restarting a service that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

/// The supervision settings of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServicePolicy {
    pub restart: RestartPolicy,
    /// The service has a health check; otherwise it is ready once it has run for a moment.
    pub has_health_check: bool,
    /// The longest time until it is ready.
    pub ready_timeout_ms: u64,
    /// The time between two probes of a running service.
    pub probe_interval_ms: u64,
    /// This many consecutive failures mean that it hangs.
    pub probe_failures_max: u32,
    /// The most restarts within any `window_ms`.
    pub restarts_max: u32,
    pub window_ms: u64,
    /// The service stops after this long without use.
    pub idle_ms: Option<u64>,
}

/// An input of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceEvent {
    /// A person, or another service, wants it to run.
    Wanted,
    /// Stop it.
    Unwanted,
    /// Its process runs.
    Started,
    /// It already runs and is healthy, and hob did not start it.
    Adopted,
    /// There is nothing to start.
    Absent,
    /// It cannot be started, and a retry would not help.
    Refused,
    /// The answer to [`ServiceEffect::Probe`].
    Probed { healthy: bool },
    /// All of its processes ended; also when it could not be started this time.
    Ended { success: bool },
    /// The time of its last use.
    Used { at_ms: u64 },
    /// Time has passed.
    Tick,
}

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceEffect {
    /// Find and start it; answered by `Started`, `Adopted`, `Absent`, `Refused` or `Ended`.
    Start,
    /// Kill it and every descendant, or the start in progress; answered by `Ended`.
    Kill,
    /// Probe its health; answered by `Probed`.
    Probe,
}

/// The state of a service as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceMachineState {
    Stopped,
    Starting,
    Running,
    Stopping,
    Backoff,
    Failed,
}
