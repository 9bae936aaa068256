//! Scheduled jobs as a person reads them: the list, one of them, and what became of each time one
//! was due. Pure.

use super::loops::both;
use super::runs::money;
use super::table::Table;
use super::terms::{budget_words, first_line, grant_words, notify_words, pairs, section};
use super::words::{count, one_line, wrap};
use super::{Screen, Tone, damaged, moment};
use hob_kit::duration::format_ms;
use hob_wire::NetworkGrant;
use hob_wire::rooms::cron::{
    HookSecret, Job, Jobs, Missed, Overlap, Removed, Slot, SlotOrigin, SlotState, Slots, Work,
};

/// Times that adding a job tells.
const NEXT_SHOWN: usize = 3;

/// Every job on a line.
pub fn list(found: &Jobs, screen: &Screen) -> Vec<String> {
    if found.jobs.is_empty() && found.damaged.is_empty() {
        return vec![
            "There are no jobs. Add one: hob cron add NAME --every 1h --task \"…\"".to_owned(),
        ];
    }
    let mut table = Table::new()
        .column("NAME")
        .column("NEXT")
        .column("LAST")
        .column("SCHEDULE")
        .column("WORK");
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
    out.extend(damaged::lines(&found.damaged, screen));
    let problems = found.jobs.iter().filter_map(|job| {
        let problem = one_line(job.problem.as_deref()?);
        let name = one_line(&job.terms.name);
        Some(format!("{name}: {problem} (hob cron enable {name})"))
    });
    let room = screen.width.unwrap_or(usize::MAX);
    let lines = problems.flat_map(|line| wrap(&line, room));
    out.extend(lines.map(|line| screen.paint(Tone::Warning, &line)));
    if found.more {
        out.push(screen.paint(Tone::Quiet, "There are more than are shown here."));
    }
    out
}

fn next(job: &Job, screen: &Screen) -> String {
    if job.active > 0 {
        return "running".to_owned();
    }
    if !job.enabled {
        return "disabled".to_owned();
    }
    match job.next.first() {
        Some(at) => moment::until(*at, screen),
        None if job.terms.schedule == "webhook" => "when called".to_owned(),
        None => "never".to_owned(),
    }
}

fn last(job: &Job, screen: &Screen) -> String {
    let Some(slot) = &job.last else {
        return String::new();
    };
    let at = slot.ended_at.unwrap_or(slot.due_at);
    format!("{} {}", state(slot.state), moment::ago(at, screen))
}

/// What became of a slot, in a word.
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

fn tone(state: SlotState) -> Tone {
    match state {
        SlotState::Ran => Tone::Good,
        SlotState::Failed => Tone::Bad,
        SlotState::RanWithDenials
        | SlotState::RanWithFailures
        | SlotState::Missed
        | SlotState::Stopped => Tone::Warning,
        SlotState::Due | SlotState::Running | SlotState::Skipped => Tone::Quiet,
    }
}

/// What a job does, on one line.
pub fn work(work: &Work) -> String {
    match work {
        Work::Agent(work) => first_line(&work.task),
        Work::Loop { name } => format!("loop {}", one_line(name)),
        Work::Command(work) => format!("$ {}", one_line(&work.command)),
        Work::Heartbeat(_) => "what HEARTBEAT.md says".to_owned(),
    }
}

/// One job with everything known of it.
pub fn show(job: &Job, screen: &Screen) -> Vec<String> {
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
        ("State", standing(job, screen)),
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
        rows.push((if index == 0 { "Next" } else { " " }, both(*at, screen)));
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
    if let Work::Agent(work) = &terms.work {
        out.extend(section("Task", &work.task, screen));
    }
    let last = job.last.as_ref().and_then(|slot| slot.output.as_deref());
    out.extend(section("Last output", last.unwrap_or_default(), screen));
    out
}

fn standing(job: &Job, screen: &Screen) -> String {
    match (job.active, job.enabled) {
        (1.., _) => screen.paint(Tone::Good, "running"),
        (0, true) => screen.paint(Tone::Good, "enabled"),
        (0, false) => screen.paint(Tone::Warning, "disabled"),
    }
}

