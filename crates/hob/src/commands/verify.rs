//! `hob verify`: checks everything that is stored, beside a running daemon or without one. Changes
//! nothing and starts nothing.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::{grouped, one_line};
use crate::render::{Screen, Tone};
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{ArgMatches, Command};
use hob_client::{CallOptions, Client, Item, Subscription};
use hob_kit::lock::HomeLock;
use hob_store::Store;
use hob_wire::rooms::daemon::{Verified, VerifiedPart, Verify, Verifying};
use hob_wire::{Method, Topic};
use std::time::{Duration, Instant};

/// Between two words about how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// A check that takes longer reads a disk that does not answer.
const WAIT_MAX: Duration = Duration::from_hours(24);

pub fn command() -> Command {
    Command::new("verify")
        .about("Checks that nothing stored is damaged or missing")
        .long_about(
            "Reads everything: the database's structure, each message, run, rule, job, token \
             and audit entry against its checksum, each blob against its name, and the chain of \
             the audit record. Works while the daemon runs and without it. Exits with 1 when \
             something is damaged.",
        )
        .after_help(text::examples(&[
            "hob verify".to_owned(),
            "hob verify --json".to_owned(),
        ]))
}

pub async fn run(context: &Context, _: &ArgMatches) -> Result<(), Failure> {
    let verified = match context.running_client().await? {
        Some(client) => beside_daemon(&client).await?,
        None => offline(context)?,
    };
    context.terminal.shown(&verified, lines)?;
    if verified.sound {
        Ok(())
    } else {
        // It was said already.
        Err(Failure::quiet(Exit::Failed))
    }
}

/// Asks the daemon, and tells how far it is.
async fn beside_daemon(client: &Client) -> Result<Verified, Failure> {
    let mut stream = client
        .subscribe(Subscription::to([Verifying::SPEC.topic]))
        .await?;
    let options = CallOptions {
        timeout: Some(WAIT_MAX),
        ..CallOptions::default()
    };
    let call = client.call_raw(Verify::SPEC.name, Some("{}".into()), options);
    tokio::pin!(call);
    let mut told_at = Instant::now();
    let answer = loop {
        tokio::select! {
            answer = &mut call => break answer?,
            Some(Ok(Item::Event(event))) = stream.next() => {
                if let Some(at) = event.read::<Verifying>()
                    && told_at.elapsed() >= PROGRESS_EVERY
                {
                    told_at = Instant::now();
                    progress(&at.part, at.checked);
                }
            }
        }
    };
    let read = serde_json::from_slice(&answer.unwrap_or_default());
    read.map_err(|error| Failure::failed(format!("The daemon's answer cannot be read: {error}.")))
}

fn progress(part: &str, checked: u64) {
    Terminal::note(format!("{}: {} so far", one_line(part), grouped(checked)));
}

/// Reads the store under the home's lock, so that no daemon starts to write in between.
fn offline(context: &Context) -> Result<Verified, Failure> {
    let home = &context.world.home;
    let refused = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    if !home.root().exists() {
        let message = format!("There is no hob home yet at '{}'.", home.root().display());
        return Ok(Verified {
            sound: true,
            notes: vec![message],
            ..Verified::default()
        });
    }
    let _lock = HomeLock::take(home).map_err(|error| refused(&error))?;
    let mut told_at = Instant::now();
    let verified = Store::verify(&home.database(), &mut |part, checked| {
        if told_at.elapsed() >= PROGRESS_EVERY {
            told_at = Instant::now();
            progress(part, checked);
        }
    });
    verified.map_err(|error| refused(&error))
}

/// One line for each part, and one for each problem.
fn lines(verified: &Verified, screen: &Screen) -> Vec<String> {
    let mut lines = Vec::new();
    for part in &verified.parts {
        let what = format!("{:<9} {}", part.name, checked(part));
        if part.problems.is_empty() {
            lines.push(format!("{}  {what}", screen.paint(Tone::Good, "ok     ")));
            continue;
        }
        lines.push(format!("{}  {what}", screen.paint(Tone::Bad, "DAMAGED")));
        let problems = part.problems.iter();
        lines.extend(problems.map(|problem| format!("         {}", one_line(problem))));
        if part.more {
            lines.push("         There are more; these are the first.".to_owned());
        }
    }
    let doubts = verified.doubts.iter();
    let doubts = doubts.map(|doubt| (screen.paint(Tone::Warning, "doubt  "), doubt));
    let notes = verified.notes.iter();
    let notes = notes.map(|note| (screen.paint(Tone::Quiet, "note   "), note));
    lines.extend(
        doubts
            .chain(notes)
            .map(|(label, text)| format!("{label}  {}", one_line(text))),
    );
    lines
}

fn checked(part: &VerifiedPart) -> String {
    let (one, many) = match part.name.as_str() {
        "database" => ("page", "pages"),
        "rows" => ("row", "rows"),
        "blobs" => ("blob", "blobs"),
        _ => ("entry", "entries"),
    };
    let unit = if part.checked == 1 { one } else { many };
    format!("{} {unit}", grouped(part.checked))
}
