//! The checks of the daemon, what is wrong first. Pure.

use super::{ListContent, ListRow};
use crate::text::Role;
use hob_wire::rooms::daemon::{DaemonDoctorResult, DoctorFinding, FindingLevel};

pub(super) fn content(result: &DaemonDoctorResult) -> ListContent {
    let is_well = |it: &&DoctorFinding| it.level == FindingLevel::Well;
    let (well, other): (Vec<_>, Vec<_>) = result.findings.iter().partition(is_well);
    ListContent {
        heads: vec!["CHECK", "RESULT", "WHAT TO DO"],
        rows: other.into_iter().chain(well).map(row).collect(),
        notes: vec!["hob doctor also checks what only a client can know.".to_owned()],
        empty: "Nothing was checked.",
    }
}

fn row(finding: &DoctorFinding) -> ListRow {
    let role = match finding.level {
        FindingLevel::Well => Role::Good,
        FindingLevel::Warning => Role::Warning,
        FindingLevel::Note => Role::Quiet,
        FindingLevel::Broken => Role::Bad,
    };
    let cells = vec![
        (finding.check.clone(), role),
        (finding.message.clone(), Role::Plain),
        (finding.fix.clone().unwrap_or_default(), Role::Quiet),
    ];
    ListRow::new(format!("{}/{}", finding.check, finding.message), cells)
}
