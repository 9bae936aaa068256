//! Named points at which a fault build can be made to fail, and a wall clock that can be moved. Both
//! exist only with the feature `failpoints`, which a shipped binary never has.
//!
//! `HOB_FAILPOINT=store.commit.before=abort` aborts the process when that point is reached;
//! `=panic` panics there, `=N*abort` on the Nth time, `=always*panic` each time.
//! `run.drive@WORD=panic` counts only visits whose subject contains WORD. `HOB_CLOCK_FILE=PATH` names
//! a file with the offset of the wall clock in milliseconds, which may change at any time.
//!
//! Invariant: a point does nothing but end the process or panic. The breakages that prove that a
//! fault test can fail are patches in `crates/hob/tests/sabotage/`, not code of the product.

/// All points, so that a test can visit each, in the order in which a request reaches them.
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

/// The points that only a run reaches, in the order in which it reaches them.
pub const RUN_POINTS: &[&str] = &[
    "run.blob.synced",
    "run.accept.before",
    "run.accept.written",
    "run.accept.after",
    "run.step.before",
    "run.step.written",
    "run.step.after",
    "run.tool.before",
    "run.tool.after",
];

/// The points of a scheduled slot, in the order in which a job reaches them.
pub const CRON_POINTS: &[&str] = &[
    "cron.slots.before",
    "cron.slots.written",
    "cron.slots.after",
    "cron.run.accepted",
    "cron.slot.begun",
    "cron.slot.end",
];

/// Marks the point `name`. Does nothing unless a fault build is configured to fail there.
#[cfg(feature = "failpoints")]
pub fn reach(name: &str) {
    armed::reach(name, "");
}

#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reach(_name: &str) {}

/// Marks the point `name` for `subject`, which the configuration may select.
#[cfg(feature = "failpoints")]
pub fn reach_with(name: &str, subject: &str) {
    armed::reach(name, subject);
}

#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reach_with(_name: &str, _subject: &str) {}

/// Returns the wall time plus the offset from `HOB_CLOCK_FILE`, in a fault build.
#[cfg(feature = "failpoints")]
pub fn moved(wall_ms: u64) -> u64 {
    armed::moved(wall_ms)
}

#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn moved(wall_ms: u64) -> u64 {
    wall_ms
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct FailpointPlan {
        point: String,
        /// The text that the subject must contain; empty for any subject.
        word: String,
        /// `None` for every visit.
        on_visit: Option<u64>,
        abort: bool,
    }

    static PLAN: OnceLock<Option<FailpointPlan>> = OnceLock::new();
    static VISITS: AtomicU64 = AtomicU64::new(0);
    static CLOCK_FILE: OnceLock<Option<String>> = OnceLock::new();

    #[expect(clippy::panic, reason = "panicking is what this fault asks for")]
    pub(super) fn reach(name: &str, subject: &str) {
        let Some(plan) = PLAN.get_or_init(|| parse(&env("HOB_FAILPOINT")?)) else {
            return;
        };
        if plan.point != name || !subject.contains(&plan.word) {
            return;
        }
        let visit = VISITS.fetch_add(1, Ordering::SeqCst) + 1;
        if plan.on_visit.is_none_or(|wanted| wanted == visit) {
            if plan.abort {
                std::process::abort();
            }
            panic!("failpoint {name}");
        }
    }

    pub(super) fn moved(wall_ms: u64) -> u64 {
        let Some(file) = CLOCK_FILE.get_or_init(|| env("HOB_CLOCK_FILE")) else {
            return wall_ms;
        };
        // A file that is being written may be empty. That counts as no offset; the next call reads
        // it again.
        let offset = std::fs::read_to_string(file).unwrap_or_default();
        let off_ms: i64 = offset.trim().parse().unwrap_or(0);
        wall_ms.saturating_add_signed(off_ms)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "faults are armed from outside every room"
    )]
    fn env(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn parse(text: &str) -> Option<FailpointPlan> {
        let (point, action) = text.split_once('=')?;
        let (visit, action) = action.split_once('*').unwrap_or(("1", action));
        let (point, word) = point.split_once('@').unwrap_or((point, ""));
        let on_visit = match visit {
            "always" => None,
            number => Some(number.parse().ok()?),
        };
        Some(FailpointPlan {
            point: point.to_owned(),
            word: word.to_owned(),
            on_visit,
            abort: action == "abort",
        })
    }
}
