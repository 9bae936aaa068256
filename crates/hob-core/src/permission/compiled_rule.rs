//! Whether a stored rule covers a call. Pure.
//!
//! A rule that allows covers a call only if everything it names surely fits. A rule that denies or
//! asks covers it as soon as any part of it fits, and where the words cannot tell, a person is
//! asked: what a rule forbids is not to be had by saying it in another way.

use super::facts::{Argument, Facts};
use super::pattern::{Pattern, STARS_MAX, Star};
use super::place::{Host, HostPattern, Place, folder};
use super::refused_command::RefusedCommand;
use super::rules::Scene;
use hob_wire::rule::{Rule, Terms};
use hob_wire::work::{NeedKind, Reach, RuleDecision};

/// Patterns of one rule.
const MATCHES_MAX: usize = 16;
/// Bytes of one text of a rule.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a name in a rule.
const NAME_BYTES_MAX: usize = 128;
/// The longest that a rule lasts if it says so: ten years.
const EXPIRES_MS_MAX: u64 = 10 * 365 * 24 * 60 * 60 * 1_000;

/// How a rule fits a call; the least of its parts counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// Its words leave it open.
    Open,
    Yes,
}

/// A rule, read once.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) rule: Rule,
    /// The id of its session.
    pub(super) session: Option<String>,
    pub(super) matches: Vec<(String, Pattern)>,
    /// Of a rule that denies or asks: its patterns as command lines are compared with them.
    refused: Vec<RefusedCommand>,
    pub(super) folder: Option<Vec<String>>,
    path: Option<Vec<String>>,
    host: Option<HostPattern>,
}

/// Refuses terms that could not be kept, or would not mean what they seem to.
pub fn check_terms(terms: &Terms) -> Result<(), String> {
    check_tool(&terms.tool)?;
    check_scope(terms)?;
    if terms.matches.len() > MATCHES_MAX {
        return Err(format!("A rule takes {MATCHES_MAX} patterns at the most."));
    }
    for (argument, pattern) in &terms.matches {
        if argument.is_empty() || argument.len() > NAME_BYTES_MAX {
            return Err("A pattern needs the name of an argument: ARG=PATTERN.".to_owned());
        }
        if pattern.len() > TEXT_BYTES_MAX || Pattern::new(pattern).stars() > STARS_MAX {
            return Err(format!(
                "The pattern of '{argument}' is too long: {TEXT_BYTES_MAX} bytes with {STARS_MAX} stars at the most."
            ));
        }
    }
    for (what, place) in [("path", &terms.path), ("folder", &terms.folder)] {
        let Some(place) = place else { continue };
        if place.len() > TEXT_BYTES_MAX || folder(place).is_none() {
            return Err(format!(
                "`{what}` must be an absolute path without '..', not '{place}'."
            ));
        }
    }
    if let Some(host) = &terms.host
        && (host.len() > NAME_BYTES_MAX * 2 || HostPattern::of(host).is_none())
    {
        return Err(format!(
            "`host` takes a name such as 'example.org', '*.example.org' or '*', not '{host}'."
        ));
    }
    let names = [&terms.kind, &terms.channel];
    if names
        .into_iter()
        .flatten()
        .any(|name| name.is_empty() || name.len() > NAME_BYTES_MAX)
    {
        return Err(format!(
            "`kind` and `channel` take 1 to {NAME_BYTES_MAX} bytes."
        ));
    }
    if terms.sessions.as_deref().is_some_and(|keys| {
        let beginning = keys.strip_suffix('*').unwrap_or(keys);
        beginning.is_empty() || keys.len() > NAME_BYTES_MAX || beginning.contains('*')
    }) {
        return Err(format!(
            "`sessions` takes a key or its beginning with a '*' at the end, of at most {NAME_BYTES_MAX} bytes."
        ));
    }
    if terms
        .expires_ms
        .is_some_and(|ms| ms == 0 || ms > EXPIRES_MS_MAX)
    {
        return Err("A rule lasts from a moment to ten years.".to_owned());
    }
    Ok(())
}

/// What a person should know of a stored rule: that it covers less than its pattern seems to say.
pub fn rule_note(terms: &Terms) -> Option<String> {
    /// The argument of every built-in tool that takes a command line.
    const COMMAND: &str = "command";
    if terms.decision != RuleDecision::Allow {
        return None;
    }
    Pattern::new(terms.matches.get(COMMAND)?).program_note()
}

