//! `hob status`: whether the daemon runs, and how it is.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::{bytes, count, one_line, pad, wrap};
use crate::render::{Screen, Tone, moment};
use crate::tree::text;
use clap::{ArgMatches, Command};
use hob_client::Client;
use hob_wire::rooms::daemon::{DaemonStatus, Status, StatusParams, StoreState};
use hob_wire::rooms::loops;
use serde_json::{Value, json};

pub fn command() -> Command {
    Command::new("status")
        .about("Shows whether the daemon runs, and how it is")
        .long_about("Starts nothing, and exits with 4 when no daemon runs.")
        .after_help(text::examples(&[
            "hob status".to_owned(),
            "hob status --json".to_owned(),
        ]))
}

pub async fn run(context: &Context, _: &ArgMatches) -> Result<(), Failure> {
    show(context).await
}

pub async fn show(context: &Context) -> Result<(), Failure> {
    let terminal = &context.terminal;
    if let Some(client) = context.running_client().await? {
        let status = of_daemon(&client).await?;
        let duties = Duties::of(&client).await;
        if terminal.json {
            let mut document = document(&status);
            if let Some(fields) = document.as_object_mut() {
                duties.add_to(fields);
            }
            return Ok(terminal.document(&document)?);
        }
        let screen = terminal.screen();
        let lines = lines(&status, screen).into_iter();
        return Ok(terminal.lines(lines.chain(duties.line(screen)))?);
    }
    let home = context.world.home.root().display().to_string();
    if terminal.json {
        terminal.document(&json!({ "running": false, "home": home }))?;
    } else {
        terminal.lines(absent_lines(&home, terminal.screen()))?;
    }
    Err(Failure::quiet(Exit::Unreachable))
}

pub async fn of_daemon(client: &Client) -> Result<DaemonStatus, Failure> {
    Ok(client.call::<Status>(&StatusParams {}).await?)
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

/// The daemon's state as aligned pairs.
pub fn lines(status: &DaemonStatus, screen: &Screen) -> Vec<String> {
    let up = moment::span(screen.now_ms.saturating_sub(status.started_at));
    let daemon = format!(
        "{}, version {}, pid {}, up {up}",
        screen.paint(Tone::Good, "running"),
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
        count(status.sessions, "session"),
        count(status.seq, "logged event")
    );
    lines.push(pair("Holds", &sessions, screen));
    lines
}

/// What a person must know, beside the name `Note`.
fn note_lines(notes: &[String], screen: &Screen) -> Vec<String> {
    let room = screen.width.map_or(usize::MAX, |it| it.saturating_sub(10));
    let pieces = notes.iter().flat_map(|note| wrap(&one_line(note), room));
    let named = std::iter::once("Note").chain(std::iter::repeat(""));
    pieces
        .zip(named)
        .map(|(text, name)| pair(name, &screen.paint(Tone::Warning, &text), screen))
        .collect()
}

pub fn absent_lines(home: &str, screen: &Screen) -> Vec<String> {
    let state = screen.paint(Tone::Warning, "not running");
    vec![pair("Daemon", &state, screen), pair("Home", home, screen)]
}

fn store_lines(status: &DaemonStatus, screen: &Screen) -> Vec<String> {
    let store = &status.store;
    let state = match store.state {
        StoreState::Ready => screen.paint(Tone::Good, "ready"),
        state => {
            let word = serde_json::to_value(state).unwrap_or_default();
            screen.paint(Tone::Bad, word.as_str().unwrap_or("not ready"))
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
    let said = store.message.iter().chain(&store.findings).chain(damaged);
    lines.extend(said.map(|text| pair("", text, screen)));
    lines
}

/// What the house does by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Duties {
    loops_running: u64,
    jobs: u64,
    /// The job that is due next, and when.
    next: Option<(String, u64)>,
}

impl Duties {
    /// Nothing where the rooms cannot be asked: the daemon is what this command is about.
    async fn of(client: &Client) -> Duties {
        let params = loops::ListParams {
            running: Some(true),
        };
        let running = client.call::<loops::List>(&params).await;
        let running = running.map(|found| found.loops.len()).unwrap_or_default();
        let jobs = super::cron::all(client).await;
        let jobs = jobs.map(|found| found.jobs).unwrap_or_default();
        let due = jobs.iter().filter(|job| job.enabled).filter_map(|job| {
            let at = *job.next.first()?;
            Some((job.terms.name.clone(), at))
        });
        Duties {
            loops_running: running as u64,
            next: due.min_by_key(|(_, at)| *at),
            jobs: jobs.len() as u64,
        }
    }

    fn add_to(&self, fields: &mut serde_json::Map<String, Value>) {
        let next = self.next.as_ref();
        let next = next.map(|(name, at)| json!({ "name": name, "at": at }));
        fields.insert("loopsRunning".to_owned(), self.loops_running.into());
        fields.insert("jobs".to_owned(), self.jobs.into());
        fields.insert("nextJob".to_owned(), next.unwrap_or_default());
    }

    /// `2 loops, 5 jobs, next tidy in 3 min`; nothing where there is nothing.
    fn line(&self, screen: &Screen) -> Option<String> {
        let running = (self.loops_running > 0).then(|| count(self.loops_running, "running loop"));
        let jobs = (self.jobs > 0).then(|| count(self.jobs, "job"));
        let next = self.next.as_ref().map(|(name, at)| {
            let name = crate::render::words::one_line(name);
            format!("next {name} {}", moment::until(*at, screen))
        });
        let parts: Vec<String> = [running, jobs, next].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| pair("Works", &parts.join(", "), screen))
    }
}

fn pair(name: &str, text: &str, screen: &Screen) -> String {
    format!("{}  {text}", screen.paint(Tone::Quiet, &pad(name, 8)))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
