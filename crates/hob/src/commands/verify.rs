//! `hob verify`: checks everything that is stored, beside a running daemon or without one. Changes
//! nothing and starts nothing.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::{grouped, one_line};
use crate::render::{Screen, Tone};
use crate::tree::text;
use clap::{ArgMatches, Command};
use hob_kit::lock::HomeLock;
use hob_store::Store;
use hob_wire::rooms::daemon::{Verified, VerifiedPart, Verify, VerifyParams};
use std::time::{Duration, Instant};

/// Between two words about how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

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
        Some(client) => client.call::<Verify>(&VerifyParams {}).await?,
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
            crate::terminal::Terminal::note(format!("{part}: {} so far", grouped(checked)));
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
    for note in &verified.notes {
        lines.push(format!("{}  {}", screen.paint(Tone::Quiet, "note   "), one_line(note)));
    }
    lines
}

fn checked(part: &VerifiedPart) -> String {
    let unit = match part.name.as_str() {
        "database" => "pages",
        "audit" => "entries",
        other => other,
    };
    format!("{} {unit}", grouped(part.checked))
}
