//! One run of a fault test: its seed, its figures, and the honest "not run".

use hob_kit::randomness::Randomness;
use std::cell::Cell;
use std::fmt::Display;
use std::io::Write as _;
use std::sync::Once;

thread_local! {
    /// The seed of the trial on this thread, for the panic hook.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A fault test's own randomness and its way to report.
pub(crate) struct Trial {
    pub(crate) number: u32,
    pub(crate) randomness: Randomness,
}

impl Trial {
    /// Begins the test of fault `number`. The seed is printed before anything else can fail.
    pub(crate) fn begin(number: u32) -> Trial {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let former = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if let Some(seed) = SEED.get() {
                    eprintln!("seed {seed}: HOB_FAULT_SEED={seed} repeats this failure");
                }
                former(panic);
            }));
        });
        let seed =
            number_from_env("HOB_FAULT_SEED").unwrap_or_else(|| Randomness::system().u64() >> 16);
        SEED.set(Some(seed));
        println!("seed {seed}: HOB_FAULT_SEED={seed} repeats fault {number}");
        Trial {
            number,
            randomness: Randomness::seeded(seed),
        }
    }

    /// Reports a figure of this fault: on stdout, and in the file `HOB_FIGURES` names.
    pub(crate) fn figure(&self, name: &str, value: impl Display) {
        report(&format!("FIGURE {} {name} {value}", self.number));
    }

    /// Says that something could not be tried here and why; in CI that is a failure.
    pub(crate) fn not_run(&self, why: &str) {
        report(&format!("NOT RUN {} {why}", self.number));
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "fault {} was not run: {why}",
            self.number
        );
    }
}

/// A whole number from the environment.
pub(crate) fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}

/// The `share` quantile (0 to 100) of `values`, which it sorts.
pub(crate) fn percentile(values: &mut [f64], share: usize) -> f64 {
    assert!(!values.is_empty(), "a quantile of something");
    values.sort_by(f64::total_cmp);
    values[(values.len() * share / 100).min(values.len() - 1)]
}

fn report(line: &str) {
    println!("{line}");
    if let Ok(path) = std::env::var("HOB_FIGURES") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path);
        let written = file.and_then(|mut file| writeln!(file, "{line}"));
        assert!(written.is_ok(), "the figures file {path} can be written");
    }
}
