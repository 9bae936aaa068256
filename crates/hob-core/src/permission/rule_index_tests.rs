//! The index finds what a plain walk over all rules would find.

use super::super::decision::{RuleVerdict, decide};
use super::super::fixture_tests::{Asked, exec, rule, run, terms, write};
use super::*;
use hob_wire::rule::RuleTerms;
use hob_wire::work::Tier;
use proptest::prelude::*;
use serde_json::json;

fn found(index: &RuleIndex, asked: &Asked) -> Option<(RuleDecision, String)> {
    let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
    let found = index.find_match(&facts, &asked.decision_context)?;
    Some((found.decision, found.rule))
}

fn book_of(rules: Vec<PermissionRule>) -> RuleIndex {
    let mut index = RuleIndex::new();
    for rule in rules {
        index.add(rule, Some(super::super::fixture_tests::SESSION));
    }
    index
}

#[test]
fn the_narrowest_scope_decides_a_question_beats_a_yes_and_a_no_beats_all() {
    use RuleDecision::{Allow, Ask, Deny};
    let asked = Asked::new(write(), json!({ "path": "a" }));
    let id = |decision, rule: &str| Some((decision, rule.to_owned()));
    let mut index = RuleIndex::new();
    assert_eq!(found(&index, &asked), None);
    index = book_of(vec![rule("1", terms("write", Allow, AnswerReach::Always))]);
    assert_eq!(found(&index, &asked), id(Allow, "1"));
    index.add(rule("2", terms("write", Ask, AnswerReach::Folder)), None);
    assert_eq!(found(&index, &asked), id(Ask, "2"));
    index.add(rule("3", terms("write", Allow, AnswerReach::Run)), None);
    assert_eq!(found(&index, &asked), id(Allow, "3"));
    index.add(rule("4", terms("*", Ask, AnswerReach::Run)), None);
    assert_eq!(found(&index, &asked), id(Ask, "4"));
    index.add(
        rule("5", terms("old.wri*", Deny, AnswerReach::Always)),
        None,
    );
    assert_eq!(found(&index, &asked), id(Deny, "5"));
    assert_eq!(index.len(), 5);
    for gone in ["5", "4", "2"] {
        assert!(index.remove(gone).is_some());
    }
    assert_eq!(found(&index, &asked), id(Allow, "3"));
    index.retain(|rule| rule.terms.scope != AnswerReach::Run);
    assert_eq!(found(&index, &asked), id(Allow, "1"));
    index.remove("1");
    assert!(
        index.is_empty() && index.tools.is_empty(),
        "nothing is left behind"
    );
}

#[test]
fn a_rule_of_the_same_id_is_replaced() {
    let asked = Asked::new(exec(), json!({ "command": "ls" }));
    let mut exact = terms("exec", RuleDecision::Allow, AnswerReach::Always);
    exact
        .matches
        .extend([("command".to_owned(), "ls".to_owned())]);
    let mut index = book_of(vec![rule("1", exact.clone())]);
    assert!(found(&index, &asked).is_some());
    exact
        .matches
        .extend([("command".to_owned(), "pwd".to_owned())]);
    index.add(rule("1", exact), None);
    assert_eq!((index.len(), found(&index, &asked)), (1, None));
}

/// Few words, so that rules and calls meet often.
fn any_terms() -> impl Strategy<Value = RuleTerms> {
    let tools = prop::sample::select(vec!["exec", "write", "*", "w*", "old.exec"]);
    let decisions = prop::sample::select(vec![
        RuleDecision::Allow,
        RuleDecision::Ask,
        RuleDecision::Deny,
    ]);
    let scopes = prop::sample::select(vec![
        AnswerReach::Run,
        AnswerReach::Session,
        AnswerReach::Folder,
        AnswerReach::Always,
    ]);
    let command = prop::option::of(prop::sample::select(vec!["ls", "ls *", "*", "", "ls; id"]));
    let path = prop::option::of(prop::sample::select(vec!["a", "docs/*", "../x", "*"]));
    let folder = prop::option::of(prop::sample::select(vec!["/w", "/w/app/docs", "/etc"]));
    let host = prop::option::of(prop::sample::select(vec!["*", "example.org"]));
    let parts = (tools, decisions, scopes, command, path, folder, host);
    parts.prop_map(|(tool, decision, scope, command, path, folder, host)| {
        let mut terms = terms(tool, decision, scope);
        let matches = [("command", command), ("path", path)];
        for (name, pattern) in matches {
            let pattern = pattern.map(|pattern| (name.to_owned(), pattern.to_owned()));
            terms.matches.extend(pattern);
        }
        terms.path = folder.map(str::to_owned);
        terms.host = host.map(str::to_owned);
        terms
    })
}

