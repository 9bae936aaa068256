//! An index of the stored rules. Pure.
//!
//! A rule is stored under its tool, then under its run, session or folder, and, if one of its
//! patterns matches a single text, under that text. A call looks only into the few buckets that
//! could cover it, so ten thousand rules cost no more than ten. A command can be spelt in many
//! ways, so rules that deny or ask about one command are all examined.

use super::call_facts::CallFacts;
use super::compiled_rule::{CompiledRule, RuleMatch};
use super::decision::DecisionContext;
use super::paths_and_hosts::folder_steps;
use hob_wire::rule::PermissionRule;
use hob_wire::work::{AnswerReach, NeedKind, RuleDecision};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct RuleIndex {
    rules: BTreeMap<String, Arc<CompiledRule>>,
    /// Keyed by the tool as the rule names it.
    tools: BTreeMap<String, BTreeMap<RuleSubject, RuleBucket>>,
    /// The ids of damaged rules: their terms are unknown.
    damaged: BTreeSet<String>,
}

/// The calls a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RuleSubject {
    Run(String),
    Session(String),
    Folder(Vec<String>),
    Always,
}

/// The rules of one tool and one subject.
#[derive(Clone, Debug, Default)]
struct RuleBucket {
    /// Keyed by an argument and the only text it may have.
    exact: BTreeMap<String, BTreeMap<String, Vec<Arc<CompiledRule>>>>,
    /// The rules of `exact` that deny or ask, keyed by the argument alone.
    refusals: BTreeMap<String, Vec<Arc<CompiledRule>>>,
    open: Vec<Arc<CompiledRule>>,
}

/// The result of the stored rules for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatchedRule {
    pub(super) decision: RuleDecision,
    /// The id of the rule that decides.
    pub(super) rule: String,
}

impl RuleIndex {
    pub fn new() -> RuleIndex {
        RuleIndex::default()
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds a rule, replacing one with the same id; `session` is the id of its session. A rule with
    /// invalid terms covers nothing and is left out.
    pub fn add(&mut self, rule: PermissionRule, session: Option<&str>) {
        self.remove(&rule.id);
        let Some(compiled) = CompiledRule::compile(rule, session) else {
            return;
        };
        let compiled = Arc::new(compiled);
        let Some(subject) = RuleSubject::of_rule(&compiled) else {
            return;
        };
        let id = compiled.rule.id.clone();
        let subjects = self.tools.entry(compiled.rule.terms.tool.clone());
        let found = subjects.or_default().entry(subject).or_default();
        let place = match literal_match(&compiled) {
            Some((argument, text)) => {
                // A command can spell the text differently, so these are also found by the argument
                // alone.
                if compiled.rule.terms.decision != RuleDecision::Allow {
                    let refusals = found.refusals.entry(argument.to_owned());
                    refusals.or_default().push(Arc::clone(&compiled));
                }
                let texts = found.exact.entry(argument.to_owned()).or_default();
                texts.entry(text.to_owned()).or_default()
            }
            // Without a literal pattern a rule is examined for every call of its subject.
            None => &mut found.open,
        };
        place.push(Arc::clone(&compiled));
        self.rules.insert(id, compiled);
    }

    /// Adds the id of a damaged rule. It may have denied anything, so while it exists nothing is
    /// allowed without asking.
    pub fn add_damaged(&mut self, id: String) {
        self.damaged.insert(id);
    }

    /// Returns a damaged rule, if there is one.
    pub(super) fn damaged(&self) -> Option<&str> {
        self.damaged.first().map(String::as_str)
    }

    pub fn remove(&mut self, id: &str) -> Option<PermissionRule> {
        self.damaged.remove(id);
        let compiled = self.rules.remove(id)?;
        self.remove_from_bucket(&compiled);
        Some(compiled.rule.clone())
    }

    /// Removes the rules of a session that is gone.
    pub fn end_session(&mut self, session: &str) {
        let of_session =
            |compiled: &&Arc<CompiledRule>| compiled.session.as_deref() == Some(session);
        let gone = self.rules.values().filter(of_session);
        let gone: Vec<String> = gone.map(|compiled| compiled.rule.id.clone()).collect();
        for id in gone {
            self.remove(&id);
        }
    }

    /// Removes expired rules.
    pub fn forget_expired(&mut self, now_ms: u64) {
        self.retain(|rule| rule.expires_at.is_none_or(|at| now_ms < at));
    }

    /// Keeps the rules for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(&PermissionRule) -> bool) {
        let gone = self.rules.values().filter(|compiled| !keep(&compiled.rule));
        let gone: Vec<String> = gone.map(|compiled| compiled.rule.id.clone()).collect();
        for id in gone {
            self.remove(&id);
        }
    }

