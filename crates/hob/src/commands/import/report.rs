//! What became of an import.

use hob_dialects::import_plan::{ImportPlan, SkippedItem};
use serde::Serialize;

/// What was imported, what was there before, and what was not imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    pub from: &'static str,
    pub sessions: ImportCount,
    pub messages: ImportCount,
    pub jobs: ImportCount,
    /// The names of added jobs that are disabled.
    pub disabled_jobs: Vec<String>,
    pub loops: ImportCount,
    pub settings: ImportCount,
    pub keys: ImportCount,
    pub persona: ImportCount,
    pub skipped: Vec<SkippedItem>,
    /// Things not imported beside those in `skipped`.
    pub more_skipped: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportCount {
    pub added: usize,
    /// Those that hob had already.
    pub present: usize,
}

impl ImportCount {
    pub fn count(&mut self, is_new: bool) {
        if is_new {
            self.added += 1;
        } else {
            self.present += 1;
        }
    }
}

impl ImportReport {
    /// The report of a plan of which nothing was carried out yet.
    pub fn of(plan: &ImportPlan) -> ImportReport {
        ImportReport {
            from: plan.from,
            skipped: plan.skipped.clone(),
            more_skipped: plan.more_skipped,
            ..ImportReport::default()
        }
    }

    pub fn skip(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(SkippedItem {
            what: what.into(),
            reason: reason.into(),
        });
    }
}
