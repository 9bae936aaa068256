//! Checks managed services: those that failed, and broken service files.

use hob_core::visible_text::one_line;
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};
use hob_wire::rooms::service::{ManagedService, ServiceListResult, ServiceState};

pub(super) fn examine(listed: &ServiceListResult) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &listed.services {
        let status = &service.status;
        let word = match status.state {
            ServiceState::Failed => "failed",
            ServiceState::Backoff => "keeps ending",
            _ => continue,
        };
        let why = status.detail.as_deref().unwrap_or_default();
        let why = one_line(why.lines().next().unwrap_or_default());
        let name = one_line(&status.name);
        findings.push(Finding::bad(
            FindingLevel::Warning,
            "service",
            format!("{name} {word}. {why}").trim_end().to_owned(),
            format!("hob service logs {name}; then hob service start {name}"),
        ));
    }
    let problems = listed.problems.iter().map(|problem| {
        let fix = "Correct the file; hob reads it again by itself.";
        Finding::bad(FindingLevel::Warning, "service", one_line(problem), fix)
    });
    findings.extend(problems);
    if findings.is_empty() {
        let running = |it: &&ManagedService| it.status.state == ServiceState::Running;
        let running = listed.services.iter().filter(running).count();
        let all = listed.services.len();
        findings.push(Finding::well("services", format!("{running} of {all} run")));
    }
    findings
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
