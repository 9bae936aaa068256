//! The rules that answers store cover the call and little else.

use super::super::decision::{RuleVerdict, decide};
use super::super::fixture_tests::{Asked, exec, fetch, rule, tool, write};
use super::super::rule_index::RuleIndex;
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn stored(terms: RuleTerms, asked: &Asked) -> RuleIndex {
    let mut index = RuleIndex::new();
    index.add(rule("r", terms), asked.decision_context.session);
    index
}

fn allows(terms: &RuleTerms, asked: &Asked) -> bool {
    let verdict = decide(&asked.call(), &stored(terms.clone(), asked));
    matches!(verdict, RuleVerdict::Allow { rule } if rule == "rule:r")
}

fn scopes(offers: &[RuleTerms]) -> Vec<AnswerReach> {
    offers.iter().map(|terms| terms.scope).collect()
}

#[test]
fn a_command_is_offered_word_for_word() {
    let asked = Asked::new(exec(), json!({ "command": r"ls *.rs | grep 'a\b'" }));
    let offers = offers(&asked.call());
    assert_eq!(scopes(&offers), SCOPES);
    for terms in &offers {
        assert_eq!(terms.matches["command"], r"ls \*.rs | grep 'a\\b'");
        assert_eq!(terms.host, None);
        assert!(allows(terms, &asked));
        let mut other = asked.clone();
        other.args["command"] = json!(r"ls x.rs | grep 'a\b'");
        assert!(!allows(terms, &other));
        let mut network = asked.clone();
        network.args["network"] = json!(true);
        assert!(!allows(terms, &network), "the network was not part of it");
    }
}

#[test]
fn a_command_with_the_network_says_so() {
    let asked = Asked::new(exec(), json!({ "command": "curl x", "network": true }));
    for terms in offers(&asked.call()) {
        assert_eq!(terms.host.as_deref(), Some("*"));
        assert!(allows(&terms, &asked));
    }
}

#[test]
fn a_network_with_hosts_is_offered_for_them_alone() {
    let limited = |hosts: serde_json::Value| {
        let args = json!({ "command": "cargo fetch", "network": true, "hosts": hosts });
        Asked::new(exec(), args)
    };
    for (hosts, host) in [
        (json!(["crates.io"]), "crates.io"),
        (json!(["crates.io:443"]), "crates.io:443"),
        (json!(["*.crates.io"]), "*.crates.io"),
        (json!(["a.test", "b.test"]), "*"),
    ] {
        let asked = limited(hosts);
        let offers = offers(&asked.call());
        assert!(!offers.is_empty());
        for terms in &offers {
            assert_eq!(terms.host.as_deref(), Some(host));
            assert!(allows(terms, &asked), "{terms:?}");
            for wider in [
                limited(json!(["evil.test"])),
                limited(json!(["crates.io", "a.test", "b.test", "evil.test"])),
                limited(json!(null)),
                limited(json!(["*"])),
            ] {
                assert!(!allows(terms, &wider), "{terms:?}: {:?}", wider.args);
            }
        }
    }
}

#[test]
fn the_machines_own_network_is_offered_by_its_name() {
    let host = Asked::new(exec(), json!({ "command": "curl x", "network": "host" }));
    let proxied = Asked::new(exec(), json!({ "command": "curl x", "network": true }));
    for terms in offers(&host.call()) {
        assert_eq!(terms.matches["network"], "host");
        assert!(allows(&terms, &host), "{terms:?}");
        assert!(!allows(&terms, &proxied), "{terms:?}");
    }
    for terms in offers(&proxied.call()) {
        assert!(!allows(&terms, &host), "{terms:?}");
    }
}

#[test]
fn a_change_of_files_is_offered_by_tool_and_folder() {
    let asked = Asked::new(write(), json!({ "path": "docs/a" }));
    let offers = offers(&asked.call());
    assert_eq!(scopes(&offers), SCOPES);
    assert_eq!(offers[0].path.as_deref(), Some("/w/app"));
    assert_eq!(offers[2].folder.as_deref(), Some("/w/app"));
    let like = Asked::new(write(), json!({ "path": "src/b" }));
    for terms in &offers {
        assert!(allows(terms, &like), "{terms:?}");
    }
    let mut elsewhere = like;
    elsewhere.context.workspace = Some("/w/other".to_owned());
    assert!(!allows(&offers[1], &elsewhere));
    assert!(!allows(&offers[2], &elsewhere));

    let outside = Asked::new(write(), json!({ "path": "/etc/hosts" }));
    let offered = super::offers(&outside.call());
    assert_eq!(
        scopes(&offered),
        [AnswerReach::Run, AnswerReach::Session, AnswerReach::Always]
    );
    for terms in &offered {
        assert_eq!(terms.matches["path"], "/etc/hosts");
        assert!(allows(terms, &outside));
    }
}

