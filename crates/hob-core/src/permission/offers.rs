//! Which rule an answer would store, and which one would have allowed a call that nobody could be
//! asked about. Pure. Invariant: a rule offered for a call covers that call.
//!
//! A command is offered word for word, a fetch by its host, a change of files by its tool in the
//! folder; what reaches further and names nothing that rules speak of, by all its arguments.

use super::cover::{Fit, Reading};
use super::facts::Facts;
use super::pattern::escaped;
use super::place::{Host, Place, folder};
use super::rules::{Call, is_unattended};
use hob_wire::rule::{Rule, Terms};
use hob_wire::work::{NeedKind, Reach, RuleDecision, Tier};
use serde_json::Value;
use std::collections::BTreeMap;

/// The scopes an answer can have beyond the one call, the narrowest first.
const SCOPES: [Reach; 4] = [Reach::Run, Reach::Session, Reach::Folder, Reach::Always];

/// The rules that answers beyond `once` would store, the narrowest first.
pub fn offers(call: &Call<'_>) -> Vec<Terms> {
    let offered = SCOPES.into_iter();
    offered
        .filter_map(|scope| offer(call, scope, RuleDecision::Allow))
        .collect()
}

/// The rule that an answer of this scope stores; none where it would not cover the call.
pub fn offer(call: &Call<'_>, scope: Reach, decision: RuleDecision) -> Option<Terms> {
    let facts = Facts::of(call.tool, call.args, call.context);
    let mut terms = terms(call, &facts, scope);
    match scope {
        Reach::Once => return None,
        Reach::Run => terms.run_id = call.context.run_id,
        Reach::Session => {
            call.scene.session?;
            terms.session_key.clone_from(&call.context.session_key);
        }
        Reach::Folder => terms.folder.clone_from(&call.context.workspace),
        Reach::Always => {}
    }
    // A denial must cover it as surely as an allowance would.
    covers(&terms, call, &facts).then_some(Terms { decision, ..terms })
}

/// The narrowest rule worth storing that would allow this call when it comes again.
pub fn grant(call: &Call<'_>) -> Option<Terms> {
    let offered = [Reach::Folder, Reach::Always].into_iter();
    let mut offered = offered.filter_map(|scope| offer(call, scope, RuleDecision::Allow));
    let mut terms = offered.next()?;
    if is_unattended(call.scene.kind, None) {
        terms.kind = call.scene.kind.map(str::to_owned);
    }
    terms.channel = call.scene.channel.map(str::to_owned);
    Some(terms)
}

fn terms(call: &Call<'_>, facts: &Facts<'_>, scope: Reach) -> Terms {
    let mut terms = Terms::new(&call.tool.name, RuleDecision::Allow, scope);
    terms.host = facts.network.then(|| "*".to_owned());
    let of_kind = |kind: NeedKind| {
        let needs = call.tool.needs.iter();
        let needs = needs.filter(move |need| need.kind == kind);
        needs.filter_map(|need| Some((need.arg.clone(), call.args.get(&need.arg)?)))
    };
    terms.matches = exactly(of_kind(NeedKind::Command));
    let has_command = !terms.matches.is_empty();
    if !facts.hosts.is_empty() {
        if let Some(host) = one_host(facts) {
            terms.host = Some(host);
        } else {
            terms.matches.extend(exactly(of_kind(NeedKind::Host)));
            terms.matches.extend(exactly(of_kind(NeedKind::Hosts)));
        }
    }
    let names_something = has_command || !facts.hosts.is_empty();
    if !names_something && facts.tier >= Tier::Exec {
        terms.matches = every_argument(call);
    } else if !names_something && !facts.paths.is_empty() {
        narrow_to_folder(call, facts, &mut terms);
    }
    if let Some(argument) = facts.host_network {
        terms.matches.insert(argument.to_owned(), "host".to_owned());
    }
    terms
}

/// The workspace, where all paths lie in it; else these very paths.
fn narrow_to_folder(call: &Call<'_>, facts: &Facts<'_>, terms: &mut Terms) {
    let root = call.context.workspace.as_deref().and_then(folder);
    let inside = |place: &Place| match (place, &root) {
        (Place::At { steps, straight }, Some(root)) => *straight && steps.starts_with(root),
        _ => false,
    };
    if facts.paths.iter().all(inside) {
        let by_path = matches!(terms.scope, Reach::Run | Reach::Session);
        terms.path = call.context.workspace.clone().filter(|_| by_path);
        return;
    }
    let paths = call.tool.needs.iter();
    let paths = paths.filter(|need| need.kind == NeedKind::Path);
    let paths = paths.filter_map(|need| Some((need.arg.clone(), call.args.get(&need.arg)?)));
    terms.matches = exactly(paths);
}

/// The one host of the call.
fn one_host(facts: &Facts<'_>) -> Option<String> {
    let first = facts.hosts.first()?.as_ref()?;
    let same = |host: &Option<Host>| host.as_ref() == Some(first);
    if !facts.hosts.iter().all(same) {
        return None;
    }
    Some(match first.port {
        None => first.name.clone(),
        // The usual ports of an address; a call that is limited to one of them named it.
        Some(80 | 443) if !facts.network => first.name.clone(),
        Some(port) => format!("{}:{port}", first.name),
    })
}

/// Every argument as it is, and those that are not there as nothing.
fn every_argument(call: &Call<'_>) -> BTreeMap<String, String> {
    let declared = call.tool.parameters.get("properties");
    let declared = declared.and_then(Value::as_object);
    let declared = declared.into_iter().flat_map(|fields| fields.keys());
    let mut matches: BTreeMap<String, String> =
        declared.map(|name| (name.clone(), String::new())).collect();
    if let Value::Object(fields) = call.args {
        let fields = fields.iter().filter(|(_, value)| !value.is_null());
        matches.extend(exactly(fields.map(|(name, value)| (name.clone(), value))));
    }
    matches
}

fn exactly<'v>(values: impl Iterator<Item = (String, &'v Value)>) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => escaped(text),
        other => escaped(&super::canonical::canonical(other)),
    };
    values.map(|(name, value)| (name, text(value))).collect()
}

fn covers(terms: &Terms, call: &Call<'_>, facts: &Facts<'_>) -> bool {
    let rule = Rule {
        id: String::new(),
        terms: terms.clone(),
        created_at: 0,
        created_by: String::new(),
        expires_at: None,
    };
    let reading = Reading::of(rule, call.scene.session);
    reading.is_some_and(|reading| reading.fit(facts, &call.scene) == Fit::Yes)
}

#[cfg(test)]
#[path = "offers_tests.rs"]
mod tests;