fn check_tool(tool: &str) -> Result<(), String> {
    let name = tool.strip_suffix('*').unwrap_or(tool);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if tool.is_empty() || tool.len() > NAME_BYTES_MAX || !name.bytes().all(plain) {
        return Err(format!(
            "`tool` takes a tool's name, or its beginning with a '*' at the end, not '{tool}'."
        ));
    }
    Ok(())
}

fn check_scope(terms: &Terms) -> Result<(), String> {
    let wants = |present: bool, scope: &str, field: &str| {
        let message = format!("A rule of scope '{scope}' needs `{field}`.");
        if present { Ok(()) } else { Err(message) }
    };
    match terms.scope {
        Reach::Once => Err("A rule reaches a run, a session, a folder, or always.".to_owned()),
        Reach::Run => wants(terms.run_id.is_some(), "run", "runId"),
        Reach::Session => wants(terms.session_key.is_some(), "session", "sessionKey"),
        Reach::Folder => wants(terms.folder.is_some(), "folder", "folder"),
        Reach::Always => Ok(()),
    }
}

impl Reading {
    /// Reads a rule; `session` is the id of the session it is for. None for one that could not be
    /// kept.
    pub(super) fn of(rule: Rule, session: Option<&str>) -> Option<Reading> {
        check_terms(&rule.terms).ok()?;
        let terms = &rule.terms;
        let matches = terms.matches.iter();
        let matches = matches.map(|(argument, text)| (argument.clone(), Pattern::new(text)));
        let matches: Vec<(String, Pattern)> = matches.collect();
        let patterns = matches.iter().map(|(_, pattern)| pattern);
        let is_allow = terms.decision == RuleDecision::Allow;
        let refused = patterns.filter(|_| !is_allow).map(RefusedCommand::of);
        Some(Reading {
            refused: refused.collect(),
            matches,
            path: terms.path.as_deref().and_then(folder),
            folder: terms.folder.as_deref().and_then(folder),
            host: terms.host.as_deref().and_then(HostPattern::of),
            session: session.map(str::to_owned),
            rule,
        })
    }

    pub(super) fn fit(&self, facts: &Facts<'_>, scene: &Scene<'_>) -> Fit {
        let terms = &self.rule.terms;
        let expired = |at: u64| scene.now_ms >= at;
        let other =
            |named: &Option<String>, is: Option<&str>| named.is_some() && named.as_deref() != is;
        if self.rule.expires_at.is_some_and(expired)
            || !fits_tool(&terms.tool, facts)
            || !self.fits_subject(facts, scene)
            || other(&terms.kind, scene.kind)
            || other(&terms.channel, scene.channel)
            || !fits_sessions(terms.sessions.as_deref(), facts)
        {
            return Fit::No;
        }
        let strict = terms.decision == RuleDecision::Allow;
        // No stored rule allows what is asked for each time.
        if strict && scene.asks_always {
            return Fit::No;
        }
        let mut fit = Fit::Yes;
        for (index, (name, pattern)) in self.matches.iter().enumerate() {
            let refused = self.refused.get(index);
            fit = fit.min(fit_argument(pattern, refused, facts.argument(name)));
        }
        if let Some(folder) = &self.path {
            fit = fit.min(fit_paths(folder, &facts.paths, strict));
        }
        if let (true, Some(folder)) = (strict, &self.folder) {
            let inside = facts.paths.iter().all(|place| lies_in(folder, place, true));
            fit = fit.min(if inside { Fit::Yes } else { Fit::No });
        }
        fit.min(self.fit_hosts(facts, strict))
    }

    /// Whether a pattern of it is this very text for this argument.
    fn says_exactly(&self, argument: &str, text: &str) -> bool {
        let mut matches = self.matches.iter();
        matches.any(|(name, pattern)| name == argument && pattern.literal() == Some(text))
    }

    /// Whether the call is of its run, of its session, or in its folder.
    fn fits_subject(&self, facts: &Facts<'_>, scene: &Scene<'_>) -> bool {
        let terms = &self.rule.terms;
        match terms.scope {
            Reach::Once => false,
            Reach::Run => terms.run_id.is_some() && terms.run_id == facts.context.run_id,
            Reach::Session => self.session.is_some() && self.session.as_deref() == scene.session,
            Reach::Folder => {
                let workspace = facts.context.workspace.as_deref().and_then(folder);
                self.folder
                    .as_ref()
                    .zip(workspace)
                    .is_some_and(|(folder, workspace)| workspace.starts_with(folder))
            }
            Reach::Always => true,
        }
    }

