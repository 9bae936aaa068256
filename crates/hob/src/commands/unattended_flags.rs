//! What loops and scheduled jobs share on the command line: texts from files or stdin, what they
//! may do unasked, and whom they tell.
//!
//! Invariant: a tool that changes files and is allowed without more is allowed in the workspace
//! only.

use super::permission;
use crate::context::Context;
use crate::failure::Failure;
use crate::mind::order;
use crate::render::Tone;
use crate::render::words::{self, one_line};
use crate::terminal::Terminal;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use hob_client::Client;
use hob_wire::NetworkGrant;
use hob_wire::rooms::loops::LOOP_TEXT_BYTES_MAX;
use hob_wire::rooms::permission::{AddParams, Reach, RuleDecision, Terms};
use hob_wire::schedule::{Grant, Notify, NotifyView};
use hob_wire::work::{Budget, BudgetView};

/// Tools that change files: with nothing more said they reach the workspace, not the machine.
const CHANGERS: [&str; 4] = ["write", "edit", "move", "remove"];

pub fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// A flag whose value is a time, in milliseconds.
pub fn time_flag(name: &'static str, help: &'static str) -> Arg {
    flag(name, "TIME", help).value_parser(|text: &str| hob_kit::duration::parse_ms(text))
}

/// A flag whose value is words, which may begin with a dash or stand in a file.
pub fn prose_flag(name: &'static str, help: &'static str) -> Arg {
    flag(name, "TEXT", help).allow_hyphen_values(true)
}

pub fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// `--network` is the proxy, `--network=host` this machine's own network.
pub fn network_flag(name: &'static str, help: &str) -> Arg {
    let help = format!(
        "{help}, through hob's proxy; =host opens this machine's own network, which can also \
         reach services on this machine"
    );
    Arg::new(name)
        .long(name)
        .value_name("WHICH")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_parser(PossibleValuesParser::new(["true", "false", "host"]))
        .help(help)
}

/// What a flag of [`network_flag`] says; none when it is not there.
pub fn network(matches: &ArgMatches, name: &str) -> Option<NetworkGrant> {
    NetworkGrant::from_word(matches.get_one::<String>(name)?)
}

pub fn allow_flag() -> Arg {
    flag(
        "allow",
        "CALLS",
        "What it may do unasked: a tool, or 'TOOL ARG=PATTERN', 'TOOL path=DIR', 'TOOL \
         host=HOST'; may be repeated",
    )
    .action(ArgAction::Append)
}

/// Whom a result is told.
pub fn notify_flags() -> [Arg; 2] {
    [
        flag("notify", "SESSION", "A session that is told each result"),
        switch("notify-failures", "Tells that session of failures only"),
    ]
}

/// Flags of a task that may also be left as they are.
pub fn task_flags(is_new: bool) -> Vec<Arg> {
    let flags = order::flags();
    if is_new {
        return flags;
    }
    let kept = |arg: Arg| match arg.get_id().as_str() {
        "model" => arg.help("provider/model or an alias such as fast"),
        "workspace" => arg.help("The folder it works in"),
        _ => arg,
    };
    flags.into_iter().map(kept).collect()
}

/// The words of a flag: as they are, from a file (`@FILE`), or from stdin (`-`).
pub async fn prose(matches: &ArgMatches, name: &str) -> Result<Option<String>, Failure> {
    let Some(given) = matches.get_one::<String>(name) else {
        return Ok(None);
    };
    if given == "-" {
        let piped = order::piped().await?.ok_or_else(|| {
            Failure::usage("'-' reads stdin, and nothing is piped into it.")
                .next("Such as: hob … - < FILE")
        })?;
        // The line break that ends a shell's last line is not part of what was said.
        return Ok(Some(piped.strip_suffix('\n').unwrap_or(&piped).to_owned()));
    }
    let Some(file) = given.strip_prefix('@') else {
        return Ok(Some(given.clone()));
    };
    let bytes = order::read_up_to(file, LOOP_TEXT_BYTES_MAX)?.ok_or_else(|| {
        let max = words::bytes(LOOP_TEXT_BYTES_MAX as u64);
        Failure::usage(format!("'{}' is larger than {max}.", one_line(file)))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("'{}' is not text (UTF-8).", one_line(file))))?;
    Ok(Some(text.trim_end_matches('\n').to_owned()))
}