fn any_call() -> impl Strategy<Value = Asked> {
    let commands = prop::sample::select(vec!["ls", "ls -l", "ls; id", "", "l*s"]);
    let paths = prop::sample::select(vec!["a", "docs/b", "../x", "/etc/x", "docs/../a", "."]);
    let numbers = 1_u8..3;
    let parts = (any::<bool>(), commands, paths, any::<bool>(), numbers);
    parts.prop_map(|(executes, command, path, network, number)| {
        let mut asked = if executes {
            let args = json!({ "command": command, "cwd": path, "network": network });
            Asked::new(exec(), args)
        } else {
            Asked::new(write(), json!({ "path": path }))
        };
        asked.context.run_id = Some(run(number));
        asked
    })
}

proptest! {
    #[test]
    fn the_book_finds_what_a_walk_finds(
        rules in prop::collection::vec(any_terms(), 0..12),
        asked in any_call(),
    ) {
        let rules: Vec<PermissionRule> = rules.into_iter().enumerate()
            .map(|(at, terms)| rule(&format!("{at:02}"), terms)).collect();
        let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
        let session = asked.decision_context.session;
        let readings: Vec<CompiledRule> =
            rules.iter().filter_map(|rule| CompiledRule::compile(rule.clone(), session)).collect();
        let walked = readings.iter()
            .filter_map(|reading| rank_rule(reading, &facts, &asked.decision_context)).min()
            .map(|rank| (rank.decision(), rank.into_rule()));
        let index = book_of(rules);
        prop_assert_eq!(found(&index, &asked), walked);
    }

    #[test]
    fn a_denial_that_covers_wins(
        rules in prop::collection::vec(any_terms(), 0..12),
        asked in any_call(),
    ) {
        let rules: Vec<PermissionRule> = rules.into_iter().enumerate()
            .map(|(at, terms)| rule(&format!("{at:02}"), terms)).collect();
        let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
        let denied = rules.iter()
            .filter(|rule| rule.terms.decision == RuleDecision::Deny)
            .filter_map(|rule| CompiledRule::compile(rule.clone(), asked.decision_context.session))
            .any(|reading| reading.match_call(&facts, &asked.decision_context) == RuleMatch::Yes);
        let verdict = decide(&asked.call(), &book_of(rules));
        let is_deny = matches!(verdict, RuleVerdict::Deny { .. });
        prop_assert_eq!(denied, is_deny);
    }

    #[test]
    fn no_rule_lifts_a_call_over_its_ceiling(
        rules in prop::collection::vec(any_terms(), 0..12),
        asked in any_call(),
        ceiling in prop::sample::select(vec![Tier::Read, Tier::Write, Tier::Exec]),
    ) {
        let rules = rules.into_iter().enumerate()
            .map(|(at, terms)| rule(&format!("{at:02}"), terms)).collect();
        let mut asked = asked;
        asked.ceiling = Some(ceiling);
        let tier = super::super::call_tier(&asked.call());
        let verdict = decide(&asked.call(), &book_of(rules));
        if tier > ceiling {
            let denied = matches!(&verdict, RuleVerdict::Deny { rule, .. } if rule == "rule:ceiling");
            prop_assert!(denied, "{:?}", verdict);
        }
    }
}
