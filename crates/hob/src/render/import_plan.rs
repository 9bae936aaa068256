//! Formats what `hob import` would do, and what it did. Pure.

use super::text::{count_noun, one_line, prose_line, truncate, wrap};
use super::{ScreenStyle, TextTone};
use crate::commands::import::{ImportCount, ImportReport};
use hob_dialects::import_plan::{
    ImportPlan, ImportedJob, ImportedLoop, ImportedSession, ImportedSetting, SkippedItem,
};

/// The columns of the names of parts.
const NAME: usize = 10;
/// Sessions and jobs that are listed; the others are counted.
const LISTED_MAX: usize = 10;
/// Things not imported that are listed.
const SKIPPED_MAX: usize = 40;
/// The columns when the output is not a terminal.
const COLUMNS: usize = 120;

/// Returns true if the plan would change nothing.
pub fn is_empty(plan: &ImportPlan) -> bool {
    plan.sessions.is_empty()
        && plan.jobs.is_empty()
        && plan.loops.is_empty()
        && plan.settings.is_empty()
        && plan.default_model.is_none()
        && plan.keys.is_empty()
        && plan.persona.is_none()
}

/// The plan, for the question.
pub fn plan(plan: &ImportPlan, screen: &ScreenStyle) -> Vec<String> {
    let mut page = Page::new(screen);
    let heading = format!("{} in {}", plan.system, one_line(&plan.folder));
    page.lines.push(screen.paint(TextTone::Heading, &heading));
    if is_empty(plan) {
        page.text("There is nothing to import.");
    }
    page.sessions(&plan.sessions);
    page.jobs(&plan.jobs);
    page.loops(&plan.loops);
    if let Some(model) = &plan.default_model {
        page.part(
            "Model",
            &format!("{}, if hob has no default yet", one_line(model)),
        );
    }
    page.settings(&plan.settings);
    if !plan.keys.is_empty() {
        let keys = plan.keys.iter().map(|key| one_line(&key.provider));
        let keys: Vec<String> = keys.collect();
        page.part("Keys", &format!("{}; kept in hob's home", keys.join(", ")));
    }
    if let Some(persona) = &plan.persona {
        let text = format!(
            "{}, as persona.md of hob's home",
            one_line(&persona.found_in)
        );
        page.part("Persona", &text);
    }
    page.skipped(&plan.skipped, plan.more_skipped);
    page.lines
}

/// What became of it.
pub fn report(report: &ImportReport, screen: &ScreenStyle) -> Vec<String> {
    let mut page = Page::new(screen);
    let counts = [
        ("session", report.sessions),
        ("message", report.messages),
        ("job", report.jobs),
        ("loop", report.loops),
        ("setting", report.settings),
        ("key", report.keys),
        ("persona", report.persona),
    ];
    let line = |of: fn(&ImportCount) -> usize| {
        let named = counts.iter().map(|(noun, count)| (noun, of(count)));
        let named = named.filter(|(_, number)| *number > 0);
        let named = named.map(|(noun, number)| count_noun(number as u64, noun));
        named.collect::<Vec<_>>().join(", ")
    };
    let (added, present) = (line(|count| count.added), line(|count| count.present));
    match added.as_str() {
        "" => page.text("Nothing new was imported."),
        added => page.text(&format!("Imported: {added}.")),
    }
    if !present.is_empty() {
        page.text(&format!("Already there: {present}."));
    }
    page.skipped(&report.skipped, report.more_skipped);
    let next = [
        (report.sessions.added > 0).then(|| "hob session list --kind imported".to_owned()),
        report
            .disabled_jobs
            .first()
            .map(|name| format!("hob cron enable {name}")),
        (report.loops.added > 0).then(|| "hob loop list".to_owned()),
    ];
    for command in next.into_iter().flatten() {
        page.lines.push(screen.paint(TextTone::Command, &command));
    }
    page.lines
}

struct Page<'s> {
    screen: &'s ScreenStyle,
    columns: usize,
    lines: Vec<String>,
}

