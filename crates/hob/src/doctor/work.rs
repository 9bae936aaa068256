//! What the house does by itself: loops that gave up, jobs that hob disabled or that fail, and a
//! heartbeat with nothing to look after.

use super::{Finding, Level};
use crate::commands::cron;
use crate::context::Context;
use crate::render::words::{count, one_line};
use hob_core::schedule::heartbeat;
use hob_wire::rooms::cron::{Job, SlotState, Work};
use hob_wire::rooms::loops::{List, ListParams, Loop, LoopEnd};

/// What the heartbeat goes by, in the home.
const PAGE: &str = "HEARTBEAT.md";

pub(super) async fn examine(context: &Context) -> Vec<Finding> {
    let Ok(Some(client)) = context.home_client().await else {
        return Vec::new();
    };
    let listed = client.call_again::<List>(&ListParams::default()).await;
    let loops = listed.map(|found| found.loops).unwrap_or_default();
    let jobs = cron::all(&client).await;
    let jobs = jobs.map(|found| found.jobs).unwrap_or_default();
    let mut findings = judge(&loops, &jobs);
    if jobs
        .iter()
        .any(|job| matches!(job.terms.work, Work::Heartbeat(_)))
    {
        let page = context.world.home.root().join(PAGE);
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        findings.extend(of_heartbeat(&text, &page.display().to_string()));
    }
    findings
}

/// A heartbeat with nothing to look after costs nothing, and does nothing.
fn of_heartbeat(text: &str, page: &str) -> Option<Finding> {
    (!heartbeat::has_content(text)).then(|| {
        Finding::bad(
            Level::Note,
            "heartbeat",
            format!("It is on, but {PAGE} says nothing, so no model is asked"),
            format!("Write what is to be looked after into {page}."),
        )
    })
}

fn judge(loops: &[Loop], jobs: &[Job]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = loops.iter().filter_map(of_loop).collect();
    findings.extend(jobs.iter().filter_map(of_job));
    let running = loops.iter().filter(|it| it.state.running).count();
    if findings.is_empty() && !(loops.is_empty() && jobs.is_empty()) {
        let enabled = jobs.iter().filter(|job| job.enabled).count();
        let loops = count(running as u64, "running loop");
        let jobs = count(enabled as u64, "enabled job");
        findings.push(Finding::well("work", format!("{loops}, {jobs}")));
    }
    findings
}

fn of_loop(one: &Loop) -> Option<Finding> {
    let gave_up = !one.state.running && one.state.stopped == Some(LoopEnd::Errors);
    let name = one_line(&one.name);
    let why = one.state.last_error.as_deref().map(one_line);
    gave_up.then(|| {
        Finding::bad(
            Level::Warning,
            "loop",
            format!("{name} gave up. {}", why.unwrap_or_default()).trim_end(),
            format!("hob loop history {name}; then hob loop start {name}"),
        )
    })
}

fn of_job(job: &Job) -> Option<Finding> {
    let name = one_line(&job.terms.name);
    if let Some(problem) = job.problem.as_deref().filter(|_| !job.enabled) {
        return Some(Finding::bad(
            Level::Warning,
            "job",
            format!("{name} is disabled. {}", one_line(problem)),
            format!("hob cron history {name}; then hob cron enable {name}"),
        ));
    }
    let last = job.last.as_ref()?;
    let why = last.reason.as_deref().map(one_line).unwrap_or_default();
    let how = match last.state {
        SlotState::Failed => "failed the last time",
        SlotState::RanWithDenials => "was denied something the last time",
        SlotState::RanWithFailures => "ended with a failed call the last time",
        _ => return None,
    };
    job.enabled.then(|| {
        Finding::bad(
            Level::Note,
            "job",
            format!("{name} {how}. {why}").trim_end(),
            format!("hob cron history {name}"),
        )
    })
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
