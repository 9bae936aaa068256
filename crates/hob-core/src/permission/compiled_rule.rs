//! Matches a stored rule against a call. Pure.
//!
//! A rule that allows covers a call only if everything in the call certainly matches. A rule that
//! denies or asks covers a call as soon as any part matches; if that is uncertain, a person is
//! asked. Rephrasing a forbidden call must not get around the rule.

use super::call_facts::{CallArgument, CallFacts};
use super::decision::DecisionContext;
use super::paths_and_hosts::{CallHost, CallPath, HostPattern, folder_steps};
use super::pattern::{ArgumentPattern, STARS_MAX, StarKind};
use super::refusal_pattern::RefusalPattern;
use hob_wire::rule::{PermissionRule, RuleTerms};
use hob_wire::work::{AnswerReach, NeedKind, RuleDecision};

/// The most patterns of one rule.
const MATCHES_MAX: usize = 16;
/// The most bytes of one text of a rule.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most bytes of a name in a rule.
const NAME_BYTES_MAX: usize = 128;
/// The longest lifetime of a rule: ten years.
const EXPIRES_MS_MAX: u64 = 10 * 365 * 24 * 60 * 60 * 1_000;

/// The match of a rule and a call; the weakest part decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleMatch {
    No,
    /// It cannot be determined.
    Maybe,
    Yes,
}

/// A rule, parsed once.
#[derive(Clone, Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: PermissionRule,
    /// The id of its session.
    pub(super) session: Option<String>,
    pub(super) matches: Vec<(String, ArgumentPattern)>,
    /// For a rule that denies or asks: its patterns, prepared for command lines.
    refusal_patterns: Vec<RefusalPattern>,
    pub(super) folder: Option<Vec<String>>,
    path: Option<Vec<String>>,
    host: Option<HostPattern>,
}

/// Rejects terms that could not be stored or would not mean what they seem to.
pub fn check_terms(terms: &RuleTerms) -> Result<(), String> {
    check_tool(&terms.tool)?;
    check_scope(terms)?;
    if terms.matches.len() > MATCHES_MAX {
        return Err(format!("A rule takes at most {MATCHES_MAX} patterns."));
    }
    for (argument, pattern) in &terms.matches {
        if argument.is_empty() || argument.len() > NAME_BYTES_MAX {
            return Err("A pattern needs the name of an argument: ARG=PATTERN.".to_owned());
        }
        if pattern.len() > TEXT_BYTES_MAX || ArgumentPattern::parse(pattern).stars() > STARS_MAX {
            return Err(format!(
                "The pattern of '{argument}' is too long: at most {TEXT_BYTES_MAX} bytes with {STARS_MAX} stars."
            ));
        }
    }
    for (what, place) in [("path", &terms.path), ("folder", &terms.folder)] {
        let Some(place) = place else { continue };
        if place.len() > TEXT_BYTES_MAX || folder_steps(place).is_none() {
            return Err(format!(
                "`{what}` must be an absolute path without '..', not '{place}'."
            ));
        }
    }
    if let Some(host) = &terms.host
        && (host.len() > NAME_BYTES_MAX * 2 || HostPattern::parse(host).is_none())
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
        return Err("A rule lasts more than 0 ms and at most ten years.".to_owned());
    }
    Ok(())
}