    /// Returns the rule that decides about a call. Deny wins; else the narrowest scope; within a
    /// scope, ask beats allow.
    pub(super) fn find_match(
        &self,
        facts: &CallFacts<'_>,
        decision_context: &DecisionContext<'_>,
    ) -> Option<MatchedRule> {
        let mut best: Option<RuleRank> = None;
        for subjects in self.subjects_of(facts) {
            for subject in subjects_of_call(facts, decision_context) {
                let Some(found) = subjects.get(&subject) else {
                    continue;
                };
                let ranks = found.candidates(facts);
                let ranks =
                    ranks.filter_map(|compiled| rank_rule(compiled, facts, decision_context));
                best = best.into_iter().chain(ranks).min();
            }
        }
        best.map(|rank| MatchedRule {
            decision: rank.decision(),
            rule: rank.into_rule(),
        })
    }

    /// Returns the rules stored under a name of the tool or under a prefix of one.
    fn subjects_of<'s>(
        &'s self,
        facts: &'s CallFacts<'_>,
    ) -> impl Iterator<Item = &'s BTreeMap<RuleSubject, RuleBucket>> {
        let names = std::iter::once(&facts.tool.name).chain(&facts.tool.aliases);
        names.flat_map(move |name| {
            let lengths = 0..=name.len();
            // `get` leaves out positions inside a character.
            let beginnings = lengths.filter_map(move |end| name.get(..end));
            // A rule may name a prefix of a tool: `sessions_*`.
            let patterns = beginnings.map(|beginning| format!("{beginning}*"));
            let patterns = patterns.filter_map(|pattern| self.tools.get(&pattern));
            self.tools.get(name.as_str()).into_iter().chain(patterns)
        })
    }

    fn remove_from_bucket(&mut self, compiled: &Arc<CompiledRule>) {
        let tool = &compiled.rule.terms.tool;
        let (Some(subjects), Some(subject)) =
            (self.tools.get_mut(tool), RuleSubject::of_rule(compiled))
        else {
            return;
        };
        if let Some(bucket) = subjects.get_mut(&subject) {
            bucket.remove(compiled);
            if bucket.is_empty() {
                subjects.remove(&subject);
            }
        }
        if subjects.is_empty() {
            self.tools.remove(tool);
        }
    }
}

impl RuleBucket {
    fn candidates<'s>(
        &'s self,
        facts: &'s CallFacts<'_>,
    ) -> impl Iterator<Item = &'s Arc<CompiledRule>> {
        let exact = facts.arguments.iter().flat_map(move |argument| {
            let texts = self.exact.get(argument.name);
            texts.into_iter().flat_map(move |texts| {
                let texts = argument.texts.iter().filter_map(|text| texts.get(&**text));
                texts.flatten()
            })
        });
        let commands = facts.arguments.iter();
        let commands = commands.filter(|it| it.kind == Some(NeedKind::Command));
        let refusals = commands.filter_map(|it| self.refusals.get(it.name));
        exact.chain(refusals.flatten()).chain(&self.open)
    }

    fn remove(&mut self, compiled: &Arc<CompiledRule>) {
        let other = |kept: &Arc<CompiledRule>| !Arc::ptr_eq(kept, compiled);
        match literal_match(compiled) {
            Some((argument, text)) => {
                if let Some(texts) = self.exact.get_mut(argument) {
                    if let Some(rules) = texts.get_mut(text) {
                        rules.retain(other);
                    }
                    texts.retain(|_, rules| !rules.is_empty());
                    if texts.is_empty() {
                        self.exact.remove(argument);
                    }
                }
                if let Some(rules) = self.refusals.get_mut(argument) {
                    rules.retain(other);
                    if rules.is_empty() {
                        self.refusals.remove(argument);
                    }
                }
            }
            None => self.open.retain(other),
        }
    }

    fn is_empty(&self) -> bool {
        // Every rule of `refusals` is in `exact` too.
        self.exact.is_empty() && self.open.is_empty()
    }
}

