//! `hob audit`: lists, verifies and exports the hash-chained record of every decision.
//!
//! Invariant: an exported file appears under its name only when it is complete.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::audit;
use crate::render::text::{group_thousands, one_line};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use clap::value_parser;
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

/// Shows, checks and exports the record of decisions.
///
/// Every decision about a tool call is recorded with the call. Each entry holds the hash of the one
/// before, so a changed or removed entry is noticed.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob audit list --session chat:main",
    "hob audit verify",
    "hob audit export --out audit.jsonl",
]))]
pub enum AuditSubcommand {
    List(AuditListArgs),
    Verify(AuditVerifyArgs),
    Export(AuditExportArgs),
}

/// Lists decisions, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob audit list",
    "hob audit list --tool exec --limit 5",
    "hob audit list --session chat:main --json",
]))]
pub struct AuditListArgs {
    /// Only calls of this session.
    #[arg(long, short, value_name = "KEY")]
    session: Option<String>,
    /// Only calls of this run: its id, the end of its id, or its session.
    #[arg(long)]
    run: Option<String>,
    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// At most this many; 30 if missing.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continues after this entry, the last of the previous page.
    #[arg(long, value_name = "SEQ", value_parser = value_parser!(u64).range(1..))]
    before: Option<u64>,
}

/// Checks that no entry was changed or removed.
///
/// Keep the printed head hash somewhere else: passed back with --head it proves that the end of the
/// record was not cut off either. A file is checked without a daemon.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob audit verify",
    "hob audit verify --file audit.jsonl --head HASH",
]))]
pub struct AuditVerifyArgs {
    /// Checks a file from 'hob audit export' instead of the record itself.
    #[arg(long)]
    file: Option<PathBuf>,
    /// The hash of an entry seen earlier, which must still exist.
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
}

/// Exports the record, one JSON line per entry.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob audit export --out audit.jsonl",
    "hob audit export | jq -r .tool",
]))]
pub struct AuditExportArgs {
    /// The file to write; stdout if missing.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub async fn run(context: &CommandContext, command: AuditSubcommand) -> Result<(), CommandFailure> {
    match command {
        AuditSubcommand::List(args) => list(context, args).await,
        AuditSubcommand::Verify(args) => verify(context, args).await,
        AuditSubcommand::Export(args) => export(context, args).await,
    }
}

async fn list(context: &CommandContext, args: AuditListArgs) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let run_id = match args.run {
        Some(run) => Some(super::run::run_id(&client, run).await?),
        None => None,
    };
    let params = AuditListParams {
        session_key: args.session,
        run_id,
        tool: args.tool,
        before: args.before,
        limit: Some(args.limit.unwrap_or(DEFAULT_PAGE)),
    };
    let page = client.call::<List>(&params).await?;
    Ok(context.terminal.print_result(&page, audit::list)?)
}

async fn verify(context: &CommandContext, args: AuditVerifyArgs) -> Result<(), CommandFailure> {
    let head = args.head;
    let found = if let Some(file) = args.file {
        verify_file(&file, head.as_deref())?
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

async fn export(context: &CommandContext, args: AuditExportArgs) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let terminal = &context.terminal;
    let Some(out) = args.out else {
        return copy_entries(&client, |entry| Ok(terminal.document(entry)?))
            .await
            .map(drop);
    };
    let unwritable = |error: std::io::Error| {
        CommandFailure::failed(format!("'{}' cannot be written: {error}.", out.display()))
    };
    // Written to a temporary file and renamed, so that a broken export never looks complete.
    let mut draft = AtomicFileWriter::create(&out).map_err(unwritable)?;
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
