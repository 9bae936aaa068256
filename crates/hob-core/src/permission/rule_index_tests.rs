//! The book finds what a plain walk over all rules would find.

use super::super::fixture_tests::{Asked, exec, rule, run, terms, write};
use super::super::rules::{Verdict, decide};
use super::*;
use hob_wire::rule::Terms;
use hob_wire::work::Tier;
use proptest::prelude::*;
use serde_json::json;

fn found(book: &RuleBook, asked: &Asked) -> Option<(RuleDecision, String)> {
    let facts = Facts::of(&asked.tool, &asked.args, &asked.context);
    let found = book.find(&facts, &asked.scene)?;
    Some((found.decision, found.rule))
}

fn book_of(rules: Vec<Rule>) -> RuleBook {
    let mut book = RuleBook::new();
    for rule in rules {
        book.add(rule, Some(super::super::fixture_tests::SESSION));
    }
    book
}

#[test]
fn the_narrowest_scope_decides_a_question_beats_a_yes_and_a_no_beats_all() {
    use RuleDecision::{Allow, Ask, Deny};
    let asked = Asked::new(write(), json!({ "path": "a" }));
    let id = |decision, rule: &str| Some((decision, rule.to_owned()));
    let mut book = RuleBook::new();
    assert_eq!(found(&book, &asked), None);
    book = book_of(vec![rule("1", terms("write", Allow, Reach::Always))]);
    assert_eq!(found(&book, &asked), id(Allow, "1"));
    book.add(rule("2", terms("write", Ask, Reach::Folder)), None);
    assert_eq!(found(&book, &asked), id(Ask, "2"));
    book.add(rule("3", terms("write", Allow, Reach::Run)), None);
    assert_eq!(found(&book, &asked), id(Allow, "3"));
    book.add(rule("4", terms("*", Ask, Reach::Run)), None);
    assert_eq!(found(&book, &asked), id(Ask, "4"));
    book.add(rule("5", terms("old.wri*", Deny, Reach::Always)), None);
    assert_eq!(found(&book, &asked), id(Deny, "5"));
    assert_eq!(book.len(), 5);
    for gone in ["5", "4", "2"] {
        assert!(book.remove(gone).is_some());
    }
    assert_eq!(found(&book, &asked), id(Allow, "3"));
    book.retain(|rule| rule.terms.scope != Reach::Run);
    assert_eq!(found(&book, &asked), id(Allow, "1"));
    book.remove("1");
    assert!(
        book.is_empty() && book.tools.is_empty(),
        "nothing is left behind"
    );
}

#[test]
fn a_rule_of_the_same_id_is_replaced() {
    let asked = Asked::new(exec(), json!({ "command": "ls" }));
    let mut exact = terms("exec", RuleDecision::Allow, Reach::Always);
    exact
        .matches
        .extend([("command".to_owned(), "ls".to_owned())]);
    let mut book = book_of(vec![rule("1", exact.clone())]);
    assert!(found(&book, &asked).is_some());
    exact
        .matches
        .extend([("command".to_owned(), "pwd".to_owned())]);
    book.add(rule("1", exact), None);
    assert_eq!((book.len(), found(&book, &asked)), (1, None));
}

/// Few words, so that rules and calls meet often.
fn any_terms() -> impl Strategy<Value = Terms> {
    let tools = prop::sample::select(vec!["exec", "write", "*", "w*", "old.exec"]);
    let decisions = prop::sample::select(vec![
        RuleDecision::Allow,
        RuleDecision::Ask,
        RuleDecision::Deny,
    ]);
    let scopes = prop::sample::select(vec![
        Reach::Run,
        Reach::Session,
        Reach::Folder,
        Reach::Always,
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
        let rules: Vec<Rule> = rules.into_iter().enumerate()
            .map(|(at, terms)| rule(&format!("{at:02}"), terms)).collect();
        let facts = Facts::of(&asked.tool, &asked.args, &asked.context);
        let session = asked.scene.session;
        let readings: Vec<Reading> =
            rules.iter().filter_map(|rule| Reading::of(rule.clone(), session)).collect();
        let walked = readings.iter()
            .filter_map(|reading| rank(reading, &facts, &asked.scene)).min()
            .map(|rank| (rank.decision(), rank.into_rule()));
        let book = book_of(rules);
        prop_assert_eq!(found(&book, &asked), walked);
    }

    #[test]
    fn a_denial_that_covers_wins(
        rules in prop::collection::vec(any_terms(), 0..12),
        asked in any_call(),
    ) {
        let rules: Vec<Rule> = rules.into_iter().enumerate()
            .map(|(at, terms)| rule(&format!("{at:02}"), terms)).collect();
        let facts = Facts::of(&asked.tool, &asked.args, &asked.context);
        let denied = rules.iter()
            .filter(|rule| rule.terms.decision == RuleDecision::Deny)
            .filter_map(|rule| Reading::of(rule.clone(), asked.scene.session))
            .any(|reading| reading.fit(&facts, &asked.scene) == Fit::Yes);
        let verdict = decide(&asked.call(), &book_of(rules));
        let is_deny = matches!(verdict, Verdict::Deny { .. });
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
        let tier = super::super::reach(&asked.call());
        let verdict = decide(&asked.call(), &book_of(rules));
        if tier > ceiling {
            let denied = matches!(&verdict, Verdict::Deny { rule, .. } if rule == "rule:ceiling");
            prop_assert!(denied, "{:?}", verdict);
        }
    }
}
