//! The signals of the process: its end, and the way to the background and back.

use rustix::process::{Signal as Number, getpid, kill_process};
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessSignal {
    End,
    Suspend,
    /// Somebody else stopped the process, and it goes on.
    Resumed,
}

#[derive(Debug)]
pub(super) struct ProcessSignals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
    suspend: Signal,
    resume: Signal,
}

impl ProcessSignals {
    pub(super) fn listen() -> io::Result<ProcessSignals> {
        Ok(ProcessSignals {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            suspend: signal(SignalKind::from_raw(Number::TSTP.as_raw()))?,
            resume: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> ProcessSignal {
        tokio::select! {
            _ = self.terminate.recv() => ProcessSignal::End,
            _ = self.hangup.recv() => ProcessSignal::End,
            _ = self.interrupt.recv() => ProcessSignal::End,
            _ = self.suspend.recv() => ProcessSignal::Suspend,
            _ = self.resume.recv() => ProcessSignal::Resumed,
        }
    }
}

/// Stops this process as the shell would; returns when it goes on.
pub(super) fn stop_this_process() {
    // A signal that no handler can keep.
    let _ = kill_process(getpid(), Number::STOP);
}
