//! A timer for keep-alive messages on a silent stream.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Fires after an interval without activity. The timer is not reset for every chunk: it checks a
/// flag when it fires, so the silence is one to two intervals long.
#[derive(Debug)]
pub(crate) struct SilenceTimer {
    sleep: Pin<Box<Sleep>>,
    interval: Duration,
    has_activity: bool,
}

impl SilenceTimer {
    pub(crate) fn new(interval: Duration) -> SilenceTimer {
        SilenceTimer {
            sleep: Box::pin(tokio::time::sleep(interval)),
            interval,
            has_activity: false,
        }
    }

    /// Notes that something was received.
    pub(crate) fn note_activity(&mut self) {
        self.has_activity = true;
    }

    /// Waits for an interval without activity.
    pub(crate) async fn wait(&mut self) {
        loop {
            self.sleep.as_mut().await;
            self.sleep.as_mut().reset(Instant::now() + self.interval);
            if !std::mem::take(&mut self.has_activity) {
                return;
            }
        }
    }
}