/// Returns a note for a person if a stored rule covers less than its pattern suggests.
pub fn rule_note(terms: &RuleTerms) -> Option<String> {
    /// The argument of every built-in tool that takes a command line.
    const COMMAND: &str = "command";
    if terms.decision != RuleDecision::Allow {
        return None;
    }
    ArgumentPattern::parse(terms.matches.get(COMMAND)?).program_note()
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

fn check_scope(terms: &RuleTerms) -> Result<(), String> {
    let wants = |present: bool, scope: &str, field: &str| {
        let message = format!("A rule of scope '{scope}' needs `{field}`.");
        if present { Ok(()) } else { Err(message) }
    };
    match terms.scope {
        AnswerReach::Once => {
            Err("A rule reaches a run, a session, a folder, or always.".to_owned())
        }
        AnswerReach::Run => wants(terms.run_id.is_some(), "run", "runId"),
        AnswerReach::Session => wants(terms.session_key.is_some(), "session", "sessionKey"),
        AnswerReach::Folder => wants(terms.folder.is_some(), "folder", "folder"),
        AnswerReach::Always => Ok(()),
    }
}

impl CompiledRule {
    /// Compiles a rule; `session` is the id of its session. Returns `None` for invalid terms.
    pub(super) fn compile(rule: PermissionRule, session: Option<&str>) -> Option<CompiledRule> {
        // A stored rule may be older than the present checks.
        check_terms(&rule.terms).ok()?;
        let terms = &rule.terms;
        let matches = terms.matches.iter();
        let matches =
            matches.map(|(argument, text)| (argument.clone(), ArgumentPattern::parse(text)));
        let matches: Vec<(String, ArgumentPattern)> = matches.collect();
        let patterns = matches.iter().map(|(_, pattern)| pattern);
        let is_allow = terms.decision == RuleDecision::Allow;
        let refused = patterns
            .filter(|_| !is_allow)
            .map(RefusalPattern::from_pattern);
        Some(CompiledRule {
            refusal_patterns: refused.collect(),
            matches,
            path: terms.path.as_deref().and_then(folder_steps),
            folder: terms.folder.as_deref().and_then(folder_steps),
            host: terms.host.as_deref().and_then(HostPattern::parse),
            session: session.map(str::to_owned),
            rule,
        })
    }

    pub(super) fn match_call(
        &self,
        facts: &CallFacts<'_>,
        decision_context: &DecisionContext<'_>,
    ) -> RuleMatch {
        let terms = &self.rule.terms;
        let expired = |at: u64| decision_context.now_ms >= at;
        let other =
            |named: &Option<String>, is: Option<&str>| named.is_some() && named.as_deref() != is;
        if self.rule.expires_at.is_some_and(expired)
            || !covers_tool(&terms.tool, facts)
            || !self.covers_subject(facts, decision_context)
            || other(&terms.kind, decision_context.kind)
            || other(&terms.channel, decision_context.channel)
            || !covers_session(terms.sessions.as_deref(), facts)
        {
            return RuleMatch::No;
        }
        // Allowing needs certainty; denying and asking do not.
        let strict = terms.decision == RuleDecision::Allow;
        // A call that always asks is never allowed by a stored rule.
        if strict && decision_context.asks_always {
            return RuleMatch::No;
        }
        let mut fit = RuleMatch::Yes;
        for (index, (name, pattern)) in self.matches.iter().enumerate() {
            let refused = self.refusal_patterns.get(index);
            fit = fit.min(match_argument(pattern, refused, facts.argument(name)));
        }
        if let Some(folder) = &self.path {
            fit = fit.min(match_paths(folder, &facts.paths, strict));
        }
        // A rule of a folder allows nothing outside it, but it denies every call that is made from
        // there.
        if let (true, Some(folder)) = (strict, &self.folder) {
            let inside = facts.paths.iter().all(|place| lies_in(folder, place, true));
            fit = fit.min(if inside {
                RuleMatch::Yes
            } else {
                RuleMatch::No
            });
        }
        fit.min(self.match_hosts(facts, strict))
    }

    /// Returns true if one of its patterns is exactly this text for this argument.
    fn says_exactly(&self, argument: &str, text: &str) -> bool {
        let mut matches = self.matches.iter();
        matches.any(|(name, pattern)| name == argument && pattern.literal() == Some(text))
    }

    /// Returns true if the call belongs to its run, its session or its folder.
    fn covers_subject(
        &self,
        facts: &CallFacts<'_>,
        decision_context: &DecisionContext<'_>,
    ) -> bool {
        let terms = &self.rule.terms;
        match terms.scope {
            AnswerReach::Once => false,
            AnswerReach::Run => terms.run_id.is_some() && terms.run_id == facts.context.run_id,
            AnswerReach::Session => {
                self.session.is_some() && self.session.as_deref() == decision_context.session
            }
            AnswerReach::Folder => {
                let workspace = facts.context.workspace.as_deref().and_then(folder_steps);
                self.folder
                    .as_ref()
                    .zip(workspace)
                    .is_some_and(|(folder, workspace)| workspace.starts_with(folder))
            }
            AnswerReach::Always => true,
        }
    }

    fn match_hosts(&self, facts: &CallFacts<'_>, strict: bool) -> RuleMatch {
        if let (true, Some(argument)) = (strict, facts.host_network) {
            // Services of this machine are opened only by a rule that names them exactly.
            let any = self.host.as_ref().is_none_or(HostPattern::is_any);
            return if any && self.says_exactly(argument, "host") {
                RuleMatch::Yes
            } else {
                RuleMatch::No
            };
        }
        let Some(pattern) = &self.host else {
            // The network is opened only by a rule that names a host.
            return if strict && facts.network {
                RuleMatch::No
            } else {
                RuleMatch::Yes
            };
        };
        let known = |host: &Option<_>| host.as_ref().is_some_and(|host| pattern.matches(host));
        let named = !facts.hosts.is_empty() || facts.network;
        // A call limited to hosts may reach every subdomain and every port.
        let may_be = |host: &Option<CallHost>| match host {
            Some(host) => facts.network && pattern.overlaps(host),
            None => true,
        };
        if pattern.is_any() {
            return if named { RuleMatch::Yes } else { RuleMatch::No };
        }
        if strict {
            let all = named && !facts.any_host && facts.hosts.iter().all(known);
            return if all { RuleMatch::Yes } else { RuleMatch::No };
        }
        if facts.hosts.iter().any(known) {
            RuleMatch::Yes
        } else if facts.any_host || facts.hosts.iter().any(may_be) {
            RuleMatch::Maybe
        } else {
            RuleMatch::No
        }
    }
}

/// Returns true if the rule covers the call's session, by its key.
fn covers_session(keys: Option<&str>, facts: &CallFacts<'_>) -> bool {
    let Some(keys) = keys else { return true };
    let Some(key) = facts.context.session_key.as_deref() else {
        return false;
    };
    match keys.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => key == keys,
    }
}

