//! An injected clock. Wall time is for people and stored rows. Monotonic time is for deadlines, so
//! that setting the machine's clock never fires or delays one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of time; cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<ClockSource>);

enum ClockSource {
    System {
        started: Instant,
    },
    Manual {
        wall_ms: AtomicU64,
        monotonic_ms: AtomicU64,
    },
}

impl Clock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Clock(Arc::new(ClockSource::System {
            started: Instant::now(),
        }))
    }

    /// Returns a clock that a test advances.
    pub fn manual(wall_ms: u64) -> Self {
        Clock(Arc::new(ClockSource::Manual {
            wall_ms: AtomicU64::new(wall_ms),
            monotonic_ms: AtomicU64::new(0),
        }))
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> u64 {
        match &*self.0 {
            ClockSource::System { .. } => crate::failpoint::moved(system_wall_ms()),
            ClockSource::Manual { wall_ms, .. } => wall_ms.load(Ordering::Relaxed),
        }
    }

    /// Milliseconds since this clock was created; never goes back.
    pub fn monotonic_ms(&self) -> u64 {
        match &*self.0 {
            ClockSource::System { started } => {
                u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
            }
            ClockSource::Manual { monotonic_ms, .. } => monotonic_ms.load(Ordering::Relaxed),
        }
    }

    /// Like [`Clock::monotonic_ms`], in microseconds, for measuring durations.
    pub fn monotonic_us(&self) -> u64 {
        match &*self.0 {
            ClockSource::System { started } => {
                u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
            }
            ClockSource::Manual { monotonic_ms, .. } => {
                monotonic_ms.load(Ordering::Relaxed) * 1_000
            }
        }
    }

    /// Advances a manual clock; does nothing on the system clock.
    pub fn advance(&self, by_ms: u64) {
        if let ClockSource::Manual {
            wall_ms,
            monotonic_ms,
        } = &*self.0
        {
            wall_ms.fetch_add(by_ms, Ordering::Relaxed);
            monotonic_ms.fetch_add(by_ms, Ordering::Relaxed);
        }
    }

    /// Sets the wall time of a manual clock; monotonic time does not change.
    pub fn set_wall(&self, to_ms: u64) {
        if let ClockSource::Manual { wall_ms, .. } = &*self.0 {
            wall_ms.store(to_ms, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({} ms)", self.wall_ms())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that asks the machine for the time"
)]
fn system_wall_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // hob still works on a machine whose clock is before 1970; its rows say 1970.
    since.map_or(0, |elapsed| {
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    })
}