    fn fit_hosts(&self, facts: &Facts<'_>, strict: bool) -> Fit {
        if let (true, Some(argument)) = (strict, facts.host_network) {
            // This machine's own services are opened only by a rule that says exactly that.
            let any = self.host.as_ref().is_none_or(HostPattern::is_any);
            return if any && self.says_exactly(argument, "host") {
                Fit::Yes
            } else {
                Fit::No
            };
        }
        let Some(pattern) = &self.host else {
            // The network is opened only by a rule that says so.
            return if strict && facts.network {
                Fit::No
            } else {
                Fit::Yes
            };
        };
        let known = |host: &Option<_>| host.as_ref().is_some_and(|host| pattern.fits(host));
        let named = !facts.hosts.is_empty() || facts.network;
        // A call that is limited to hosts may reach every name below one, and every port.
        let may_be = |host: &Option<Host>| match host {
            Some(host) => facts.network && pattern.overlaps(host),
            None => true,
        };
        if pattern.is_any() {
            return if named { Fit::Yes } else { Fit::No };
        }
        if strict {
            let all = named && !facts.any_host && facts.hosts.iter().all(known);
            return if all { Fit::Yes } else { Fit::No };
        }
        if facts.hosts.iter().any(known) {
            Fit::Yes
        } else if facts.any_host || facts.hosts.iter().any(may_be) {
            Fit::Open
        } else {
            Fit::No
        }
    }
}

/// Whether the call's session is one of those a rule is for, by its key.
fn fits_sessions(keys: Option<&str>, facts: &Facts<'_>) -> bool {
    let Some(keys) = keys else { return true };
    let Some(key) = facts.context.session_key.as_deref() else {
        return false;
    };
    match keys.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => key == keys,
    }
}

fn fits_tool(pattern: &str, facts: &Facts<'_>) -> bool {
    let aliases = facts.tool.aliases.iter();
    let mut names = std::iter::once(&facts.tool.name).chain(aliases);
    match pattern.strip_suffix('*') {
        Some(beginning) => names.any(|name| name.starts_with(beginning)),
        None => names.any(|name| name == pattern),
    }
}

/// How a pattern fits an argument; `refused` is the pattern of a rule that denies or asks.
fn fit_argument(
    pattern: &Pattern,
    refused: Option<&RefusedCommand>,
    argument: Option<&Argument<'_>>,
) -> Fit {
    let strict = refused.is_none();
    let yes = |fits: bool| if fits { Fit::Yes } else { Fit::No };
    let Some(argument) = argument else {
        return yes(pattern.literal() == Some(""));
    };
    if let (Some(refused), Some(NeedKind::Command)) = (refused, argument.kind) {
        if !argument.is_text {
            let fits = argument
                .texts
                .iter()
                .any(|it| pattern.fits(it, Star::Anything));
            return if fits { Fit::Yes } else { Fit::Open };
        }
        let command = argument.texts.first().map_or("", |text| text);
        return refused.fit(pattern, command, argument.command_line());
    }
    let star = match (strict, argument.kind) {
        (true, Some(NeedKind::Command)) => Star::Words,
        (true, Some(NeedKind::Host)) => Star::Address,
        _ => Star::Anything,
    };
    // A path that goes up may lead out of what a star was meant to stand for.
    if strict && argument.crooked && pattern.literal().is_none() {
        return Fit::No;
    }
    let texts = if strict && argument.crooked {
        &argument.texts[..1]
    } else {
        &argument.texts[..]
    };
    yes(texts.iter().any(|text| pattern.fits(text, star)))
}

fn fit_paths(folder: &[String], paths: &[Place], strict: bool) -> Fit {
    if strict {
        let inside = paths.iter().all(|place| lies_in(folder, place, true));
        return if inside && !paths.is_empty() {
            Fit::Yes
        } else {
            Fit::No
        };
    }
    if paths.iter().any(|place| lies_in(folder, place, false)) {
        return Fit::Yes;
    }
    let open = |place: &Place| match place {
        // What works on a folder may work on all below it.
        Place::At { steps, .. } => folder.starts_with(steps),
        Place::Unknown => true,
    };
    if paths.iter().any(open) {
        Fit::Open
    } else {
        Fit::No
    }
}

fn lies_in(folder: &[String], place: &Place, straight_only: bool) -> bool {
    match place {
        Place::At { steps, straight } => (*straight || !straight_only) && steps.starts_with(folder),
        Place::Unknown => false,
    }
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
