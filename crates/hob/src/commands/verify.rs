//! `hob verify`: checks all stored data, with a running daemon or without one. Changes nothing and
//! starts nothing.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{group_thousands, one_line};
use crate::render::{ScreenStyle, TextTone};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_client::{CallOptions, Client, StreamItem, SubscribeOptions};
use hob_kit::home_lock::HomeLock;
use hob_store::Store;
use hob_wire::rooms::daemon::{DaemonVerifyResult, VerifiedPart, Verify, Verifying};
use hob_wire::{EventTopic, Method};
use std::time::{Duration, Instant};

/// The time between two progress notes.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// The longest check. A longer one means that the disk does not answer.
const WAIT_MAX: Duration = Duration::from_hours(24);

/// Checks that no stored data is damaged or missing.
///
/// Reads everything: the database's structure, each message, run, rule, job, token and audit entry
/// against its checksum, each blob against its name, and the hash chain of the audit record. Works
/// with and without a running daemon. Exits with 1 if something is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob verify", "hob verify --json"]))]
pub struct VerifyArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    let verified = match context.running_client().await? {
        Some(client) => verify_with_daemon(&client).await?,
        None => verify_offline(context)?,
    };
    context.terminal.print_result(&verified, lines)?;
    if verified.sound {
        Ok(())
    } else {
        // The damage was printed above.
        Err(CommandFailure::quiet(ExitStatus::Failed))
    }
}

/// Lets the daemon verify, and notes its progress.
async fn verify_with_daemon(client: &Client) -> Result<DaemonVerifyResult, CommandFailure> {
    // Subscribed before the call, so that no progress event is missed.
    let mut stream = client
        .subscribe(SubscribeOptions::to([Verifying::SPEC.topic]))
        .await?;
    let options = CallOptions {
        timeout: Some(WAIT_MAX),
        ..CallOptions::default()
    };
    let call = client.call_raw(Verify::SPEC.name, Some("{}".into()), options);
    tokio::pin!(call);
    let mut noted_at = Instant::now();
    let answer = loop {
        tokio::select! {
            answer = &mut call => break answer?,
            Some(Ok(StreamItem::Event(event))) = stream.next() => {
                if let Some(at) = event.read::<Verifying>()
                    && noted_at.elapsed() >= PROGRESS_EVERY
                {
                    noted_at = Instant::now();
                    note_progress(&at.part, at.checked);
                }
            }
        }
    };
    let read = serde_json::from_slice(&answer.unwrap_or_default());
    read.map_err(|error| {
        CommandFailure::failed(format!("The daemon's answer cannot be read: {error}."))
    })
}

fn note_progress(part: &str, checked: u64) {
    Terminal::note(format!(
        "{}: {} so far",
        one_line(part),
        group_thousands(checked)
    ));
}

/// Verifies the store under the home's lock, so that no daemon starts to write in between.
fn verify_offline(context: &CommandContext) -> Result<DaemonVerifyResult, CommandFailure> {
    let home = &context.host.home;
    let failed = |error: &dyn std::fmt::Display| CommandFailure::failed(error.to_string());
    if !home.root().exists() {
        let message = format!("There is no hob home yet at '{}'.", home.root().display());
        return Ok(DaemonVerifyResult {
            sound: true,
            notes: vec![message],
            ..DaemonVerifyResult::default()
        });
    }
    let _lock = HomeLock::acquire(home).map_err(|error| failed(&error))?;
    let mut noted_at = Instant::now();
    let verified = Store::verify(&home.database(), &mut |part, checked| {
        if noted_at.elapsed() >= PROGRESS_EVERY {
            noted_at = Instant::now();
            note_progress(part, checked);
        }
    });
    verified.map_err(|error| failed(&error))
}

/// Formats one line per part and one per problem.
fn lines(verified: &DaemonVerifyResult, screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for part in &verified.parts {
        let what = format!("{:<9} {}", part.name, checked_text(part));
        if part.problems.is_empty() {
            lines.push(format!(
                "{}  {what}",
                screen.paint(TextTone::Good, "ok     ")
            ));
            continue;
        }
        lines.push(format!(
            "{}  {what}",
            screen.paint(TextTone::Bad, "DAMAGED")
        ));
        let problems = part.problems.iter();
        lines.extend(problems.map(|problem| format!("         {}", one_line(problem))));
        if part.more {
            lines.push("         There are more problems; these are the first.".to_owned());
        }
    }
    let doubts = verified.doubts.iter();
    let doubts = doubts.map(|doubt| (screen.paint(TextTone::Warning, "doubt  "), doubt));
    let notes = verified.notes.iter();
    let notes = notes.map(|note| (screen.paint(TextTone::Quiet, "note   "), note));
    lines.extend(
        doubts
            .chain(notes)
            .map(|(label, text)| format!("{label}  {}", one_line(text))),
    );
    lines
}

fn checked_text(part: &VerifiedPart) -> String {
    let (one, many) = match part.name.as_str() {
        "database" => ("page", "pages"),
        "rows" => ("row", "rows"),
        "blobs" => ("blob", "blobs"),
        _ => ("entry", "entries"),
    };
    let unit = if part.checked == 1 { one } else { many };
    format!("{} {unit}", group_thousands(part.checked))
}
