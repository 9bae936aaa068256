//! Formats scheduled jobs: the list, one job, and its history of slots. Pure.

use super::loops::date_and_distance;
use super::runs::money;
use super::table::TextTable;
use super::text::{count_noun, one_line, wrap};
use super::work_terms::{budget_words, first_line, grant_words, notify_words, pairs, section};
use super::{ScreenStyle, TextTone, damaged_rows, time};
use hob_kit::duration::format_ms;
use hob_wire::NetworkGrant;
use hob_wire::rooms::cron::{
    CronHistoryResult, CronJob, CronListResult, CronPreview, CronRemoveResult, HookSecret, JobSlot,
    JobWork, MissedPolicy, OverlapPolicy, SlotOrigin, SlotState,
};

/// The number of next times shown after adding a job.
const NEXT_SHOWN: usize = 3;

/// The list of jobs, one per line.
pub fn list(found: &CronListResult, screen: &ScreenStyle) -> Vec<String> {
    if found.jobs.is_empty() && found.damaged.is_empty() {
        return vec![
            "There are no jobs. Add one: hob cron add NAME --every 1h --task \"…\"".to_owned(),
        ];
    }
    let mut table = TextTable::new()
        .column("NAME")
        .column("NEXT")
        .column("LAST")
        .column("SCHEDULE")
        .lesser()
        .column("WORK")
        .lesser();
    for job in &found.jobs {
        table.row(vec![
            one_line(&job.terms.name),
            next(job, screen),
            last(job, screen),
            one_line(&job.terms.schedule),
            work(&job.terms.work),
        ]);
    }
    let mut out = table.lines(screen);
    out.extend(damaged_rows::lines(&found.damaged, screen));
    let problems = found.jobs.iter().filter_map(|job| {
        let problem = one_line(job.problem.as_deref()?);
        let name = one_line(&job.terms.name);
        Some(format!("{name}: {problem} (hob cron enable {name})"))
    });
    let room = screen.width.unwrap_or(usize::MAX);
    let lines = problems.flat_map(|line| wrap(&line, room));
    out.extend(lines.map(|line| screen.paint(TextTone::Warning, &line)));
    if found.more {
        out.push(screen.paint(TextTone::Quiet, "There are more than are shown here."));
    }
    out
}

/// A schedule in words, and its next due times.
pub fn preview(found: &CronPreview, screen: &ScreenStyle) -> Vec<String> {
    let about = one_line(&found.about);
    let mut lines = vec![match &found.zone {
        Some(zone) => format!("{about} ({})", one_line(zone)),
        None => about,
    }];
    if found.next.is_empty() {
        lines.push("It is never due by itself.".to_owned());
    }
    let due = found.next.iter();
    lines.extend(due.map(|at| format!("  {}", date_and_distance(*at, screen))));
    lines
}

fn next(job: &CronJob, screen: &ScreenStyle) -> String {
    if job.active > 0 {
        return "running".to_owned();
    }
    if !job.enabled {
        return "disabled".to_owned();
    }
    match job.next.first() {
        Some(at) => time::until(*at, screen),
        None if job.terms.schedule == "webhook" => "when called".to_owned(),
        None => "never".to_owned(),
    }
}

fn last(job: &CronJob, screen: &ScreenStyle) -> String {
    let Some(slot) = &job.last else {
        return String::new();
    };
    let at = slot.ended_at.unwrap_or(slot.due_at);
    format!("{} {}", state(slot.state), time::ago(at, screen))
}

/// The state of a slot in a word or two.
pub fn state(state: SlotState) -> &'static str {
    match state {
        SlotState::Due => "due",
        SlotState::Running => "running",
        SlotState::Ran => "ok",
        SlotState::RanWithDenials => "ran with denials",
        SlotState::RanWithFailures => "ran, last call failed",
        SlotState::Failed => "failed",
        SlotState::Skipped => "skipped",
        SlotState::Missed => "missed",
        SlotState::Stopped => "stopped",
    }
}