#[test]
fn a_fetch_is_offered_by_its_host() {
    let asked = Asked::new(fetch(), json!({ "url": "https://Pages.example/a" }));
    let offers = offers(&asked.call());
    assert_eq!(offers[0].host.as_deref(), Some("pages.example"));
    let like = Asked::new(fetch(), json!({ "url": "https://pages.example/b" }));
    let other = Asked::new(
        fetch(),
        json!({ "url": "https://pages.example.evil.test/" }),
    );
    assert!(allows(&offers[0], &like) && !allows(&offers[0], &other));
    let port = Asked::new(fetch(), json!({ "url": "http://127.0.0.1:8080/" }));
    assert_eq!(
        super::offers(&port.call())[0].host.as_deref(),
        Some("127.0.0.1:8080")
    );
}

#[test]
fn what_reaches_out_and_names_nothing_is_offered_with_all_its_arguments() {
    let mut send = tool("send", Tier::External, &[]);
    send.parameters = json!({ "properties": { "to": {}, "text": {}, "copy": {} } });
    let asked = Asked::new(send.clone(), json!({ "to": "ada", "text": "hi *" }));
    for terms in offers(&asked.call()) {
        assert!(allows(&terms, &asked));
        let mut more = asked.clone();
        more.args["copy"] = json!("eve");
        assert!(!allows(&terms, &more));
        let mut other = asked.clone();
        other.args["text"] = json!("hi all");
        assert!(!allows(&terms, &other));
    }
}

#[test]
fn a_session_that_is_not_stored_is_not_offered() {
    let mut asked = Asked::new(write(), json!({ "path": "a" }));
    asked.decision_context.session = None;
    asked.context.workspace = None;
    asked.args = json!({ "path": "/tmp/a" });
    assert_eq!(
        scopes(&offers(&asked.call())),
        [AnswerReach::Run, AnswerReach::Always]
    );
}

#[test]
fn a_grant_is_for_the_folder_and_who_was_there() {
    let mut asked = Asked::new(exec(), json!({ "command": "make" }));
    let plain = suggest_grant(&asked.call()).expect("is one");
    assert_eq!(plain.scope, AnswerReach::Folder);
    assert_eq!((&plain.kind, &plain.channel), (&None, &None));
    asked.decision_context.kind = Some("cron");
    asked.decision_context.channel = Some("telegram");
    let narrow = suggest_grant(&asked.call()).expect("is one");
    assert_eq!(narrow.kind.as_deref(), Some("cron"));
    assert_eq!(narrow.channel.as_deref(), Some("telegram"));
    assert!(allows(&narrow, &asked));
    asked.decision_context.kind = Some("main");
    asked.context.workspace = None;
    // Without a workspace the command's folder is not known, and no folder can be named.
    assert_eq!(
        suggest_grant(&asked.call()).map(|terms| terms.scope),
        Some(AnswerReach::Always)
    );
}

proptest! {
    #[test]
    fn every_offer_covers_its_call_and_a_no_as_surely(
        command in ".{0,30}",
        path in "[a-z./]{0,12}",
        network in any::<bool>(),
    ) {
        let calls = [
            Asked::new(exec(), json!({ "command": command, "cwd": path, "network": network })),
            Asked::new(write(), json!({ "path": path })),
            Asked::new(tool("send", Tier::External, &[]), json!({ "what": command })),
        ];
        for asked in calls {
            for scope in SCOPES {
                if let Some(terms) = offer(&asked.call(), scope, RuleDecision::Allow) {
                    prop_assert!(allows(&terms, &asked));
                }
                if let Some(terms) = offer(&asked.call(), scope, RuleDecision::Deny) {
                    let verdict = decide(&asked.call(), &stored(terms, &asked));
                    let denied = matches!(verdict, RuleVerdict::Deny { .. });
                    prop_assert!(denied);
                }
            }
            prop_assert!(suggest_grant(&asked.call()).is_some());
        }
    }
}
