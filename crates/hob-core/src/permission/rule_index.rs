//! The stored rules, found fast. Pure.
//!
//! A rule lies where the calls it could cover look for it: under its tool, then under its run,
//! session or folder, and, where one of its patterns fits a single text, under that text. A call
//! looks into the few places that are its own, so that ten thousand rules cost no more than ten.
//! A command can be spelt in many ways, so rules that deny or ask for one command are all looked at.

use super::cover::{Fit, Reading};
use super::facts::Facts;
use super::place::folder;
use super::rules::Scene;
use hob_wire::rule::Rule;
use hob_wire::work::{NeedKind, Reach, RuleDecision};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    rules: BTreeMap<String, Arc<Reading>>,
    /// By the tool as the rule names it.
    tools: BTreeMap<String, BTreeMap<Subject, Shelf>>,
    /// Ids of stored rules that are damaged: what they said is not known.
    damaged: BTreeSet<String>,
}

/// Whose calls a rule is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Run(String),
    Session(String),
    Folder(Vec<String>),
    Always,
}

/// Rules of one tool and one subject.
#[derive(Clone, Debug, Default)]
struct Shelf {
    /// By an argument and the one text it must be.
    exact: BTreeMap<String, BTreeMap<String, Vec<Arc<Reading>>>>,
    /// Those of `exact` that deny or ask, by the argument alone.
    refusals: BTreeMap<String, Vec<Arc<Reading>>>,
    open: Vec<Arc<Reading>>,
}

/// What the stored rules say of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) decision: RuleDecision,
    /// The id of the rule that counts.
    pub(super) rule: String,
}

impl RuleBook {
    pub fn new() -> RuleBook {
        RuleBook::default()
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Puts a rule in, in the place of one with the same id; `session` is the id of the session
    /// it is for. One whose terms mean nothing covers nothing and is left out.
    pub fn add(&mut self, rule: Rule, session: Option<&str>) {
        self.remove(&rule.id);
        let Some(reading) = Reading::of(rule, session) else {
            return;
        };
        let reading = Arc::new(reading);
        let Some(subject) = Subject::of(&reading) else {
            return;
        };
        let id = reading.rule.id.clone();
        let subjects = self.tools.entry(reading.rule.terms.tool.clone());
        let found = subjects.or_default().entry(subject).or_default();
        let place = match literal(&reading) {
            Some((argument, text)) => {
                if reading.rule.terms.decision != RuleDecision::Allow {
                    let refusals = found.refusals.entry(argument.to_owned());
                    refusals.or_default().push(Arc::clone(&reading));
                }
                let texts = found.exact.entry(argument.to_owned()).or_default();
                texts.entry(text.to_owned()).or_default()
            }
            None => &mut found.open,
        };
        place.push(Arc::clone(&reading));
        self.rules.insert(id, reading);
    }

    /// Notes a stored rule that is damaged. It may have been a denial of anything, so while it is
    /// there nothing is allowed without asking.
    pub fn add_damaged(&mut self, id: String) {
        self.damaged.insert(id);
    }

    /// A damaged rule, if there is one.
    pub(super) fn damaged(&self) -> Option<&str> {
        self.damaged.first().map(String::as_str)
    }

    pub fn remove(&mut self, id: &str) -> Option<Rule> {
        self.damaged.remove(id);
        let reading = self.rules.remove(id)?;
        self.take_off(&reading);
        Some(reading.rule.clone())
    }

    /// Removes the rules of a session that is gone.
    pub fn end_session(&mut self, session: &str) {
        let of_session = |reading: &&Arc<Reading>| reading.session.as_deref() == Some(session);
        let gone = self.rules.values().filter(of_session);
        let gone: Vec<String> = gone.map(|reading| reading.rule.id.clone()).collect();
        for id in gone {
            self.remove(&id);
        }
    }

    /// Removes what covers nothing any more.
    pub fn forget_expired(&mut self, now_ms: u64) {
        self.retain(|rule| rule.expires_at.is_none_or(|at| now_ms < at));
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, keep: impl Fn(&Rule) -> bool) {
        let gone = self.rules.values().filter(|reading| !keep(&reading.rule));
        let gone: Vec<String> = gone.map(|reading| reading.rule.id.clone()).collect();
        for id in gone {
            self.remove(&id);
        }
    }

    /// What the rules that cover a call say together: a denial wins, then the narrowest scope,
    /// and within it a question.
    pub(super) fn find(&self, facts: &Facts<'_>, scene: &Scene<'_>) -> Option<Found> {
        let mut best: Option<Rank> = None;
        for subjects in self.subjects_of(facts) {
            for subject in subjects_of_call(facts, scene) {
                let Some(found) = subjects.get(&subject) else {
                    continue;
                };
                let ranks = found.candidates(facts);
                let ranks = ranks.filter_map(|reading| rank(reading, facts, scene));
                best = best.into_iter().chain(ranks).min();
            }
        }
        best.map(|rank| Found {
            decision: rank.decision(),
            rule: rank.into_rule(),
        })
    }

    /// What is stored under a name of the tool, or under the beginning of one.
    fn subjects_of<'s>(
        &'s self,
        facts: &'s Facts<'_>,
    ) -> impl Iterator<Item = &'s BTreeMap<Subject, Shelf>> {
        let names = std::iter::once(&facts.tool.name).chain(&facts.tool.aliases);
        names.flat_map(move |name| {
            let lengths = 0..=name.len();
            let beginnings = lengths.filter_map(move |end| name.get(..end));
            let patterns = beginnings.map(|beginning| format!("{beginning}*"));
            let patterns = patterns.filter_map(|pattern| self.tools.get(&pattern));
            self.tools.get(name.as_str()).into_iter().chain(patterns)
        })
    }

    fn take_off(&mut self, reading: &Arc<Reading>) {
        let tool = &reading.rule.terms.tool;
        let (Some(subjects), Some(subject)) = (self.tools.get_mut(tool), Subject::of(reading))
        else {
            return;
        };
        if let Some(shelf) = subjects.get_mut(&subject) {
            shelf.take_off(reading);
            if shelf.is_empty() {
                subjects.remove(&subject);
            }
        }
        if subjects.is_empty() {
            self.tools.remove(tool);
        }
    }
}