fn tone(state: SlotState) -> TextTone {
    match state {
        SlotState::Ran => TextTone::Good,
        SlotState::Failed => TextTone::Bad,
        SlotState::RanWithDenials
        | SlotState::RanWithFailures
        | SlotState::Missed
        | SlotState::Stopped => TextTone::Warning,
        SlotState::Due | SlotState::Running | SlotState::Skipped => TextTone::Quiet,
    }
}

/// The work of a job on one line.
pub fn work(work: &JobWork) -> String {
    match work {
        JobWork::Agent(work) => first_line(&work.task),
        JobWork::Loop { name } => format!("loop {}", one_line(name)),
        JobWork::Command(work) => format!("$ {}", one_line(&work.command)),
        JobWork::Heartbeat(_) => "what HEARTBEAT.md says".to_owned(),
    }
}

/// All details of a job.
pub fn show(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let terms = &job.terms;
    let zone = terms.zone.as_deref().unwrap_or_default();
    let zone = if zone.is_empty() {
        String::new()
    } else {
        format!(" in {}", one_line(zone))
    };
    let mut rows = vec![
        ("Name", one_line(&terms.name)),
        (
            "About",
            one_line(terms.description.as_deref().unwrap_or_default()),
        ),
        ("State", state_words(job, screen)),
        (
            "When",
            format!(
                "{} ({}){zone}",
                one_line(&job.about),
                one_line(&terms.schedule)
            ),
        ),
    ];
    for (index, at) in job.next.iter().take(NEXT_SHOWN).enumerate() {
        rows.push((
            if index == 0 { "Next" } else { " " },
            date_and_distance(*at, screen),
        ));
    }
    rows.extend(work_rows(&terms.work));
    let may = terms.grants.iter().map(grant_words).collect::<Vec<_>>();
    rows.push(("May", may.join("; ")));
    rows.push(("Policy", policy(job)));
    rows.push((
        "Tells",
        terms.notify.as_ref().map(notify_words).unwrap_or_default(),
    ));
    rows.push((
        "Problem",
        job.problem.as_deref().map(one_line).unwrap_or_default(),
    ));
    if let Some(last) = &job.last {
        rows.push(("Last", slot_words(last, screen)));
    }
    let mut out = pairs(&rows, screen);
    if let JobWork::Agent(work) = &terms.work {
        out.extend(section("Task", &work.task, screen));
    }
    let last = job.last.as_ref().and_then(|slot| slot.output.as_deref());
    out.extend(section("Last output", last.unwrap_or_default(), screen));
    out
}

fn state_words(job: &CronJob, screen: &ScreenStyle) -> String {
    match (job.active, job.enabled) {
        (1.., _) => screen.paint(TextTone::Good, "running"),
        (0, true) => screen.paint(TextTone::Good, "enabled"),
        (0, false) => screen.paint(TextTone::Warning, "disabled"),
    }
}

fn work_rows(work: &JobWork) -> Vec<(&'static str, String)> {
    match work {
        JobWork::Agent(work) => {
            let tools = work.tools.as_ref().map(|tools| match tools.len() {
                0 => "none".to_owned(),
                _ => one_line(&tools.join(", ")),
            });
            vec![
                (
                    "Model",
                    one_line(work.model.as_deref().unwrap_or("the default model")),
                ),
                (
                    "Limits",
                    work.budget.as_ref().map(budget_words).unwrap_or_default(),
                ),
                (
                    "Folder",
                    one_line(work.workspace.as_deref().unwrap_or_default()),
                ),
                ("Tools", tools.unwrap_or_default()),
            ]
        }
        JobWork::Loop { name } => vec![("Loop", one_line(name))],
        JobWork::Command(work) => {
            let network = match work.network {
                NetworkGrant::Off => "",
                NetworkGrant::Proxy => " (with network)",
                NetworkGrant::Host => " (with this machine's own network)",
            };
            let command = one_line(&work.command);
            let timeout = work.timeout_ms.map(format_ms).unwrap_or_default();
            vec![
                ("Command", format!("{command}{network}")),
                (
                    "Folder",
                    one_line(work.workspace.as_deref().unwrap_or_default()),
                ),
                ("Timeout", timeout),
            ]
        }
        JobWork::Heartbeat(work) => vec![
            (
                "Work",
                "what HEARTBEAT.md says, if it says anything".to_owned(),
            ),
            ("Model", one_line(work.model.as_deref().unwrap_or_default())),
        ],
    }
}

