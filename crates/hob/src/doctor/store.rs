//! The store: asked of the daemon when one runs, else read whole under the home's lock.

use super::{Finding, Level};
use crate::render::words::bytes;
use hob_kit::home::Home;
use hob_kit::lock::HomeLock;
use hob_store::Store;
use hob_wire::rooms::daemon::{DaemonStatus, StoreState, Verified};

/// What a person can do about acknowledged writes that are, or may be, lost.
const AFTER_LOSS: &str = "Look whether something is missing; a newer backup, if there is one, has \
                          it. hob itself goes on with what is there.";

pub(super) fn examine(home: &Home, running: Option<&DaemonStatus>) -> Vec<Finding> {
    if let Some(status) = running {
        return of_daemon(status);
    }
    if !home.database().exists() {
        return missing(home);
    }
    // Held while reading, so that no daemon starts to write in between.
    let Ok(_lock) = HomeLock::take(home) else {
        let message = "Another process holds the home, so the store was not read";
        let fix = "Try again in a moment.";
        return vec![Finding::bad(Level::Note, "store", message, fix)];
    };
    match Store::verify(&home.database(), &mut |_, _| {}) {
        Ok(verified) => of_verified(home, &verified),
        Err(error) => {
            let fix = "Restore a backup, or move the files away to begin anew.";
            vec![Finding::bad(Level::Broken, "store", error.to_string(), fix)]
        }
    }
}

fn of_daemon(status: &DaemonStatus) -> Vec<Finding> {
    let store = &status.store;
    let mut findings = Vec::new();
    if store.state == StoreState::Ready {
        let message = format!(
            "ready, {}, schema {}, SQLite {}",
            bytes(store.bytes),
            store.schema,
            store.sqlite
        );
        findings.push(Finding::well("store", message));
    } else {
        let said = store.message.clone();
        let message = said.unwrap_or_else(|| "The store does not accept work".to_owned());
        let fix = "hob logs says more; `hob down`, then `hob doctor` reads it whole.";
        findings.push(Finding::bad(Level::Broken, "store", message, fix));
    }
    for finding in &store.findings {
        findings.push(if store.losses.contains(finding) {
            Finding::bad(Level::Warning, "store", finding, AFTER_LOSS)
        } else {
            let fix = "Nothing; the daemon mended it when it started.";
            Finding::bad(Level::Note, "store", finding, fix)
        });
    }
    for row in &store.damaged {
        let fix = "hob verify lists everything that is damaged.";
        findings.push(Finding::bad(Level::Broken, "store", &row.message, fix));
    }
    findings
}

fn of_verified(home: &Home, verified: &Verified) -> Vec<Finding> {
    let mut findings = Vec::new();
    let problems = verified.parts.iter().flat_map(|part| &part.problems);
    for problem in problems {
        let fix = "Restore a backup, or move the files away to begin anew.";
        findings.push(Finding::bad(Level::Broken, "store", problem, fix));
    }
    for doubt in &verified.doubts {
        findings.push(Finding::bad(Level::Warning, "store", doubt, AFTER_LOSS));
    }
    for note in &verified.notes {
        findings.push(Finding::bad(
            Level::Note,
            "store",
            note,
            "Nothing needs to be done.",
        ));
    }
    if verified.sound {
        let message = format!(
            "{} was read whole with SQLite {} and is sound",
            home.database().display(),
            Store::sqlite_version()
        );
        findings.push(Finding::well("store", message));
    }
    findings
}

/// A home without a database: new, or robbed of it.
fn missing(home: &Home) -> Vec<Finding> {
    let lived = std::fs::read_to_string(home.lock_file());
    if lived.is_ok_and(|text| text.contains("lived")) {
        let message = format!(
            "{} is gone, although this home had one",
            home.database().display()
        );
        let fix = "Restore it from a backup; hob does not begin anew over a loss by itself.";
        return vec![Finding::bad(Level::Broken, "store", message, fix)];
    }
    vec![Finding::well(
        "store",
        "no database yet; the first start makes it",
    )]
}