/// Stdin can be one text only.
pub fn one_stdin(matches: &ArgMatches, names: &[&str]) -> Result<(), Failure> {
    let reads = |name: &&&str| {
        matches
            .try_get_one::<String>(name)
            .is_ok_and(|given| given.is_some_and(|text| text == "-"))
    };
    let found: Vec<&&str> = names.iter().filter(reads).collect();
    match found[..] {
        [one, other, ..] => Err(Failure::usage(format!(
            "--{one} and --{other} cannot both be read from stdin."
        ))
        .next("Give one of them from a file: @FILE.")),
        _ => Ok(()),
    }
}

/// What `--allow` names; nothing when it is not there.
pub fn grants(
    context: &Context,
    matches: &ArgMatches,
    workspace: Option<&str>,
) -> Result<Vec<Grant>, Failure> {
    let given = matches.get_many::<String>("allow").into_iter().flatten();
    given
        .map(|words| grant(words, workspace, &|path| permission::real(context, path)))
        .collect()
}

/// One grant: a tool, and at most one thing that narrows it. More than one is said in JSON.
fn grant(
    words: &str,
    workspace: Option<&str>,
    real: &dyn Fn(&str) -> Result<String, Failure>,
) -> Result<Grant, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("--allow '{}': {why}", one_line(words)))
            .next("Such as: --allow write  --allow 'exec command=cargo test *'")
    };
    let words = words.trim();
    if words.starts_with('{') {
        return serde_json::from_str(words)
            .map_err(|error| wrong(&format!("this is no grant in JSON: {error}.")));
    }
    let (tool, rest) = words.split_once(' ').unwrap_or((words, ""));
    if tool.is_empty() || tool.contains('=') {
        return Err(wrong("it begins with the name of a tool."));
    }
    let mut grant = Grant {
        tool: tool.to_owned(),
        matches: std::collections::BTreeMap::new(),
        path: None,
        host: None,
    };
    let rest = rest.trim();
    if rest.is_empty() {
        if CHANGERS.contains(&tool) {
            grant.path = workspace.map(str::to_owned);
        }
        return Ok(grant);
    }
    let Some((name, pattern)) = rest.split_once('=') else {
        return Err(wrong("after the tool comes ARG=PATTERN."));
    };
    match name {
        "path" => grant.path = Some(real(pattern)?),
        "host" => grant.host = Some(pattern.to_owned()),
        name if name.is_empty() || name.contains(char::is_whitespace) => {
            return Err(wrong("after the tool comes ARG=PATTERN."));
        }
        name => {
            grant.matches.insert(name.to_owned(), pattern.to_owned());
        }
    }
    Ok(grant)
}

/// Says what grants name that is not there now.
pub async fn warn(context: &Context, client: &Client, grants: &[Grant]) {
    if grants.is_empty() {
        return;
    }
    let known = permission::known(client).await;
    for grant in grants {
        permission::warn(&known, &terms(grant), context);
    }
}

fn terms(grant: &Grant) -> AddParams {
    AddParams::from(Terms {
        matches: grant.matches.clone(),
        path: grant.path.clone(),
        host: grant.host.clone(),
        ..Terms::new(&grant.tool, RuleDecision::Allow, Reach::Always)
    })
}

/// Whom to tell, by the flags and what was so before.
pub fn notify(
    matches: &ArgMatches,
    before: Option<&NotifyView>,
) -> Result<Option<Notify>, Failure> {
    let session = matches.get_one::<String>("notify").cloned();
    let failures_only = matches.get_flag("notify-failures");
    match (session, before) {
        (Some(session_key), _) => Ok(Some(Notify {
            session_key,
            failures_only,
        })),
        (None, Some(before)) if failures_only => Ok(Some(Notify {
            session_key: before.session_key.clone(),
            failures_only,
        })),
        (None, None) if failures_only => Err(Failure::usage(
            "--notify-failures goes with --notify SESSION.",
        )),
        (None, _) => Ok(None),
    }
}

/// The limits of the flags over those there were; nothing when no flag names one.
pub fn budget(matches: &ArgMatches, before: Option<&BudgetView>) -> Option<Budget> {
    let given = order::budget(matches);
    if given == Budget::default() {
        return None;
    }
    let before = before.copied().map(Budget::from).unwrap_or_default();
    Some(Budget {
        steps: given.steps.or(before.steps),
        tokens: given.tokens.or(before.tokens),
        micro_dollars: given.micro_dollars.or(before.micro_dollars),
        wall_ms: given.wall_ms.or(before.wall_ms),
    })
}

/// Tells a person who lets something work in all they have.
pub fn tell_wide(context: &Context, workspace: Option<&str>) {
    let note = workspace.and_then(|folder| order::wide_folder(context, folder));
    if let Some(note) = note.filter(|_| !context.terminal.json) {
        Terminal::note(context.terminal.asides().paint(Tone::Warning, &note));
    }
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
