//! Unattended work: loops, jobs, webhooks and the heartbeat. Derives the outcome of a run from its
//! calls, and the texts about it. Pure.
//!
//! Invariants: work with a denied call is never reported as clean; a failed call that the model
//! continued after is counted but does not change the outcome; a failed call in the last step that
//! made calls does.

use hob_wire::schedule::{ToolGrantView, WorkOutcome};
use std::fmt::Write as _;

/// The session kinds of unattended work.
pub const SESSION_KINDS: [&str; 3] = ["loop", "cron", "webhook"];
/// The decider of a call that nobody could be asked about.
const BY_UNATTENDED: &str = "unattended";
/// The bytes of a reason that are quoted in a sentence.
const REASON_BYTES_MAX: usize = 200;

/// Returns true if a session belongs to unattended work, itself or through its parent. Only hob
/// creates keys of these kinds.
pub fn is_unattended_key(session_key: &str) -> bool {
    let kind = session_key.split(':').next().unwrap_or_default();
    SESSION_KINDS.contains(&kind) && kind.len() < session_key.len()
}

/// The owner of some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkOwner<'o> {
    Job(&'o str),
    Loop(&'o str),
    /// The job that the settings create; it has no command that grants it anything.
    Heartbeat(&'o str),
}

/// A call of a finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedCall<'c> {
    /// The step that made the call.
    pub step: u32,
    pub tool: &'c str,
    pub outcome: CallOutcome<'c>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome<'c> {
    Done,
    /// It failed or was not a valid call; with the first words of the reason.
    Failed(&'c str),
    Denied {
        by: &'c str,
        reason: &'c str,
        /// The grant that would have allowed it.
        grant: Option<&'c ToolGrantView>,
    },
}

/// The outcome of a run, derived from its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReport {
    pub outcome: WorkOutcome,
    pub denied: u32,
    pub failed: u32,
    /// A sentence for a person.
    pub note: Option<String>,
}

impl Default for CallReport {
    fn default() -> Self {
        CallReport {
            outcome: WorkOutcome::Ran,
            denied: 0,
            failed: 0,
            note: None,
        }
    }
}

/// Summarizes the calls of a run that answered, and the calls of its child runs (`below`).
pub fn summarize_calls(
    owner: WorkOwner<'_>,
    own: &[EndedCall<'_>],
    below: &[EndedCall<'_>],
) -> CallReport {
    let all = || own.iter().chain(below);
    let count = |wanted: fn(&CallOutcome<'_>) -> bool| {
        let found = all().filter(|call| wanted(&call.outcome)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let denied = count(|fate| matches!(fate, CallOutcome::Denied { .. }));
    let failed = count(|fate| matches!(fate, CallOutcome::Failed(_)));
    let first_denied = all().find(|call| matches!(call.outcome, CallOutcome::Denied { .. }));
    // A denial outranks a failure: only a person can resolve it.
    let (outcome, note) = match (first_denied, last_failed_call(own)) {
        (Some(call), _) => {
            let note = denied_sentence(owner, call, denied - 1);
            (WorkOutcome::RanWithDenials, Some(note))
        }
        (None, Some(call)) => (WorkOutcome::RanWithFailures, Some(failed_sentence(call))),
        (None, None) => (WorkOutcome::Ran, None),
    };
    CallReport {
        outcome,
        denied,
        failed,
        note,
    }
}

/// Returns a failed call of the last step that made calls: the model tried nothing after it.
fn last_failed_call<'a, 'c>(own: &'a [EndedCall<'c>]) -> Option<&'a EndedCall<'c>> {
    let last = own.iter().map(|call| call.step).max()?;
    let mut failed = own.iter().filter(|call| call.step == last);
    failed.find(|call| matches!(call.outcome, CallOutcome::Failed(_)))
}

fn failed_sentence(call: &EndedCall<'_>) -> String {
    let why = match call.outcome {
        CallOutcome::Failed(why) => first_line(why),
        _ => String::new(),
    };
    let tool = call.tool;
    if why.is_empty() {
        return format!("Its last call failed: {tool}.");
    }
    format!("Its last call failed: {tool}: {why}")
}

fn denied_sentence(owner: WorkOwner<'_>, call: &EndedCall<'_>, more: u32) -> String {
    let CallOutcome::Denied { by, reason, grant } = call.outcome else {
        return String::new();
    };
    let mut sentence = format!("Denied: {}", call.tool);
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(sentence, " (and {more} more)");
    }
    if by == BY_UNATTENDED {
        sentence.push_str("; nobody can be asked, and no rule allows it.");
    } else {
        let _ = write!(sentence, "; {}", first_line(reason));
    }
    if let Some(grant) = grant {
        let _ = write!(sentence, " Allow it: {}", allow_command(owner, grant));
    }
    sentence
}

/// Returns the command line that grants the owner of some work one more thing.
pub fn allow_command(owner: WorkOwner<'_>, grant: &ToolGrantView) -> String {
    match owner {
        WorkOwner::Job(name) => {
            format!(
                "hob cron update {name} --allow {}",
                shell_quoted(&grant_argument(grant))
            )
        }
        WorkOwner::Loop(name) => {
            format!(
                "hob loop update {name} --allow {}",
                shell_quoted(&grant_argument(grant))
            )
        }
        WorkOwner::Heartbeat(name) => permission_command(name, grant),
    }
}

fn permission_command(name: &str, grant: &ToolGrantView) -> String {
    let mut line = format!("hob permission add --tool {}", shell_quoted(&grant.tool));
    let mut flag = |flag: &str, value: &str| {
        // The value follows the `=`, so it may begin with a dash.
        let _ = write!(line, " --{flag}={}", shell_quoted(value));
    };
    for (argument, pattern) in &grant.matches {
        flag("match", &format!("{argument}={pattern}"));
    }
    if let Some(path) = &grant.path {
        flag("path", path);
    }
    if let Some(host) = &grant.host {
        flag("host", host);
    }
    flag("decision", "allow");
    flag("scope", "always");
    // The rule must not reach beyond this job's own sessions.
    flag("sessions", &format!("cron:{name}:*"));
    flag("kind", "cron");
    line
}

/// Returns a grant as an `--allow` argument: short if it has at most one bound, else JSON.
fn grant_argument(grant: &ToolGrantView) -> String {
    let bounds = grant.matches.iter().map(|(name, value)| (&**name, value));
    let path = grant.path.iter().map(|path| ("path", path));
    let host = grant.host.iter().map(|host| ("host", host));
    let mut bounds: Vec<(&str, &String)> = bounds.chain(path).chain(host).collect();
    // In the short form an argument named `path` or `host` would be read as that bound.
    let is_named_like_a_flag = ["path", "host"]
        .iter()
        .any(|name| grant.matches.contains_key(*name));
    // The short form takes the value verbatim, so it must contain nothing hidden.
    let is_plain = |text: &str| !text.chars().any(char::is_control) && text.trim() == text;
    match (bounds.pop(), bounds.is_empty()) {
        (None, _) => grant.tool.clone(),
        (Some((name, value)), true) if !is_named_like_a_flag && is_plain(value) => {
            format!("{} {name}={value}", grant.tool)
        }
        // A grant is plain data, which serialises without error.
        _ => serde_json::to_string(grant).unwrap_or_else(|_| grant.tool.clone()),
    }
}

/// Quotes a word for a shell.
fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the first line of a text, bounded.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    if line.len() <= REASON_BYTES_MAX {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(REASON_BYTES_MAX);
    format!("{}…", &line[..end])
}

#[cfg(test)]
#[path = "unattended_tests.rs"]
mod tests;
