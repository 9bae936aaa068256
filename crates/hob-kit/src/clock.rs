//! Time, handed in rather than taken. Wall time is for people and rows; monotonic time is for
//! deadlines, so that setting the machine's clock never fires or starves one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of time; cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    System {
        started: Instant,
    },
    Manual {
        wall_ms: AtomicU64,
        monotonic_ms: AtomicU64,
    },
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Clock(Arc::new(Source::System {
            started: Instant::now(),
        }))
    }

    /// A clock that a test moves.
    pub fn manual(wall_ms: u64) -> Self {
        Clock(Arc::new(Source::Manual {
            wall_ms: AtomicU64::new(wall_ms),
            monotonic_ms: AtomicU64::new(0),
        }))
    }

    /// Milliseconds since 1970.
    pub fn wall_ms(&self) -> u64 {
        match &*self.0 {
            Source::System { .. } => crate::failpoint::moved(system_wall_ms()),
            Source::Manual { wall_ms, .. } => wall_ms.load(Ordering::Relaxed),
        }
    }

    /// Milliseconds since this clock was made; never goes back.
    pub fn monotonic_ms(&self) -> u64 {
        match &*self.0 {
            Source::System { started } => {
                u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
            }
            Source::Manual { monotonic_ms, .. } => monotonic_ms.load(Ordering::Relaxed),
        }
    }

    /// As [`Clock::monotonic_ms`], finer: for showing how long something took.
    pub fn monotonic_us(&self) -> u64 {
        match &*self.0 {
            Source::System { started } => {
                u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
            }
            Source::Manual { monotonic_ms, .. } => monotonic_ms.load(Ordering::Relaxed) * 1_000,
        }
    }

    /// Lets time pass on a manual clock; a system clock takes no orders.
    pub fn advance(&self, by_ms: u64) {
        if let Source::Manual {
            wall_ms,
            monotonic_ms,
        } = &*self.0
        {
            wall_ms.fetch_add(by_ms, Ordering::Relaxed);
            monotonic_ms.fetch_add(by_ms, Ordering::Relaxed);
        }
    }

    /// Sets the wall of a manual clock, as a person may; monotonic time does not notice.
    pub fn set_wall(&self, to_ms: u64) {
        if let Source::Manual { wall_ms, .. } = &*self.0 {
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
    // A machine whose clock stands before 1970 still works; its rows say 1970.
    since.map_or(0, |elapsed| {
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    })
}
