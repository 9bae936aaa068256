//! The rules that an answer would store, and the grant for a call that nobody could be asked about.
//! Pure. Invariant: a rule offered for a call covers that call.
//!
//! A command is offered verbatim, a fetch by its host, a file change by its tool in the folder. A
//! call of a higher tier without any of these is offered with all its arguments.

use super::call_facts::CallFacts;
use super::compiled_rule::{CompiledRule, RuleMatch};
use super::decision::{PermissionRequest, is_unattended};
use super::paths_and_hosts::{CallHost, CallPath, folder_steps};
use super::pattern::escaped;
use hob_wire::rule::{PermissionRule, RuleTerms};
use hob_wire::work::{AnswerReach, NeedKind, RuleDecision, Tier};
use serde_json::Value;
use std::collections::BTreeMap;

/// The scopes beyond a single call, narrowest first.
const SCOPES: [AnswerReach; 4] = [
    AnswerReach::Run,
    AnswerReach::Session,
    AnswerReach::Folder,
    AnswerReach::Always,
];

/// Returns the rules that answers beyond `once` would store, narrowest first.
pub fn offers(call: &PermissionRequest<'_>) -> Vec<RuleTerms> {
    let offered = SCOPES.into_iter();
    offered
        .filter_map(|scope| offer(call, scope, RuleDecision::Allow))
        .collect()
}

/// Returns the rule that an answer of this scope stores; `None` if it would not cover the call.
pub fn offer(
    call: &PermissionRequest<'_>,
    scope: AnswerReach,
    decision: RuleDecision,
) -> Option<RuleTerms> {
    let facts = CallFacts::from_call(call.tool, call.args, call.context);
    let mut terms = narrow_terms(call, &facts, scope);
    match scope {
        AnswerReach::Once => return None,
        AnswerReach::Run => terms.run_id = call.context.run_id,
        AnswerReach::Session => {
            // A session that is not stored has no id for a rule to be bound to.
            call.decision_context.session?;
            terms.session_key.clone_from(&call.context.session_key);
        }
        AnswerReach::Folder => terms.folder.clone_from(&call.context.workspace),
        AnswerReach::Always => {}
    }
    // A denial must cover the call as certainly as an allowance.
    covers(&terms, call, &facts).then_some(RuleTerms { decision, ..terms })
}

/// Returns the narrowest rule worth storing that would allow this call the next time.
pub fn suggest_grant(call: &PermissionRequest<'_>) -> Option<RuleTerms> {
    let offered = [AnswerReach::Folder, AnswerReach::Always].into_iter();
    let mut offered = offered.filter_map(|scope| offer(call, scope, RuleDecision::Allow));
    let mut terms = offered.next()?;
    if is_unattended(call.decision_context.kind, None) {
        terms.kind = call.decision_context.kind.map(str::to_owned);
    }
    terms.channel = call.decision_context.channel.map(str::to_owned);
    Some(terms)
}

fn narrow_terms(
    call: &PermissionRequest<'_>,
    facts: &CallFacts<'_>,
    scope: AnswerReach,
) -> RuleTerms {
    let mut terms = RuleTerms::new(&call.tool.name, RuleDecision::Allow, scope);
    // A rule without a host would not open the network again.
    terms.host = facts.network.then(|| "*".to_owned());
    let of_kind = |kind: NeedKind| {
        let needs = call.tool.needs.iter();
        let needs = needs.filter(move |need| need.kind == kind);
        needs.filter_map(|need| Some((need.arg.clone(), call.args.get(&need.arg)?)))
    };
    terms.matches = exact_patterns(of_kind(NeedKind::Command));
    let has_command = !terms.matches.is_empty();
    if !facts.hosts.is_empty() {
        if let Some(host) = single_host(facts) {
            terms.host = Some(host);
        } else {
            terms
                .matches
                .extend(exact_patterns(of_kind(NeedKind::Host)));
            terms
                .matches
                .extend(exact_patterns(of_kind(NeedKind::Hosts)));
        }
    }
    let names_something = has_command || !facts.hosts.is_empty();
    if !names_something && facts.tier >= Tier::Exec {
        terms.matches = every_argument(call);
    } else if !names_something && !facts.paths.is_empty() {
        narrow_to_folder(call, facts, &mut terms);
    }
    // Services of this machine are opened only by a rule that names them.
    if let Some(argument) = facts.host_network {
        terms.matches.insert(argument.to_owned(), "host".to_owned());
    }
    terms
}

/// Limits the terms to the workspace if all paths lie in it, else to exactly these paths.
fn narrow_to_folder(call: &PermissionRequest<'_>, facts: &CallFacts<'_>, terms: &mut RuleTerms) {
    let root = call.context.workspace.as_deref().and_then(folder_steps);
    let inside = |place: &CallPath| match (place, &root) {
        (CallPath::Known { steps, straight }, Some(root)) => *straight && steps.starts_with(root),
        _ => false,
    };
    if facts.paths.iter().all(inside) {
        let by_path = matches!(terms.scope, AnswerReach::Run | AnswerReach::Session);
        terms.path = call.context.workspace.clone().filter(|_| by_path);
        return;
    }
    let paths = call.tool.needs.iter();
    let paths = paths.filter(|need| need.kind == NeedKind::Path);
    let paths = paths.filter_map(|need| Some((need.arg.clone(), call.args.get(&need.arg)?)));
    terms.matches = exact_patterns(paths);
}

/// Returns the only host of the call.
fn single_host(facts: &CallFacts<'_>) -> Option<String> {
    let first = facts.hosts.first()?.as_ref()?;
    let same = |host: &Option<CallHost>| host.as_ref() == Some(first);
    if !facts.hosts.iter().all(same) {
        return None;
    }
    Some(match first.port {
        None => first.name.clone(),
        // The default ports of a URL are left out; a call limited to one of them named it.
        Some(80 | 443) if !facts.network => first.name.clone(),
        Some(port) => format!("{}:{port}", first.name),
    })
}

/// Returns a pattern for every argument; a missing one must stay missing.
fn every_argument(call: &PermissionRequest<'_>) -> BTreeMap<String, String> {
    let declared = call.tool.parameters.get("properties");
    let declared = declared.and_then(Value::as_object);
    let declared = declared.into_iter().flat_map(|fields| fields.keys());
    let mut matches: BTreeMap<String, String> =
        declared.map(|name| (name.clone(), String::new())).collect();
    if let Value::Object(fields) = call.args {
        let fields = fields.iter().filter(|(_, value)| !value.is_null());
        matches.extend(exact_patterns(
            fields.map(|(name, value)| (name.clone(), value)),
        ));
    }
    matches
}

fn exact_patterns<'v>(
    values: impl Iterator<Item = (String, &'v Value)>,
) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => escaped(text),
        other => escaped(&super::canonical_json::canonical_json(other)),
    };
    values.map(|(name, value)| (name, text(value))).collect()
}

fn covers(terms: &RuleTerms, call: &PermissionRequest<'_>, facts: &CallFacts<'_>) -> bool {
    let rule = PermissionRule {
        // Neither the id nor the creator matters for a match.
        id: String::new(),
        terms: terms.clone(),
        created_at: 0,
        created_by: String::new(),
        expires_at: None,
    };
    let compiled = CompiledRule::compile(rule, call.decision_context.session);
    compiled.is_some_and(|compiled| {
        compiled.match_call(facts, &call.decision_context) == RuleMatch::Yes
    })
}

#[cfg(test)]
#[path = "offers_tests.rs"]
mod tests;
