//! Probes for operations: `/health` says the process answers, `/ready` whether it takes work,
//! `/metrics` what it has done, as Prometheus text.

use crate::http::{Desk, Reader};
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use hob_wire::ErrorCode;
use hob_wire::rooms::daemon::StoreState;
use std::fmt::Write;
use std::sync::Arc;

/// Open to all, so it says nothing about this machine.
pub(crate) async fn health() -> &'static str {
    "ok"
}

pub(crate) async fn ready(
    State(desk): State<Arc<Desk>>,
    _: Reader,
) -> Result<&'static str, Refusal> {
    let not_ready = |message: String| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Err(Refusal::new(status, ErrorCode::ServiceUnavailable, message))
    };
    if desk.shared.is_stopping() {
        return not_ready("hob is stopping.".to_owned());
    }
    let store = desk.shared.store.status();
    if store.state == StoreState::Ready {
        return Ok("ready");
    }
    let message = store.message;
    not_ready(message.unwrap_or_else(|| "The store takes no work; see 'hob doctor'.".to_owned()))
}

pub(crate) async fn metrics(State(desk): State<Arc<Desk>>, _: Reader) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics_text(&desk))
}

fn metrics_text(desk: &Desk) -> String {
    let shared = &desk.shared;
    let bus = shared.bus.counters();
    let seats = (
        shared.connections_now() as u64,
        shared.connections_max as u64,
    );
    let mut page = Page::default();
    for (name, help, value) in [
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
            seats.0,
        ),
        ("hob_connections_max", "The most there may be.", seats.1),
    ] {
        page.gauge(name, help, value);
    }
    for (name, help, value) in [
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
            shared.tasks.panics(),
        ),
    ] {
        page.counter(name, help, value);
    }
    page.doors(desk);
    page.store(desk);
    page.rooms(desk);
    page.process();
    page.text
}

/// Prometheus text as it grows.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "gauge");
        self.line(name, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.line(name, value);
    }

    fn doors(&mut self, desk: &Desk) {
        let counts = || {
            desk.shared
                .doors
                .iter()
                .map(|door| (door.surface, door.failures()))
        };
        let name = "hob_auth_failures_total";
        self.head(name, "Wrong tokens.", "counter");
        for (surface, (failures, _)) in counts() {
            self.line(&format!("{name}{{listener=\"{surface}\"}}"), failures);
        }
        let name = "hob_auth_limited_total";
        self.head(name, "Wrong tokens beyond the rate.", "counter");
        for (surface, (_, limited)) in counts() {
            self.line(&format!("{name}{{listener=\"{surface}\"}}"), limited);
        }
    }

    fn store(&mut self, desk: &Desk) {
        let status = desk.shared.store.status();
        self.gauge(
            "hob_store_bytes",
            "Size of the database file.",
            status.bytes,
        );
        let name = "hob_store_state";
        self.head(name, "1 for the state the store is in.", "gauge");
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
            self.line(&format!("{name}{{state=\"{label}\"}}"), value);
        }
    }

    /// What the rooms of the house keep of themselves.
    fn rooms(&mut self, desk: &Desk) {
        let mut last = "";
        for figure in desk.shared.figures.read() {
            let name = figure.name;
            if name != last {
                let kind = if figure.is_counter {
                    "counter"
                } else {
                    "gauge"
                };
                self.head(name, figure.help, kind);
                last = name;
            }
            match figure.label {
                Some((label, value)) => {
                    self.line(&format!("{name}{{{label}=\"{value}\"}}"), figure.value);
                }
                None => self.line(name, figure.value),
            }
        }
    }

    /// Left out where there is no /proc.
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

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, value: u64) {
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
