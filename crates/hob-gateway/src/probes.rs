//! Operational probes: `/health` (the process answers), `/ready` (it accepts work) and `/metrics`
//! (Prometheus text).

use crate::http::{HttpState, ReadScope};
use crate::http_error::HttpError;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use hob_wire::ErrorCode;
use hob_wire::rooms::daemon::StoreState;
use std::fmt::Write;
use std::sync::Arc;

/// Needs no token, so it reveals nothing about this machine.
pub(crate) async fn health() -> &'static str {
    "ok"
}

pub(crate) async fn ready(
    State(state): State<Arc<HttpState>>,
    _: ReadScope,
) -> Result<&'static str, HttpError> {
    let not_ready = |message: String| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Err(HttpError::new(
            status,
            ErrorCode::ServiceUnavailable,
            message,
        ))
    };
    // A stopping daemon is not ready, even if its store is.
    if state.shared.is_stopping() {
        return not_ready("hob is stopping.".to_owned());
    }
    let store = state.shared.store.status();
    if store.state == StoreState::Ready {
        return Ok("ready");
    }
    let message = store.message;
    not_ready(message.unwrap_or_else(|| "The store takes no work; see 'hob doctor'.".to_owned()))
}

pub(crate) async fn metrics(
    State(state): State<Arc<HttpState>>,
    _: ReadScope,
) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics_text(&state))
}

fn metrics_text(state: &HttpState) -> String {
    let mut page = MetricsText::default();
    page.bus_gauges(state);
    page.bus_counters(state);
    page.auth_failures(state);
    page.store(state);
    page.room_metrics(state);
    page.process();
    page.text
}

/// A builder of Prometheus text.
#[derive(Default)]
struct MetricsText {
    text: String,
}

impl MetricsText {
    fn bus_gauges(&mut self, state: &HttpState) {
        let shared = &state.shared;
        let bus = shared.bus.counters();
        let (open, max) = (shared.connections_now(), shared.connections_max);
        let rows = [
            ("hob_uptime_milliseconds", "Since the start.", bus.uptime),
            ("hob_services", "Services registered.", bus.services),
            ("hob_bus_connections", "Links of the bus.", bus.connections),
            (
                "hob_pending_requests",
                "Requests unanswered.",
                bus.pending_requests,
            ),
            ("hob_event_seq", "The last logged event.", bus.seq),
            (
                "hob_connections",
                "Connections, over all listeners.",
                open as u64,
            ),
            ("hob_connections_max", "The most there may be.", max as u64),
        ];
        for (name, help, value) in rows {
            self.gauge(name, help, value);
        }
    }

    fn bus_counters(&mut self, state: &HttpState) {
        let bus = state.shared.bus.counters();
        let rows = [
            ("hob_requests_total", "Requests routed.", bus.requests_total),
            (
                "hob_errors_total",
                "Requests that failed.",
                bus.errors_total,
            ),
            ("hob_events_total", "Events published.", bus.events_total),
            (
                "hob_coalesced_total",
                "Volatile events left out.",
                bus.coalesced_total,
            ),
            (
                "hob_slow_closed_total",
                "Slow connections closed.",
                bus.slow_closed_total,
            ),
            (
                "hob_stray_answers_total",
                "Answers to no request.",
                bus.stray_answers_total,
            ),
            (
                "hob_handler_panics_total",
                "Handlers that panicked.",
                bus.handler_panics_total,
            ),
            (
                "hob_task_panics_total",
                "Tasks that panicked.",
                state.shared.tasks.panics(),
            ),
        ];
        for (name, help, value) in rows {
            self.counter(name, help, value);
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.write_header(name, help, "gauge");
        self.write_sample(name, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.write_header(name, help, "counter");
        self.write_sample(name, value);
    }

    fn auth_failures(&mut self, state: &HttpState) {
        let counts = || {
            state
                .shared
                .authenticators
                .iter()
                .map(|authenticator| (authenticator.surface, authenticator.failure_counts()))
        };
        let name = "hob_auth_failures_total";
        self.write_header(name, "Wrong tokens.", "counter");
        for (surface, (failures, _)) in counts() {
            self.write_sample(&format!("{name}{{listener=\"{surface}\"}}"), failures);
        }
        let name = "hob_auth_limited_total";
        self.write_header(name, "Wrong tokens beyond the rate.", "counter");
        for (surface, (_, limited)) in counts() {
            self.write_sample(&format!("{name}{{listener=\"{surface}\"}}"), limited);
        }
    }

    fn store(&mut self, state: &HttpState) {
        let status = state.shared.store.status();
        self.gauge(
            "hob_store_bytes",
            "Size of the database file.",
            status.bytes,
        );
        let name = "hob_store_state";
        self.write_header(name, "1 for the state the store is in.", "gauge");
        let labels = [
            ("ready", StoreState::Ready),
            ("full", StoreState::Full),
            ("damaged", StoreState::Damaged),
            ("fenced", StoreState::Fenced),
            ("replaced", StoreState::Replaced),
            ("failing", StoreState::Failing),
        ];
        for (label, state) in labels {
            let value = u64::from(status.state == state);
            self.write_sample(&format!("{name}{{state=\"{label}\"}}"), value);
        }
    }

    /// Adds the metrics of the rooms.
    fn room_metrics(&mut self, state: &HttpState) {
        let mut last = "";
        for figure in state.shared.figures.collect() {
            let name = figure.name;
            // Prometheus wants one header for all samples of a name, and these follow each other.
            if name != last {
                let kind = if figure.is_counter {
                    "counter"
                } else {
                    "gauge"
                };
                self.write_header(name, figure.help, kind);
                last = name;
            }
            match figure.label {
                Some((label, value)) => {
                    self.write_sample(&format!("{name}{{{label}=\"{value}\"}}"), figure.value);
                }
                None => self.write_sample(name, figure.value),
            }
        }
    }

    /// Adds figures of the process, where there is a /proc.
    fn process(&mut self) {
        if let Some(bytes) = resident_bytes() {
            let name = "hob_process_resident_bytes";
            self.gauge(name, "Resident memory.", bytes);
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            self.gauge(
                "hob_process_open_files",
                "Open files.",
                files.count() as u64,
            );
        }
    }

    fn write_header(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn write_sample(&mut self, name: &str, value: u64) {
        let _ = writeln!(self.text, "{name} {value}");
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1_024)
}
