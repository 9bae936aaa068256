//! `hob audit`: the hash-chained record of every decision, listed, checked and copied.
//!
//! Invariant: a copy appears under its name only when it is whole.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::audit;
use crate::render::words::{grouped, one_line};
use crate::terminal::Terminal;
use crate::tree::text::examples;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_client::Client;
use hob_core::permission::Chain;
use hob_kit::file::Draft;
use hob_wire::rooms::audit::{
    AuditEntry, Export, ExportParams, List, ListParams, Verified, Verify, VerifyParams,
};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Entries of a page unless the person says otherwise.
const PAGE: u32 = 30;
/// Longest line of a copy; an entry's parts are bounded far below.
const ENTRY_BYTES_MAX: u64 = 1_024 * 1_024;
/// Entries between two words about how far an export came.
const PROGRESS_ENTRIES: u64 = 10_000;

pub fn command() -> Command {
    Command::new("audit")
        .about("Shows, checks and copies the record of what was decided")
        .long_about(
            "Every decision about a call is recorded with it, and each entry holds the hash \
             of the one before: nothing can be changed or taken out unnoticed.",
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
        .about("Lists what was decided, the newest first")
        .after_help(examples(&[
            "hob audit list",
            "hob audit list --tool exec --limit 5",
            "hob audit list --session chat:main --json",
        ]))
        .arg(flag("session", "KEY", "Only about calls of this session").short('s'))
        .arg(flag(
            "run",
            "RUN",
            "Only about calls of this run: its id, the end of it, or its session",
        ))
        .arg(flag("tool", "NAME", "Only about calls of this tool"))
        .arg(
            flag("limit", "N", "At most this many; 30 when missing")
                .short('n')
                .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(
            flag("before", "SEQ", "Where the page before ended")
                .value_parser(value_parser!(u64).range(1..)),
        )
}

fn verify_command() -> Command {
    Command::new("verify")
        .about("Checks that nothing of the record was changed or taken out")
        .long_about(
            "Keep the head that it prints somewhere else: given back with --head it shows \
             that the record was not cut short either. A copy is checked without a daemon.",
        )
        .after_help(examples(&[
            "hob audit verify",
            "hob audit verify --file audit.jsonl --head HASH",
        ]))
        .arg(
            flag(
                "file",
                "FILE",
                "A copy that 'hob audit export' made, instead of the record itself",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag(
            "head",
            "HASH",
            "The hash of an entry seen earlier, which must still be there",
        ))
}

fn export_command() -> Command {
    Command::new("export")
        .about("Copies the record, one JSON line an entry")
        .after_help(examples(&[
            "hob audit export --out audit.jsonl",
            "hob audit export | jq -r .tool",
        ]))
        .arg(
            flag("out", "FILE", "Where to; stdout when missing")
                .value_parser(value_parser!(PathBuf)),
        )
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("list", matches)) => list(context, matches).await,
        Some(("verify", matches)) => verify(context, matches).await,
        Some(("export", matches)) => export(context, matches).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}

async fn list(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let client = context.client().await?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let run_id = match text("run") {
        Some(_) => Some(super::run::run_id(&client, matches).await?),
        None => None,
    };
    let params = ListParams {
        session_key: text("session"),
        run_id,
        tool: text("tool"),
        before: matches.get_one::<u64>("before").copied(),
        limit: Some(matches.get_one::<u32>("limit").copied().unwrap_or(PAGE)),
    };
    let page = client.call::<List>(&params).await?;
    Ok(context.terminal.shown(&page, audit::list)?)
}

async fn verify(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let head = matches.get_one::<String>("head").cloned();
    let found = if let Some(file) = matches.get_one::<PathBuf>("file") {
        verify_file(file, head.as_deref())?
    } else {
        let client = context.client().await?;
        client.call::<Verify>(&VerifyParams { head }).await?
    };
    context.terminal.shown(&found, audit::verified)?;
    match &found.problem {
        None => Ok(()),
        // It was said already.
        Some(_) => Err(Failure::quiet(Exit::Failed)),
    }
}

/// Checks a copy, line by line.
fn verify_file(path: &Path, head: Option<&str>) -> Result<Verified, Failure> {
    let unreadable = |error: std::io::Error| {
        let place = one_line(&path.display().to_string());
        Failure::usage(format!("'{place}' cannot be read: {error}."))
    };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut chain = Chain::new(head);
    let mut problem = None;
    let mut line = Vec::new();
    while problem.is_none() {
        line.clear();
        let mut limited = file.by_ref().take(ENTRY_BYTES_MAX);
        if limited.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        problem = entry(&line)
            .ok_or_else(|| format!("Line {} is no entry of a record.", chain.entries() + 1))
            .and_then(|entry| chain.take(&entry))
            .err();
    }
    Ok(Verified {
        entries: chain.entries(),
        head: chain.head().to_owned(),
        problem: problem.or_else(|| chain.problem_at_end()),
    })
}

/// The entry on a line that holds nothing else: what its hash does not cover is not part of it.
fn entry(line: &[u8]) -> Option<AuditEntry> {
    let entry: AuditEntry = serde_json::from_slice(line).ok()?;
    let whole: serde_json::Value = serde_json::from_slice(line).ok()?;
    let kept = serde_json::to_value(&entry).ok()?;
    (whole == kept).then_some(entry)
}

async fn export(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let client = context.client().await?;
    let terminal = &context.terminal;
    let Some(out) = matches.get_one::<PathBuf>("out") else {
        return copy(&client, |entry| Ok(terminal.document(entry)?))
            .await
            .map(drop);
    };
    let unwritable = |error: std::io::Error| {
        Failure::failed(format!("'{}' cannot be written: {error}.", out.display()))
    };
    let mut draft = Draft::create(out).map_err(unwritable)?;
    let entries = copy(&client, |entry| {
        let line = serde_json::to_string(entry).map_err(std::io::Error::from)?;
        writeln!(draft, "{line}").map_err(unwritable)
    })
    .await?;
    draft.finish().map_err(unwritable)?;
    let noun = if entries == 1 { "entry" } else { "entries" };
    let place = one_line(&out.display().to_string());
    Terminal::note(format!("{} {noun} in {place}", grouped(entries)));
    Ok(())
}

/// Gives every entry in order to `keep`, and says how far it came when that takes long.
async fn copy(
    client: &Client,
    mut keep: impl FnMut(&AuditEntry) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut params = ExportParams::default();
    let mut entries = 0_u64;
    let mut told = 0;
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
        if entries - told >= PROGRESS_ENTRIES {
            told = entries;
            Terminal::note(format!("{} entries …", grouped(entries)));
        }
    }
}