impl Shelf {
    fn candidates<'s>(&'s self, facts: &'s Facts<'_>) -> impl Iterator<Item = &'s Arc<Reading>> {
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

    fn take_off(&mut self, reading: &Arc<Reading>) {
        let other = |kept: &Arc<Reading>| !Arc::ptr_eq(kept, reading);
        match literal(reading) {
            Some((argument, text)) => {
                if let Some(texts) = self.exact.get_mut(argument) {
                    if let Some(readings) = texts.get_mut(text) {
                        readings.retain(other);
                    }
                    texts.retain(|_, readings| !readings.is_empty());
                    if texts.is_empty() {
                        self.exact.remove(argument);
                    }
                }
                if let Some(readings) = self.refusals.get_mut(argument) {
                    readings.retain(other);
                    if readings.is_empty() {
                        self.refusals.remove(argument);
                    }
                }
            }
            None => self.open.retain(other),
        }
    }

    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.open.is_empty()
    }
}

impl Subject {
    fn of(reading: &Reading) -> Option<Subject> {
        let terms = &reading.rule.terms;
        match terms.scope {
            Reach::Once => None,
            Reach::Run => terms.run_id.map(|run| Subject::Run(run.to_string())),
            Reach::Session => reading.session.clone().map(Subject::Session),
            Reach::Folder => reading.folder.clone().map(Subject::Folder),
            Reach::Always => Some(Subject::Always),
        }
    }
}

fn subjects_of_call(facts: &Facts<'_>, scene: &Scene<'_>) -> Vec<Subject> {
    let mut subjects = vec![Subject::Always];
    let run = facts.context.run_id;
    subjects.extend(run.map(|run| Subject::Run(run.to_string())));
    let session = scene.session;
    subjects.extend(session.map(|id| Subject::Session(id.to_owned())));
    let workspace = facts.context.workspace.as_deref().and_then(folder);
    if let Some(steps) = workspace {
        let ends = 0..=steps.len();
        subjects.extend(ends.map(|end| Subject::Folder(steps[..end].to_vec())));
    }
    subjects
}

/// A pattern of the rule that fits one text alone; an empty one also fits what is missing.
fn literal(reading: &Reading) -> Option<(&str, &str)> {
    reading.matches.iter().find_map(|(argument, pattern)| {
        let text = pattern.literal().filter(|text| !text.is_empty())?;
        Some((argument.as_str(), text))
    })
}

/// The order in which covering rules count; the least wins. The rule's id makes it total.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Denied(String),
    /// A denial that may or may not be meant.
    PerhapsDenied(String),
    /// By scope, the narrowest first; a question before an allowance.
    Other(u8, bool, String),
}

impl Rank {
    fn decision(&self) -> RuleDecision {
        match self {
            Rank::Denied(_) => RuleDecision::Deny,
            Rank::PerhapsDenied(_) | Rank::Other(_, false, _) => RuleDecision::Ask,
            Rank::Other(_, true, _) => RuleDecision::Allow,
        }
    }

    fn into_rule(self) -> String {
        match self {
            Rank::Denied(rule) | Rank::PerhapsDenied(rule) | Rank::Other(_, _, rule) => rule,
        }
    }
}

fn rank(reading: &Reading, facts: &Facts<'_>, scene: &Scene<'_>) -> Option<Rank> {
    let rule = &reading.rule;
    let width = match rule.terms.scope {
        Reach::Once | Reach::Run => 0,
        Reach::Session => 1,
        Reach::Folder => 2,
        Reach::Always => 3,
    };
    let fit = reading.fit(facts, scene);
    if fit == Fit::No {
        return None;
    }
    let id = rule.id.clone();
    match (fit, rule.terms.decision) {
        (Fit::No, _) | (Fit::Open, RuleDecision::Allow) => None,
        (Fit::Yes, RuleDecision::Deny) => Some(Rank::Denied(id)),
        (Fit::Open, RuleDecision::Deny) => Some(Rank::PerhapsDenied(id)),
        (_, RuleDecision::Ask) => Some(Rank::Other(width, false, id)),
        (Fit::Yes, RuleDecision::Allow) => Some(Rank::Other(width, true, id)),
    }
}

#[cfg(test)]
#[path = "rulebook_tests.rs"]
mod tests;
