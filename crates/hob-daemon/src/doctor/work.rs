//! Checks unattended work: loops that gave up, disabled or failing jobs, and a heartbeat without
//! content.

use hob_core::amounts::count_noun;
use hob_core::schedule::heartbeat;
use hob_core::visible_text::one_line;
use hob_kit::home::Home;
use hob_wire::rooms::cron::{CronJob, JobWork, SlotState};
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};
use hob_wire::rooms::loops::{Loop, LoopEnd};

/// The file that the heartbeat reads, in the home.
const PAGE: &str = "HEARTBEAT.md";

/// What the loops and jobs tell.
pub(super) fn examine(home: &Home, loops: &[Loop], jobs: &[CronJob]) -> Vec<Finding> {
    let mut findings = work_findings(loops, jobs);
    let is_heartbeat = |job: &CronJob| matches!(job.terms.work, JobWork::Heartbeat(_));
    if jobs.iter().any(is_heartbeat) {
        let page = home.root().join(PAGE);
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        findings.extend(heartbeat_finding(&text, &page.display().to_string()));
    }
    findings
}

/// True if a loop runs or a job is enabled.
pub(super) fn is_scheduled(loops: &[Loop], jobs: &[CronJob]) -> bool {
    loops.iter().any(|it| it.state.running) || jobs.iter().any(|job| job.enabled)
}

/// A heartbeat with an empty file does nothing and costs nothing, which may not be intended.
fn heartbeat_finding(text: &str, page: &str) -> Option<Finding> {
    (!heartbeat::has_content(text)).then(|| {
        Finding::bad(
            FindingLevel::Note,
            "heartbeat",
            format!("It is enabled, but {PAGE} is empty, so no model is called"),
            format!("Write the heartbeat's instructions into {page}."),
        )
    })
}

fn work_findings(loops: &[Loop], jobs: &[CronJob]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = loops.iter().filter_map(loop_finding).collect();
    findings.extend(jobs.iter().filter_map(job_finding));
    let running = loops.iter().filter(|it| it.state.running).count();
    if findings.is_empty() && !(loops.is_empty() && jobs.is_empty()) {
        let enabled = jobs.iter().filter(|job| job.enabled).count();
        let loops = count_noun(running as u64, "running loop");
        let jobs = count_noun(enabled as u64, "enabled job");
        findings.push(Finding::well("work", format!("{loops}, {jobs}")));
    }
    findings
}

fn loop_finding(one: &Loop) -> Option<Finding> {
    let gave_up = !one.state.running && one.state.stopped == Some(LoopEnd::Errors);
    let name = one_line(&one.name);
    let why = one.state.last_error.as_deref().map(one_line);
    gave_up.then(|| {
        Finding::bad(
            FindingLevel::Warning,
            "loop",
            format!("{name} gave up. {}", why.unwrap_or_default()).trim_end(),
            format!("hob loop history {name}; then hob loop start {name}"),
        )
    })
}

fn job_finding(job: &CronJob) -> Option<Finding> {
    let name = one_line(&job.terms.name);
    if let Some(problem) = job.problem.as_deref().filter(|_| !job.enabled) {
        return Some(Finding::bad(
            FindingLevel::Warning,
            "job",
            format!("{name} is disabled. {}", one_line(problem)),
            format!("hob cron history {name}; then hob cron enable {name}"),
        ));
    }
    let last = job.last.as_ref()?;
    let why = last.reason.as_deref().map(one_line).unwrap_or_default();
    let how = match last.state {
        SlotState::Failed => "failed the last time",
        SlotState::RanWithDenials => "had denied calls the last time",
        SlotState::RanWithFailures => "ended with a failed call the last time",
        _ => return None,
    };
    job.enabled.then(|| {
        Finding::bad(
            FindingLevel::Note,
            "job",
            format!("{name} {how}. {why}").trim_end(),
            format!("hob cron history {name}"),
        )
    })
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
