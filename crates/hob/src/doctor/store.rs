//! Checks the store without a daemon: reads it under the home's lock.

use super::{Finding, FindingLevel};
use hob_daemon::doctor::AFTER_LOSS;
use hob_kit::home::Home;
use hob_kit::home_lock::HomeLock;
use hob_store::Store;
use hob_wire::rooms::daemon::DaemonVerifyResult;

/// Reads the store of a home without a daemon.
pub(super) fn examine(home: &Home) -> Vec<Finding> {
    if !home.database().exists() {
        return missing_database(home);
    }
    // Held while reading, so that no daemon starts and writes meanwhile.
    let Ok(_lock) = HomeLock::acquire(home) else {
        let message = "Another process holds the home, so the store was not read";
        let fix = "Try again in a moment.";
        return vec![Finding::bad(FindingLevel::Note, "store", message, fix)];
    };
    match Store::verify(&home.database(), &mut |_, _| {}) {
        Ok(verified) => verified_findings(home, &verified),
        Err(error) => {
            let fix = "Restore a backup, or move the files away to start fresh.";
            vec![Finding::bad(
                FindingLevel::Broken,
                "store",
                error.to_string(),
                fix,
            )]
        }
    }
}

fn verified_findings(home: &Home, verified: &DaemonVerifyResult) -> Vec<Finding> {
    let mut findings = Vec::new();
    let problems = verified.parts.iter().flat_map(|part| &part.problems);
    for problem in problems {
        let fix = "Restore a backup, or move the files away to start fresh.";
        findings.push(Finding::bad(FindingLevel::Broken, "store", problem, fix));
    }
    for doubt in &verified.doubts {
        findings.push(Finding::bad(
            FindingLevel::Warning,
            "store",
            doubt,
            AFTER_LOSS,
        ));
    }
    for note in &verified.notes {
        findings.push(Finding::bad(
            FindingLevel::Note,
            "store",
            note,
            "Nothing needs to be done.",
        ));
    }
    if verified.sound {
        let message = format!(
            "{} was read completely with SQLite {} and is sound",
            home.database().display(),
            Store::sqlite_version()
        );
        findings.push(Finding::well("store", message));
    }
    findings
}

/// Tells a new home from one whose database was deleted: the lock file records that there was one.
fn missing_database(home: &Home) -> Vec<Finding> {
    let lock_text = std::fs::read_to_string(home.lock_file());
    if lock_text.is_ok_and(|text| text.contains("lived")) {
        let message = format!(
            "{} is missing, although this home had one",
            home.database().display()
        );
        let fix = "Restore it from a backup; hob never replaces a lost database by an empty one.";
        return vec![Finding::bad(FindingLevel::Broken, "store", message, fix)];
    }
    vec![Finding::well(
        "store",
        "no database yet; the first start creates it",
    )]
}