impl Page<'_> {
    fn new(screen: &ScreenStyle) -> Page<'_> {
        Page {
            screen,
            columns: screen.width.unwrap_or(COLUMNS),
            lines: Vec::new(),
        }
    }

    fn text(&mut self, text: &str) {
        self.lines.extend(wrap(text, self.columns));
    }

    /// A named part; its text continues below itself.
    fn part(&mut self, name: &str, text: &str) {
        let mut shown = format!("  {name:<NAME$}");
        for line in wrap(text, self.columns.saturating_sub(NAME + 2)) {
            self.lines.push(format!("{shown}{line}"));
            shown = " ".repeat(NAME + 2);
        }
    }

    /// A line of a part.
    fn item(&mut self, text: &str) {
        let room = self.columns.saturating_sub(NAME + 4);
        let line = truncate(text, room);
        let line = self.screen.paint(TextTone::Quiet, &line);
        self.lines.push(format!("{}{line}", " ".repeat(NAME + 4)));
    }

    fn items<T>(&mut self, items: &[T], line: impl Fn(&T) -> String) {
        for item in items.iter().take(LISTED_MAX) {
            self.item(&line(item));
        }
        if items.len() > LISTED_MAX {
            self.item(&format!("and {} more", items.len() - LISTED_MAX));
        }
    }

    fn sessions(&mut self, sessions: &[ImportedSession]) {
        if sessions.is_empty() {
            return;
        }
        let messages = sessions.iter().map(|it| it.messages.len() as u64).sum();
        let text = format!(
            "{} with {}; all get the time of the import",
            sessions.len(),
            count_noun(messages, "message")
        );
        self.part("Sessions", &text);
        self.items(sessions, |session| {
            let messages = count_noun(session.messages.len() as u64, "message");
            format!("{}, {messages}", one_line(&session.label))
        });
    }

    fn jobs(&mut self, jobs: &[ImportedJob]) {
        if jobs.is_empty() {
            return;
        }
        let text = format!(
            "{}, disabled unless --enable-jobs is given, and without grants",
            jobs.len()
        );
        self.part("Jobs", &text);
        self.items(jobs, |job| {
            let zone = job.zone.as_deref().unwrap_or("local time");
            let (schedule, zone) = (one_line(&job.schedule), one_line(zone));
            format!(
                "{}: {schedule} ({zone}), {}",
                job.name,
                prose_line(&job.task)
            )
        });
    }

    fn loops(&mut self, loops: &[ImportedLoop]) {
        if loops.is_empty() {
            return;
        }
        let text = format!("{}, not started, and without grants", loops.len());
        self.part("Loops", &text);
        self.items(loops, |one| {
            let task = one.config.user.as_deref().unwrap_or_default();
            format!("{}: {}", one.name, prose_line(task))
        });
        for one in loops {
            // Setting a monitor is consent to its command, so it is shown whole.
            if let Some(Some(monitor)) = &one.config.monitor {
                let text = format!(
                    "{} runs, once started: {}",
                    one.name,
                    one_line(&monitor.command)
                );
                self.part("", &text);
            }
        }
    }

    fn settings(&mut self, settings: &[ImportedSetting]) {
        let mut name = "Settings";
        for setting in settings {
            let value = one_line(&setting.value.to_string());
            self.part(name, &format!("{} = {value}", setting.key));
            name = "";
        }
    }

    fn skipped(&mut self, skipped: &[SkippedItem], more: usize) {
        if skipped.is_empty() {
            return;
        }
        self.lines
            .push(self.screen.paint(TextTone::Heading, "Not imported:"));
        for item in skipped.iter().take(SKIPPED_MAX) {
            let text = format!("{}: {}", one_line(&item.what), prose_line(&item.reason));
            let mut indent = "  ";
            for line in wrap(&text, self.columns.saturating_sub(4)) {
                self.lines.push(format!("{indent}{line}"));
                indent = "    ";
            }
        }
        let more = more + skipped.len().saturating_sub(SKIPPED_MAX);
        if more > 0 {
            let text = format!("  and {more} more; --json lists them");
            self.lines.push(self.screen.paint(TextTone::Quiet, &text));
        }
    }
}

#[cfg(test)]
#[path = "import_plan_tests.rs"]
mod tests;