/// The policies of a job that differ from the defaults.
fn policy(job: &CronJob) -> String {
    let terms = &job.terms;
    let missed = match terms.missed {
        MissedPolicy::Once => None,
        MissedPolicy::All => Some("runs every missed time".to_owned()),
        MissedPolicy::Skip => Some("skips missed times".to_owned()),
    };
    let overlap = match terms.overlap {
        OverlapPolicy::Skip => None,
        OverlapPolicy::Queue => Some("waits for the one before".to_owned()),
        OverlapPolicy::Replace => Some("stops the one before".to_owned()),
    };
    let jitter =
        (terms.jitter_ms > 0).then(|| format!("up to {} later", format_ms(terms.jitter_ms)));
    let window = terms
        .window_ms
        .map(|ms| format!("at most {} late", format_ms(ms)));
    let hours = terms.active_hours.as_deref();
    let hours = hours.map(|hours| format!("only {}", one_line(hours)));
    let parts = [missed, overlap, jitter, window, hours];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The confirmation of an added job, with its next times.
pub fn added(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("Added {name}: {}.", one_line(&job.about));
    let mut out = vec![screen.paint(TextTone::Good, &line)];
    out.extend(may(job, screen));
    out.extend(due_lines(job, screen));
    out
}

pub fn updated(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("Changed {name}: {}.", one_line(&job.about));
    let mut out = vec![screen.paint(TextTone::Good, &line)];
    out.extend(may(job, screen));
    out.extend(due_lines(job, screen));
    out
}

fn may(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let grants = job.terms.grants.iter().map(grant_words);
    let lines = grants.map(|grant| format!("It may: {grant}"));
    let room = screen.width.unwrap_or(usize::MAX);
    lines.flat_map(|line| wrap(&line, room)).collect()
}

/// The next times of a job, or how it is started instead.
fn due_lines(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&job.terms.name);
    if !job.enabled {
        let line = format!("It is disabled. Let it run: hob cron enable {name}");
        return vec![screen.paint(TextTone::Quiet, &line)];
    }
    if job.terms.schedule == "webhook" {
        let line = format!("How to call it: hob cron secret {name}");
        return vec![screen.paint(TextTone::Quiet, &line)];
    }
    let times = job.next.iter().take(NEXT_SHOWN);
    let times: Vec<String> = times.map(|at| date_and_distance(*at, screen)).collect();
    match times.len() {
        0 => vec![screen.paint(TextTone::Warning, "It is never due.")],
        1 => vec![format!("It is due {}.", times.concat())],
        _ => {
            let lines = times.into_iter().map(|time| format!("  {time}"));
            std::iter::once("It is due next:".to_owned())
                .chain(lines)
                .collect()
        }
    }
}

pub fn enabled(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let line = format!("{} is enabled.", one_line(&job.terms.name));
    let mut out = vec![screen.paint(TextTone::Good, &line)];
    out.extend(due_lines(job, screen));
    out
}

pub fn disabled(job: &CronJob, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("{name} is disabled; it can still be run manually: hob cron run {name}");
    vec![screen.paint(TextTone::Good, &line)]
}

pub fn removed(gone: &CronRemoveResult, _: &ScreenStyle) -> Vec<String> {
    vec![format!(
        "Removed {} with its history.",
        one_line(&gone.name)
    )]
}

/// The confirmation of a job that was run manually.
pub fn fired(slot: &JobSlot, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&slot.name);
    let session = slot.session_key.as_deref().map(one_line);
    let session = session.map_or(String::new(), |key| format!(" in {key}"));
    match slot.state {
        SlotState::Due | SlotState::Running => {
            let line = format!("{name} runs{session}.");
            let next = format!("See how it went: hob cron history {name}");
            vec![
                screen.paint(TextTone::Good, &line),
                screen.paint(TextTone::Quiet, &next),
            ]
        }
        _ => self::slot(slot, screen),
    }
}

