//! Checks the store of the running daemon by its own report.

use hob_core::amounts::bytes;
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel, StoreState, StoreStatus};

/// The advice after acknowledged writes were lost, or may be.
pub const AFTER_LOSS: &str = "Check whether something is missing; a newer backup may have \
                          it. hob continues with the data it has.";

/// What the store reports.
pub fn examine(store: &StoreStatus) -> Vec<Finding> {
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
        let reported = store.message.clone();
        let message = reported.unwrap_or_else(|| "The store does not accept work".to_owned());
        let fix = "See `hob logs`; `hob down`, then `hob doctor` reads the whole store.";
        findings.push(Finding::bad(FindingLevel::Broken, "store", message, fix));
    }
    for finding in &store.findings {
        findings.push(if store.losses.contains(finding) {
            Finding::bad(FindingLevel::Warning, "store", finding, AFTER_LOSS)
        } else {
            let fix = "Nothing; the daemon repaired it at start.";
            Finding::bad(FindingLevel::Note, "store", finding, fix)
        });
    }
    for row in &store.damaged {
        let fix = "hob verify lists all damaged rows.";
        findings.push(Finding::bad(
            FindingLevel::Broken,
            "store",
            &row.message,
            fix,
        ));
    }
    findings
}
