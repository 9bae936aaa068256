//! `hob audit`: lists, verifies and exports the hash-chained record of every decision.
//!
//! Invariant: an exported file appears under its name only when it is complete.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::audit;
use crate::render::text::{group_thousands, one_line};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_client::Client;
use hob_core::permission::AuditChain;
use hob_kit::atomic_file::AtomicFileWriter;
use hob_wire::rooms::audit::{
    AuditEntry, AuditExportParams, AuditListParams, AuditVerifyParams, AuditVerifyResult, Export,
    List, Verify,
};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 30;
/// The longest line of an exported file. An entry's fields are bounded far below this.
const ENTRY_BYTES_MAX: u64 = 1_024 * 1_024;
/// Entries between two progress notes of an export.
const PROGRESS_ENTRIES: u64 = 10_000;

pub fn command() -> Command {
    Command::new("audit")
        .about("Shows, checks and exports the record of decisions")
        .long_about(
            "Every decision about a tool call is recorded with the call. Each entry holds the hash \
             of the one before, so a changed or removed entry is noticed.",
        )
        .after_help(examples(&[
            "hob audit list --session chat:main",
            "hob audit verify",
            "hob audit export --out audit.jsonl",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list_command())
        .subcommand(verify_command())
        .subcommand(export_command())
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn list_command() -> Command {
    Command::new("list")
        .about("Lists decisions, newest first")
        .after_help(examples(&[
            "hob audit list",
            "hob audit list --tool exec --limit 5",
            "hob audit list --session chat:main --json",
        ]))
        .arg(flag("session", "KEY", "Only calls of this session").short('s'))
        .arg(flag(
            "run",
            "RUN",
            "Only calls of this run: its id, the end of its id, or its session",
        ))
        .arg(flag("tool", "NAME", "Only calls of this tool"))
        .arg(
            flag("limit", "N", "At most this many; 30 if missing")
                .short('n')
                .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(
            flag(
                "before",
                "SEQ",
                "Continues after this entry, the last of the previous page",
            )
            .value_parser(value_parser!(u64).range(1..)),
        )
}

fn verify_command() -> Command {
    Command::new("verify")
        .about("Checks that no entry was changed or removed")
        .long_about(
            "Keep the printed head hash somewhere else: passed back with --head it proves \
             that the end of the record was not cut off either. A file is checked without a daemon.",
        )
        .after_help(examples(&[
            "hob audit verify",
            "hob audit verify --file audit.jsonl --head HASH",
        ]))
        .arg(
            flag(
                "file",
                "FILE",
                "Checks a file from 'hob audit export' instead of the record itself",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag(
            "head",
            "HASH",
            "The hash of an entry seen earlier, which must still exist",
        ))
}

fn export_command() -> Command {
    Command::new("export")
        .about("Exports the record, one JSON line per entry")
        .after_help(examples(&[
            "hob audit export --out audit.jsonl",
            "hob audit export | jq -r .tool",
        ]))
        .arg(
            flag("out", "FILE", "The file to write; stdout if missing")
                .value_parser(value_parser!(PathBuf)),
        )
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    match matches.subcommand() {
        Some(("list", matches)) => list(context, matches).await,
        Some(("verify", matches)) => verify(context, matches).await,
        Some(("export", matches)) => export(context, matches).await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
    }
}

async fn list(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let run_id = match text("run") {
        Some(_) => Some(super::run::run_id(&client, matches).await?),
        None => None,
    };
    let params = AuditListParams {
        session_key: text("session"),
        run_id,
        tool: text("tool"),
        before: matches.get_one::<u64>("before").copied(),
        limit: Some(
            matches
                .get_one::<u32>("limit")
                .copied()
                .unwrap_or(DEFAULT_PAGE),
        ),
    };
    let page = client.call::<List>(&params).await?;
    Ok(context.terminal.print_result(&page, audit::list)?)
}

async fn verify(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let head = matches.get_one::<String>("head").cloned();
    let found = if let Some(file) = matches.get_one::<PathBuf>("file") {
        verify_file(file, head.as_deref())?
    } else {
        let client = context.client().await?;
        client.call::<Verify>(&AuditVerifyParams { head }).await?
    };
    context.terminal.print_result(&found, audit::verified)?;
    match &found.problem {
        None => Ok(()),
        // The problem was printed above.
        Some(_) => Err(CommandFailure::quiet(ExitStatus::Failed)),
    }
}

/// Checks an exported file line by line.
fn verify_file(path: &Path, head: Option<&str>) -> Result<AuditVerifyResult, CommandFailure> {
    let unreadable = |error: std::io::Error| {
        let place = one_line(&path.display().to_string());
        CommandFailure::usage(format!("'{place}' cannot be read: {error}."))
    };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut chain = AuditChain::new(head);
    let mut problem = None;
    let mut line = Vec::new();
    while problem.is_none() {
        line.clear();
        // Bounded, so that a file without line breaks is not read into memory.
        let mut limited = file.by_ref().take(ENTRY_BYTES_MAX);
        if limited.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        problem = parse_entry(&line)
            .ok_or_else(|| format!("Line {} is not an audit entry.", chain.entries() + 1))
            .and_then(|entry| chain.verify_next(&entry))
            .err();
    }
    Ok(AuditVerifyResult {
        entries: chain.entries(),
        head: chain.head().to_owned(),
        problem: problem.or_else(|| chain.problem_at_end()),
    })
}

/// Parses a line that holds an entry and nothing else. Extra fields are refused, because the
/// entry's hash does not cover them.
fn parse_entry(line: &[u8]) -> Option<AuditEntry> {
    let entry: AuditEntry = serde_json::from_slice(line).ok()?;
    let whole: serde_json::Value = serde_json::from_slice(line).ok()?;
    let parsed = serde_json::to_value(&entry).ok()?;
    (whole == parsed).then_some(entry)
}

async fn export(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let terminal = &context.terminal;
    let Some(out) = matches.get_one::<PathBuf>("out") else {
        return copy_entries(&client, |entry| Ok(terminal.document(entry)?))
            .await
            .map(drop);
    };
    let unwritable = |error: std::io::Error| {
        CommandFailure::failed(format!("'{}' cannot be written: {error}.", out.display()))
    };
    // Written to a temporary file and renamed, so that a broken export never looks complete.
    let mut draft = AtomicFileWriter::create(out).map_err(unwritable)?;
    let entries = copy_entries(&client, |entry| {
        let line = serde_json::to_string(entry).map_err(std::io::Error::from)?;
        writeln!(draft, "{line}").map_err(unwritable)
    })
    .await?;
    draft.finish().map_err(unwritable)?;
    let noun = if entries == 1 { "entry" } else { "entries" };
    let place = one_line(&out.display().to_string());
    Terminal::note(format!("{} {noun} in {place}", group_thousands(entries)));
    Ok(())
}

/// Passes every entry in order to `keep`, and notes the progress of a long export.
async fn copy_entries(
    client: &Client,
    mut keep: impl FnMut(&AuditEntry) -> Result<(), CommandFailure>,
) -> Result<u64, CommandFailure> {
    let mut params = AuditExportParams::default();
    let mut entries = 0_u64;
    let mut noted = 0;
    loop {
        let page = client.call::<Export>(&params).await?;
        for entry in &page.entries {
            keep(entry)?;
            params.after = entry.seq;
            entries += 1;
        }
        if !page.more || page.entries.is_empty() {
            return Ok(entries);
        }
        if entries - noted >= PROGRESS_ENTRIES {
            noted = entries;
            Terminal::note(format!("{} entries …", group_thousands(entries)));
        }
    }
}
