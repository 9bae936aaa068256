//! `hob status`: the state of the daemon.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{bytes, count_noun, one_line, pad, wrap};
use crate::render::{ScreenStyle, TextTone, time};
use crate::tree::help_text::examples;
use hob_client::Client;
use hob_wire::rooms::daemon::{DaemonStatus, DaemonStatusParams, Status, StoreState};
use hob_wire::rooms::loops;
use serde_json::{Value, json};

/// Shows whether the daemon is running, and its state.
///
/// Starts nothing; exits with 4 if no daemon is running.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob status", "hob status --json"]))]
pub struct StatusArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if let Some(client) = context.running_client().await? {
        let status = fetch_status(&client).await?;
        let work = BackgroundWork::fetch(&client).await;
        if terminal.json {
            let mut document = document(&status);
            if let Some(fields) = document.as_object_mut() {
                work.add_to_json(fields);
            }
            return Ok(terminal.document(&document)?);
        }
        let screen = terminal.screen();
        let lines = lines(&status, screen).into_iter();
        return Ok(terminal.lines(lines.chain(work.line(screen)))?);
    }
    let home = context.host.home.root().display().to_string();
    if terminal.json {
        terminal.document(&json!({ "running": false, "home": home }))?;
    } else {
        terminal.lines(absent_lines(&home, terminal.screen()))?;
    }
    // Scripts see the missing daemon in the exit code; people have read it above.
    Err(CommandFailure::quiet(ExitStatus::Unreachable))
}

pub async fn fetch_status(client: &Client) -> Result<DaemonStatus, CommandFailure> {
    Ok(client.call::<Status>(&DaemonStatusParams {}).await?)
}

pub fn document(status: &DaemonStatus) -> Value {
    let mut document = json!({ "running": true });
    if let (Some(into), Ok(Value::Object(fields))) =
        (document.as_object_mut(), serde_json::to_value(status))
    {
        into.extend(fields);
    }
    document
}

/// Formats the daemon's state as aligned name and value pairs.
pub fn lines(status: &DaemonStatus, screen: &ScreenStyle) -> Vec<String> {
    let up = time::span(screen.now_ms.saturating_sub(status.started_at));
    let daemon = format!(
        "{}, version {}, pid {}, up {up}",
        screen.paint(TextTone::Good, "running"),
        status.version,
        status.pid
    );
    let mut lines = vec![
        pair("Daemon", &daemon, screen),
        pair("Home", &status.home, screen),
    ];
    for (index, listener) in status.listeners.iter().enumerate() {
        let name = if index == 0 { "Listens" } else { "" };
        lines.push(pair(name, listener, screen));
    }
    lines.extend(note_lines(&status.notes, screen));
    lines.extend(store_lines(status, screen));
    let sessions = format!(
        "{}, {}",
        count_noun(status.sessions, "session"),
        count_noun(status.seq, "logged event")
    );
    lines.push(pair("Holds", &sessions, screen));
    lines
}

/// Formats the daemon's notes as warnings, wrapped beside the name `Note`.
fn note_lines(notes: &[String], screen: &ScreenStyle) -> Vec<String> {
    let room = screen.width.map_or(usize::MAX, |it| it.saturating_sub(10));
    let pieces = notes.iter().flat_map(|note| wrap(&one_line(note), room));
    let named = std::iter::once("Note").chain(std::iter::repeat(""));
    pieces
        .zip(named)
        .map(|(text, name)| pair(name, &screen.paint(TextTone::Warning, &text), screen))
        .collect()
}

pub fn absent_lines(home: &str, screen: &ScreenStyle) -> Vec<String> {
    let state = screen.paint(TextTone::Warning, "not running");
    vec![pair("Daemon", &state, screen), pair("Home", home, screen)]
}

fn store_lines(status: &DaemonStatus, screen: &ScreenStyle) -> Vec<String> {
    let store = &status.store;
    let state = match store.state {
        StoreState::Ready => screen.paint(TextTone::Good, "ready"),
        state => {
            let word = serde_json::to_value(state).unwrap_or_default();
            screen.paint(TextTone::Bad, word.as_str().unwrap_or("not ready"))
        }
    };
    let text = format!(
        "{state}, {}, schema {}, SQLite {}",
        bytes(store.bytes),
        store.schema,
        store.sqlite
    );
    let mut lines = vec![pair("Store", &text, screen)];
    let damaged = store.damaged.iter().map(|row| &row.message);
    let messages = store.message.iter().chain(&store.findings).chain(damaged);
    lines.extend(messages.map(|text| pair("", text, screen)));
    lines
}

/// The running loops and scheduled jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BackgroundWork {
    loops_running: u64,
    jobs: u64,
    /// The name of the job that is due next, and its time.
    next: Option<(String, u64)>,
}

impl BackgroundWork {
    /// Asks the daemon. Errors count as no work, because the status of the daemon matters more.
    async fn fetch(client: &Client) -> BackgroundWork {
        let params = loops::LoopListParams {
            running: Some(true),
        };
        let running = client.call::<loops::List>(&params).await;
        let running = running.map(|found| found.loops.len()).unwrap_or_default();
        let jobs = super::cron::list_all(client).await;
        let jobs = jobs.map(|found| found.jobs).unwrap_or_default();
        let due = jobs.iter().filter(|job| job.enabled).filter_map(|job| {
            let at = *job.next.first()?;
            Some((job.terms.name.clone(), at))
        });
        BackgroundWork {
            loops_running: running as u64,
            next: due.min_by_key(|(_, at)| *at),
            jobs: jobs.len() as u64,
        }
    }

    fn add_to_json(&self, fields: &mut serde_json::Map<String, Value>) {
        let next = self.next.as_ref();
        let next = next.map(|(name, at)| json!({ "name": name, "at": at }));
        fields.insert("loopsRunning".to_owned(), self.loops_running.into());
        fields.insert("jobs".to_owned(), self.jobs.into());
        fields.insert("nextJob".to_owned(), next.unwrap_or_default());
    }

    /// Formats `2 running loops, 5 jobs, next tidy in 3 min`; `None` if there is no work.
    fn line(&self, screen: &ScreenStyle) -> Option<String> {
        let running =
            (self.loops_running > 0).then(|| count_noun(self.loops_running, "running loop"));
        let jobs = (self.jobs > 0).then(|| count_noun(self.jobs, "job"));
        let next = self.next.as_ref().map(|(name, at)| {
            let name = crate::render::text::one_line(name);
            format!("next {name} {}", time::until(*at, screen))
        });
        let parts: Vec<String> = [running, jobs, next].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| pair("Works", &parts.join(", "), screen))
    }
}

fn pair(name: &str, text: &str, screen: &ScreenStyle) -> String {
    format!("{}  {text}", screen.paint(TextTone::Quiet, &pad(name, 8)))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