/// The outcome of one slot, with its output.
pub fn slot(slot: &JobSlot, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&slot.name);
    let words = format!("{name}: {}", slot_words(slot, screen));
    let mut out = vec![screen.paint(tone(slot.state), &words)];
    let output = slot.output.as_deref().unwrap_or_default();
    out.extend(section("Output", output, screen));
    out
}

/// The outcome of a slot on one line: `failed 3 min ago, exit code 2: …`.
fn slot_words(slot: &JobSlot, screen: &ScreenStyle) -> String {
    let at = slot.ended_at.unwrap_or(slot.due_at);
    let mut words = format!("{} {}", state(slot.state), time::ago(at, screen));
    // A reason already names the exit code.
    let code = slot.exit_code.map(|code| format!("exit code {code}"));
    if let Some(why) = slot.reason.as_deref().map(one_line).or(code) {
        words = format!("{words}: {why}");
    }
    words
}

/// A page of the history of slots.
pub fn history(page: &CronHistoryResult, screen: &ScreenStyle) -> Vec<String> {
    if page.slots.is_empty() {
        return vec!["Nothing was due yet.".to_owned()];
    }
    // Commands cost nothing, so a column of costs would be empty.
    let has_cost = page.slots.iter().any(|slot| slot.cost.calls > 0);
    let mut table = TextTable::new()
        .number("SLOT")
        .column("DUE")
        .column("JOB")
        .column("OUTCOME")
        .number("TOOK");
    if has_cost {
        table = table.number("COST");
    }
    table = table.column("WHAT");
    for slot in &page.slots {
        let took = slot.started_at.zip(slot.ended_at);
        let took = took.map(|(from, to)| time::span(to.saturating_sub(from)));
        let mut row = vec![
            slot.number.to_string(),
            time::short(slot.due_at, screen),
            one_line(&slot.name),
            outcome(slot),
            took.unwrap_or_default(),
        ];
        row.extend(has_cost.then(|| money(&slot.cost)));
        row.push(what(slot));
        table.row(row);
    }
    let mut out = table.lines(screen);
    if page.more
        && let Some(last) = page.slots.last()
    {
        let more = format!("Older ones: add --before {}", last.number);
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out
}

fn outcome(slot: &JobSlot) -> String {
    let word = state(slot.state);
    match slot.origin {
        SlotOrigin::Schedule => word.to_owned(),
        SlotOrigin::Manual => format!("{word} (manual)"),
        SlotOrigin::Webhook => format!("{word} (webhook)"),
    }
}

/// The reason or the output of a slot on one line.
fn what(slot: &JobSlot) -> String {
    let stands = (slot.stands_for > 0).then(|| format!("stands for {} more", slot.stands_for));
    let code = slot.exit_code.filter(|code| *code != 0);
    let code = code.map(|code| format!("exit code {code}"));
    let reason = slot.reason.as_deref().map(one_line);
    let failed = slot.failed_calls > 0 && slot.state == SlotState::Ran;
    let failed = failed.then(|| {
        let calls = count_noun(u64::from(slot.failed_calls), "call");
        format!("{calls} failed before")
    });
    let output = slot.output.as_deref().map(first_line);
    let output = output.filter(|it| !it.is_empty());
    let parts = [stands, reason.or(code), failed, output];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The webhook of a job. The secret is alone on its line, to be copied.
pub fn secret(secret: &HookSecret, base: &str, screen: &ScreenStyle) -> Vec<String> {
    let base = one_line(base.trim_end_matches('/'));
    let path = one_line(&secret.path);
    let shown = one_line(&secret.secret);
    let call = [
        format!("curl -X POST {base}{path} \\"),
        format!("  -H 'Authorization: Bearer {shown}' \\"),
        "  -d '{}'".to_owned(),
    ];
    let rows = [("Address", format!("{base}{path}")), ("Secret", shown)];
    let mut out = pairs(&rows, screen);
    out.push(String::new());
    out.extend(
        call.iter()
            .map(|line| screen.paint(TextTone::Command, line)),
    );
    out
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
