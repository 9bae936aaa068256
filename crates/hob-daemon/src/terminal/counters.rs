//! Counters of terminal commands for `/metrics`.

use super::TerminalContext;
use super::handle::TerminalHandle;
use hob_kit::metrics::MetricSample;
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use std::sync::atomic::{AtomicU64, Ordering};

/// Commands that ended since the daemon started, by outcome.
#[derive(Debug, Default)]
pub(super) struct CommandCounters {
    succeeded: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    timed_out: AtomicU64,
    lost: AtomicU64,
    ran_ms: AtomicU64,
}

impl CommandCounters {
    pub(super) fn count_end(&self, command: &TerminalCommand) {
        let count = match command.state {
            CommandState::Done if command.exit_code == Some(0) => &self.succeeded,
            CommandState::Done => &self.failed,
            CommandState::Cancelled => &self.cancelled,
            CommandState::Timeout => &self.timed_out,
            // Only ended commands come here, so the first two do not occur.
            CommandState::Queued | CommandState::Running | CommandState::Lost => &self.lost,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let ran_ms = command.duration_ms.unwrap_or_default();
        self.ran_ms.fetch_add(ran_ms, Ordering::Relaxed);
    }
}

impl TerminalContext {
    /// Returns the metrics of all terminals, for hob's commands and typed lines alike.
    pub(super) fn figures(&self) -> Vec<MetricSample> {
        let gauge = |name, help, value| MetricSample {
            name,
            help,
            is_counter: false,
            label: None,
            value,
        };
        let seen: Vec<_> = self
            .handles()
            .values()
            .map(TerminalHandle::snapshot)
            .collect();
        let running = seen.iter().filter(|terminal| terminal.running.is_some());
        let queued = seen.iter().map(|terminal| u64::from(terminal.queued));
        let mut figures = vec![
            gauge("hob_terminals", "Terminals alive.", seen.len() as u64),
            gauge(
                "hob_terminal_commands_running",
                "Commands that run in terminals.",
                running.count() as u64,
            ),
            gauge(
                "hob_terminal_commands_queued",
                "Commands that wait in terminals.",
                queued.sum(),
            ),
        ];
        let tally = &self.counters;
        for (outcome, count) in [
            ("succeeded", &tally.succeeded),
            ("failed", &tally.failed),
            ("cancelled", &tally.cancelled),
            ("timeout", &tally.timed_out),
            ("lost", &tally.lost),
        ] {
            figures.push(MetricSample {
                name: "hob_terminal_commands_total",
                help: "Commands in terminals that ended, by how.",
                is_counter: true,
                label: Some(("outcome", outcome)),
                value: count.load(Ordering::Relaxed),
            });
        }
        figures.push(MetricSample {
            name: "hob_terminal_command_milliseconds_total",
            help: "Time that commands in terminals ran.",
            is_counter: true,
            label: None,
            value: tally.ran_ms.load(Ordering::Relaxed),
        });
        figures
    }
}
