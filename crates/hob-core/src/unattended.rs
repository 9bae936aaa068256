//! Work that nobody watches: loops, jobs, webhooks and the heartbeat. What its calls make of its
//! outcome, and the words about it. Pure.
//!
//! Invariants: work with a denied call is never told as clean; a call that failed and that the
//! model went on after is counted and does not spoil the outcome; one in the last step that made
//! calls does.

use hob_wire::schedule::{GrantView, WorkOutcome};
use std::fmt::Write as _;

/// Kinds of sessions that work nobody watches has.
pub const KINDS: [&str; 3] = ["loop", "cron", "webhook"];
/// Who decides when nobody can be asked.
const BY_UNATTENDED: &str = "unattended";
/// Bytes of a reason that stand in a sentence.
const REASON_BYTES_MAX: usize = 200;

/// Whether a session, or the one it was started for, belongs to work that nobody watches. Only
/// the house makes keys of these kinds.
pub fn is_unattended_key(session_key: &str) -> bool {
    let kind = session_key.split(':').next().unwrap_or_default();
    KINDS.contains(&kind) && kind.len() < session_key.len()
}

/// Whose work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkOwner<'o> {
    Job(&'o str),
    Loop(&'o str),
    /// The job that the settings make; nobody can grant it anything by its own command.
    Heartbeat(&'o str),
}

/// A call of a run that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedCall<'c> {
    /// Which step asked for it.
    pub step: u32,
    pub tool: &'c str,
    pub fate: CallFate<'c>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFate<'c> {
    Done,
    /// It failed, or it was no call that could be made; with the first words of why.
    Failed(&'c str),
    Denied {
        by: &'c str,
        reason: &'c str,
        /// What would have allowed it.
        grant: Option<&'c GrantView>,
    },
}

/// What the calls of a run that answered make of its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReport {
    pub outcome: WorkOutcome,
    pub denied: u32,
    pub failed: u32,
    /// What a person should know, in a sentence.
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

/// Looks at the calls of a run that answered, and at those of the runs it started (`below`).
pub fn report(owner: WorkOwner<'_>, own: &[EndedCall<'_>], below: &[EndedCall<'_>]) -> CallReport {
    let all = || own.iter().chain(below);
    let count = |wanted: fn(&CallFate<'_>) -> bool| {
        let found = all().filter(|call| wanted(&call.fate)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let denied = count(|fate| matches!(fate, CallFate::Denied { .. }));
    let failed = count(|fate| matches!(fate, CallFate::Failed(_)));
    let first_denied = all().find(|call| matches!(call.fate, CallFate::Denied { .. }));
    let (outcome, note) = match (first_denied, last_word(own)) {
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

/// A failed call of the last step that made calls: nothing was tried after it.
fn last_word<'a, 'c>(own: &'a [EndedCall<'c>]) -> Option<&'a EndedCall<'c>> {
    let last = own.iter().map(|call| call.step).max()?;
    let mut failed = own.iter().filter(|call| call.step == last);
    failed.find(|call| matches!(call.fate, CallFate::Failed(_)))
}

fn failed_sentence(call: &EndedCall<'_>) -> String {
    let why = match call.fate {
        CallFate::Failed(why) => first_words(why),
        _ => String::new(),
    };
    let tool = call.tool;
    if why.is_empty() {
        return format!("Its last call failed: {tool}.");
    }
    format!("Its last call failed: {tool}: {why}")
}

fn denied_sentence(owner: WorkOwner<'_>, call: &EndedCall<'_>, more: u32) -> String {
    let CallFate::Denied { by, reason, grant } = call.fate else {
        return String::new();
    };
    let mut sentence = format!("Denied: {}", call.tool);
    if more > 0 {
        // Writing to a string does not fail.
        let _ = write!(sentence, " (and {more} more)");
    }
    if by == BY_UNATTENDED {
        sentence.push_str("; nobody is there to be asked, and no rule allows it.");
    } else {
        let _ = write!(sentence, "; {}", first_words(reason));
    }
    if let Some(grant) = grant {
        let _ = write!(sentence, " Allow it: {}", allow_line(owner, grant));
    }
    sentence
}

/// The command that grants the owner of some work one more thing.
pub fn allow_line(owner: WorkOwner<'_>, grant: &GrantView) -> String {
    match owner {
        WorkOwner::Job(name) => {
            format!(
                "hob cron update {name} --allow {}",
                quoted(&grant_words(grant))
            )
        }
        WorkOwner::Loop(name) => {
            format!(
                "hob loop update {name} --allow {}",
                quoted(&grant_words(grant))
            )
        }
        WorkOwner::Heartbeat(name) => permission_line(name, grant),
    }
}

fn permission_line(name: &str, grant: &GrantView) -> String {
    let mut line = format!("hob permission add --tool {}", quoted(&grant.tool));
    let mut flag = |flag: &str, value: &str| {
        // Glued, so that a value may begin with a dash.
        let _ = write!(line, " --{flag}={}", quoted(value));
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
    flag("sessions", &format!("cron:{name}:*"));
    flag("kind", "cron");
    line
}

/// A grant as `--allow` takes it: in words where it has one bound at the most, else as JSON.
fn grant_words(grant: &GrantView) -> String {
    let bounds = grant.matches.iter().map(|(name, value)| (&**name, value));
    let path = grant.path.iter().map(|path| ("path", path));
    let host = grant.host.iter().map(|host| ("host", host));
    let mut bounds: Vec<(&str, &String)> = bounds.chain(path).chain(host).collect();
    let is_named_like_a_flag = ["path", "host"]
        .iter()
        .any(|name| grant.matches.contains_key(*name));
    // Words take a value as it stands behind the sign, so nothing hidden may be in it.
    let is_plain = |text: &str| !text.chars().any(char::is_control) && text.trim() == text;
    match (bounds.pop(), bounds.is_empty()) {
        (None, _) => grant.tool.clone(),
        (Some((name, value)), true) if !is_named_like_a_flag && is_plain(value) => {
            format!("{} {name}={value}", grant.tool)
        }
        // A grant is plain data, which can always be said in JSON.
        _ => serde_json::to_string(grant).unwrap_or_else(|_| grant.tool.clone()),
    }
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The first line of a text, bounded.
fn first_words(text: &str) -> String {
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