fn work_rows(work: &Work) -> Vec<(&'static str, String)> {
    match work {
        Work::Agent(work) => {
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
        Work::Loop { name } => vec![("Loop", one_line(name))],
        Work::Command(work) => {
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
        Work::Heartbeat(work) => vec![
            (
                "Work",
                "what HEARTBEAT.md says, if it says anything".to_owned(),
            ),
            ("Model", one_line(work.model.as_deref().unwrap_or_default())),
        ],
    }
}

/// The rules of a job that are not the ordinary ones.
fn policy(job: &Job) -> String {
    let terms = &job.terms;
    let missed = match terms.missed {
        Missed::Once => None,
        Missed::All => Some("runs every missed time".to_owned()),
        Missed::Skip => Some("skips missed times".to_owned()),
    };
    let overlap = match terms.overlap {
        Overlap::Skip => None,
        Overlap::Queue => Some("waits for the one before".to_owned()),
        Overlap::Replace => Some("stops the one before".to_owned()),
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

/// A job that was added, and its next times.
pub fn added(job: &Job, screen: &Screen) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("Added {name}: {}.", one_line(&job.about));
    let mut out = vec![screen.paint(Tone::Good, &line)];
    out.extend(may(job, screen));
    out.extend(due(job, screen));
    out
}

pub fn updated(job: &Job, screen: &Screen) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("Changed {name}: {}.", one_line(&job.about));
    let mut out = vec![screen.paint(Tone::Good, &line)];
    out.extend(may(job, screen));
    out.extend(due(job, screen));
    out
}

fn may(job: &Job, screen: &Screen) -> Vec<String> {
    let grants = job.terms.grants.iter().map(grant_words);
    let lines = grants.map(|grant| format!("It may: {grant}"));
    let room = screen.width.unwrap_or(usize::MAX);
    lines.flat_map(|line| wrap(&line, room)).collect()
}

/// When it is due, or what makes it run instead.
fn due(job: &Job, screen: &Screen) -> Vec<String> {
    let name = one_line(&job.terms.name);
    if !job.enabled {
        let line = format!("It is disabled. Let it run: hob cron enable {name}");
        return vec![screen.paint(Tone::Quiet, &line)];
    }
    if job.terms.schedule == "webhook" {
        let line = format!("How to call it: hob cron secret {name}");
        return vec![screen.paint(Tone::Quiet, &line)];
    }
    let times = job.next.iter().take(NEXT_SHOWN);
    let times: Vec<String> = times.map(|at| both(*at, screen)).collect();
    match times.len() {
        0 => vec![screen.paint(Tone::Warning, "It is never due.")],
        1 => vec![format!("It is due {}.", times.concat())],
        _ => {
            let lines = times.into_iter().map(|time| format!("  {time}"));
            std::iter::once("It is due next:".to_owned())
                .chain(lines)
                .collect()
        }
    }
}

pub fn enabled(job: &Job, screen: &Screen) -> Vec<String> {
    let line = format!("{} is enabled.", one_line(&job.terms.name));
    let mut out = vec![screen.paint(Tone::Good, &line)];
    out.extend(due(job, screen));
    out
}

pub fn disabled(job: &Job, screen: &Screen) -> Vec<String> {
    let name = one_line(&job.terms.name);
    let line = format!("{name} is disabled; it still runs when told: hob cron run {name}");
    vec![screen.paint(Tone::Good, &line)]
}

pub fn removed(gone: &Removed, _: &Screen) -> Vec<String> {
    vec![format!(
        "Removed {} with its history.",
        one_line(&gone.name)
    )]
}

/// A job that was told to run.
pub fn fired(slot: &Slot, screen: &Screen) -> Vec<String> {
    let name = one_line(&slot.name);
    let session = slot.session_key.as_deref().map(one_line);
    let session = session.map_or(String::new(), |key| format!(" in {key}"));
    match slot.state {
        SlotState::Due | SlotState::Running => {
            let line = format!("{name} runs{session}.");
            let next = format!("See how it went: hob cron history {name}");
            vec![
                screen.paint(Tone::Good, &line),
                screen.paint(Tone::Quiet, &next),
            ]
        }
        _ => self::slot(slot, screen),
    }
}

/// How one slot went, with what it gave.
pub fn slot(slot: &Slot, screen: &Screen) -> Vec<String> {
    let name = one_line(&slot.name);
    let words = format!("{name}: {}", slot_words(slot, screen));
    let mut out = vec![screen.paint(tone(slot.state), &words)];
    let output = slot.output.as_deref().unwrap_or_default();
    out.extend(section("Output", output, screen));
    out
}

/// How a slot went: `failed 3 min ago, exit code 2: …`.
fn slot_words(slot: &Slot, screen: &Screen) -> String {
    let at = slot.ended_at.unwrap_or(slot.due_at);
    let mut words = format!("{} {}", state(slot.state), moment::ago(at, screen));
    // A reason names the exit code itself.
    let code = slot.exit_code.map(|code| format!("exit code {code}"));
    if let Some(why) = slot.reason.as_deref().map(one_line).or(code) {
        words = format!("{words}: {why}");
    }
    words
}

/// A page of slots.
pub fn history(page: &Slots, screen: &Screen) -> Vec<String> {
    if page.slots.is_empty() {
        return vec!["Nothing was due yet.".to_owned()];
    }
    // Commands cost nothing, so the column would only take room.
    let has_cost = page.slots.iter().any(|slot| slot.cost.calls > 0);
    let mut table = Table::new()
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
        let took = took.map(|(from, to)| moment::span(to.saturating_sub(from)));
        let mut row = vec![
            slot.number.to_string(),
            moment::short(slot.due_at, screen),
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
        out.push(screen.paint(Tone::Quiet, &more));
    }
    out
}

fn outcome(slot: &Slot) -> String {
    let word = state(slot.state);
    match slot.origin {
        SlotOrigin::Schedule => word.to_owned(),
        SlotOrigin::Manual => format!("{word} (told)"),
        SlotOrigin::Webhook => format!("{word} (called)"),
    }
}

/// Why it went so, or what it gave, on one line.
fn what(slot: &Slot) -> String {
    let stands = (slot.stands_for > 0).then(|| format!("stands for {} more", slot.stands_for));
    let code = slot.exit_code.filter(|code| *code != 0);
    let code = code.map(|code| format!("exit code {code}"));
    let reason = slot.reason.as_deref().map(one_line);
    let failed = slot.failed_calls > 0 && slot.state == SlotState::Ran;
    let failed = failed.then(|| {
        let calls = count(u64::from(slot.failed_calls), "call");
        format!("{calls} failed on the way")
    });
    let output = slot.output.as_deref().map(first_line);
    let output = output.filter(|it| !it.is_empty());
    let parts = [stands, reason.or(code), failed, output];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// How another system calls a job. The secret stands alone on its line, to be copied.
pub fn secret(secret: &HookSecret, base: &str, screen: &Screen) -> Vec<String> {
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
    out.extend(call.iter().map(|line| screen.paint(Tone::Command, line)));
    out
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