impl RuleSubject {
    fn of_rule(compiled: &CompiledRule) -> Option<RuleSubject> {
        let terms = &compiled.rule.terms;
        match terms.scope {
            AnswerReach::Once => None,
            AnswerReach::Run => terms.run_id.map(|run| RuleSubject::Run(run.to_string())),
            AnswerReach::Session => compiled.session.clone().map(RuleSubject::Session),
            AnswerReach::Folder => compiled.folder.clone().map(RuleSubject::Folder),
            AnswerReach::Always => Some(RuleSubject::Always),
        }
    }
}

fn subjects_of_call(
    facts: &CallFacts<'_>,
    decision_context: &DecisionContext<'_>,
) -> Vec<RuleSubject> {
    let mut subjects = vec![RuleSubject::Always];
    let run = facts.context.run_id;
    subjects.extend(run.map(|run| RuleSubject::Run(run.to_string())));
    let session = decision_context.session;
    subjects.extend(session.map(|id| RuleSubject::Session(id.to_owned())));
    let workspace = facts.context.workspace.as_deref().and_then(folder_steps);
    if let Some(steps) = workspace {
        let ends = 0..=steps.len();
        // A rule of a folder covers every workspace below it.
        subjects.extend(ends.map(|end| RuleSubject::Folder(steps[..end].to_vec())));
    }
    subjects
}

/// Returns a pattern of the rule that matches only one text. An empty text is excluded: it also
/// matches a missing argument.
fn literal_match(compiled: &CompiledRule) -> Option<(&str, &str)> {
    compiled.matches.iter().find_map(|(argument, pattern)| {
        let text = pattern.literal().filter(|text| !text.is_empty())?;
        Some((argument.as_str(), text))
    })
}

/// The precedence of matching rules; the least wins. The rule's id makes the order total.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RuleRank {
    Denied(String),
    /// A denial that may not apply.
    PerhapsDenied(String),
    /// Scope, narrowest first; then ask before allow.
    Other(u8, bool, String),
}

impl RuleRank {
    fn decision(&self) -> RuleDecision {
        match self {
            RuleRank::Denied(_) => RuleDecision::Deny,
            RuleRank::PerhapsDenied(_) | RuleRank::Other(_, false, _) => RuleDecision::Ask,
            RuleRank::Other(_, true, _) => RuleDecision::Allow,
        }
    }

    fn into_rule(self) -> String {
        match self {
            RuleRank::Denied(rule)
            | RuleRank::PerhapsDenied(rule)
            | RuleRank::Other(_, _, rule) => rule,
        }
    }
}

fn rank_rule(
    compiled: &CompiledRule,
    facts: &CallFacts<'_>,
    decision_context: &DecisionContext<'_>,
) -> Option<RuleRank> {
    let rule = &compiled.rule;
    let width = match rule.terms.scope {
        AnswerReach::Once | AnswerReach::Run => 0,
        AnswerReach::Session => 1,
        AnswerReach::Folder => 2,
        AnswerReach::Always => 3,
    };
    let fit = compiled.match_call(facts, decision_context);
    if fit == RuleMatch::No {
        return None;
    }
    let id = rule.id.clone();
    match (fit, rule.terms.decision) {
        // An uncertain match never allows.
        (RuleMatch::No, _) | (RuleMatch::Maybe, RuleDecision::Allow) => None,
        (RuleMatch::Yes, RuleDecision::Deny) => Some(RuleRank::Denied(id)),
        (RuleMatch::Maybe, RuleDecision::Deny) => Some(RuleRank::PerhapsDenied(id)),
        (_, RuleDecision::Ask) => Some(RuleRank::Other(width, false, id)),
        (RuleMatch::Yes, RuleDecision::Allow) => Some(RuleRank::Other(width, true, id)),
    }
}

#[cfg(test)]
#[path = "rule_index_tests.rs"]
mod tests;