fn covers_tool(pattern: &str, facts: &CallFacts<'_>) -> bool {
    let aliases = facts.tool.aliases.iter();
    let mut names = std::iter::once(&facts.tool.name).chain(aliases);
    match pattern.strip_suffix('*') {
        Some(beginning) => names.any(|name| name.starts_with(beginning)),
        None => names.any(|name| name == pattern),
    }
}

/// Matches a pattern against an argument; `refused` is the pattern of a rule that denies or asks.
fn match_argument(
    pattern: &ArgumentPattern,
    refused: Option<&RefusalPattern>,
    argument: Option<&CallArgument<'_>>,
) -> RuleMatch {
    let strict = refused.is_none();
    let yes = |fits: bool| if fits { RuleMatch::Yes } else { RuleMatch::No };
    let Some(argument) = argument else {
        // An empty pattern is how a rule demands that the argument is missing.
        return yes(pattern.literal() == Some(""));
    };
    if let (Some(refused), Some(NeedKind::Command)) = (refused, argument.kind) {
        // A command that is no text cannot be taken apart, so it may always match.
        if !argument.is_text {
            let fits = argument
                .texts
                .iter()
                .any(|it| pattern.matches(it, StarKind::Anything));
            return if fits {
                RuleMatch::Yes
            } else {
                RuleMatch::Maybe
            };
        }
        let command = argument.texts.first().map_or("", |text| text);
        return refused.match_command(pattern, command, argument.command_line());
    }
    let star = match (strict, argument.kind) {
        (true, Some(NeedKind::Command)) => StarKind::Words,
        (true, Some(NeedKind::Host)) => StarKind::Address,
        _ => StarKind::Anything,
    };
    // A path with `..` may lead out of what a star was meant to cover.
    if strict && argument.goes_up && pattern.literal().is_none() {
        return RuleMatch::No;
    }
    // Only the text as written, which is always there: the other spellings resolve `..` without
    // knowing links.
    let texts = if strict && argument.goes_up {
        &argument.texts[..1]
    } else {
        &argument.texts[..]
    };
    yes(texts.iter().any(|text| pattern.matches(text, star)))
}

fn match_paths(folder: &[String], paths: &[CallPath], strict: bool) -> RuleMatch {
    if strict {
        // A rule for a path does not allow a call that names no path.
        let inside = paths.iter().all(|place| lies_in(folder, place, true));
        return if inside && !paths.is_empty() {
            RuleMatch::Yes
        } else {
            RuleMatch::No
        };
    }
    if paths.iter().any(|place| lies_in(folder, place, false)) {
        return RuleMatch::Yes;
    }
    let open = |place: &CallPath| match place {
        // A call on a folder may affect everything below it.
        CallPath::Known { steps, .. } => folder.starts_with(steps),
        CallPath::Unknown => true,
    };
    if paths.iter().any(open) {
        RuleMatch::Maybe
    } else {
        RuleMatch::No
    }
}

fn lies_in(folder: &[String], place: &CallPath, straight_only: bool) -> bool {
    match place {
        CallPath::Known { steps, straight } => {
            (*straight || !straight_only) && steps.starts_with(folder)
        }
        CallPath::Unknown => false,
    }
}

#[cfg(test)]
#[path = "compiled_rule_tests.rs"]
mod tests;
