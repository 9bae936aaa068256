//! Named places where a fault build can be told to fail, and sabotages that show a fault test can
//! go red. Both exist only with the feature `failpoints`, which a shipped binary never has.
//!
//! `HOB_FAILPOINT=store.commit.before=abort` aborts the process when that place is reached;
//! `=panic` panics there, `=N*abort` on the Nth time. `HOB_BREAK=7` breaks what fault test 7
//! guards.

/// Every place, so that a test can visit each. Kept in the order a request meets them.
pub const POINTS: &[&str] = &[
    "store.migrate.before",
    "store.migrate.after",
    "store.batch.begin",
    "store.commit.before",
    "store.commit.after",
    "store.publish.after",
    "session.send.before",
    "session.send.after",
];

/// The places of a run's life, which only a run reaches. In the order a run meets them.
pub const RUN_POINTS: &[&str] = &[
    "run.blob.synced",
    "run.accept.before",
    "run.accept.written",
    "run.accept.after",
    "run.step.before",
    "run.step.written",
    "run.step.after",
];

/// Reaches the place `name`; does nothing unless a fault build was told otherwise.
#[cfg(feature = "failpoints")]
pub fn reach(name: &str) {
    armed::reach(name);
}

#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reach(_name: &str) {}

/// Whether this build was told to break what fault test `number` guards.
#[cfg(feature = "failpoints")]
pub fn broken(number: u32) -> bool {
    armed::broken(number)
}

#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn broken(_number: u32) -> bool {
    false
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Plan {
        point: String,
        on_visit: u64,
        abort: bool,
    }

    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    static BROKEN: OnceLock<Option<u32>> = OnceLock::new();
    static VISITS: AtomicU64 = AtomicU64::new(0);

    #[expect(clippy::panic, reason = "panicking is what this fault asks for")]
    pub(super) fn reach(name: &str) {
        let Some(plan) = PLAN.get_or_init(|| parse(&env("HOB_FAILPOINT")?)) else {
            return;
        };
        if plan.point == name && VISITS.fetch_add(1, Ordering::SeqCst) + 1 == plan.on_visit {
            if plan.abort {
                std::process::abort();
            }
            panic!("failpoint {name}");
        }
    }

    pub(super) fn broken(number: u32) -> bool {
        *BROKEN.get_or_init(|| env("HOB_BREAK")?.parse().ok()) == Some(number)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "faults are armed from outside every room"
    )]
    fn env(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn parse(text: &str) -> Option<Plan> {
        let (point, action) = text.split_once('=')?;
        let (visit, action) = action.split_once('*').unwrap_or(("1", action));
        Some(Plan {
            point: point.to_owned(),
            on_visit: visit.parse().ok()?,
            abort: action == "abort",
        })
    }
}
