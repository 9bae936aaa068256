//! Calls that a rule covers, as tables.

use super::super::fixture_tests::{Asked, exec, fetch, rule, run, terms, write};
use super::*;
use hob_wire::work::RuleDecision::{Allow, Ask, Deny};
use serde_json::json;

fn fit(terms: RuleTerms, asked: &Asked) -> RuleMatch {
    let session = asked.decision_context.session;
    let reading = CompiledRule::compile(rule("r", terms), session).expect("is a rule");
    let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
    reading.match_call(&facts, &asked.decision_context)
}

fn with(argument: &str, pattern: &str, decision: RuleDecision, tool: &str) -> RuleTerms {
    let mut terms = terms(tool, decision, AnswerReach::Always);
    let matched = (argument.to_owned(), pattern.to_owned());
    terms.matches.extend([matched]);
    terms
}

fn in_path(path: &str, decision: RuleDecision) -> RuleTerms {
    RuleTerms {
        path: Some(path.to_owned()),
        ..terms("write", decision, AnswerReach::Always)
    }
}

fn on_host(host: &str, decision: RuleDecision, tool: &str) -> RuleTerms {
    RuleTerms {
        host: Some(host.to_owned()),
        ..terms(tool, decision, AnswerReach::Always)
    }
}

fn writing(path: &str) -> Asked {
    Asked::new(write(), json!({ "path": path }))
}

#[test]
fn a_tool_is_meant_by_its_name_an_alias_or_a_beginning() {
    for (name, expected) in [
        ("write", RuleMatch::Yes),
        ("old.write", RuleMatch::Yes),
        ("wr*", RuleMatch::Yes),
        ("*", RuleMatch::Yes),
        ("Write", RuleMatch::No),
        ("writ", RuleMatch::No),
        ("write_all", RuleMatch::No),
    ] {
        let fits = fit(terms(name, Allow, AnswerReach::Always), &writing("a"));
        assert_eq!(fits, expected, "{name}");
    }
}

#[test]
fn a_command_is_covered_by_words_and_a_denial_by_any_part() {
    let call = |command: &str| Asked::new(exec(), json!({ "command": command }));
    let allow = |pattern| with("command", pattern, Allow, "exec");
    assert_eq!(
        fit(allow("git status *"), &call("git status -s")),
        RuleMatch::Yes
    );
    assert_eq!(
        fit(allow("git status *"), &call("git status; rm -rf /")),
        RuleMatch::No
    );
    assert_eq!(fit(allow("*"), &call("a | b")), RuleMatch::No);
    assert_eq!(fit(allow("a | b"), &call("a | b")), RuleMatch::Yes);
    let deny = with("command", "*rm *", Deny, "exec");
    assert_eq!(fit(deny, &call("true; rm -rf /")), RuleMatch::Yes);
    // A look-alike is another command.
    assert_eq!(
        fit(allow("git status"), &call("g\u{456}t status")),
        RuleMatch::No
    );
    assert_eq!(
        fit(allow("git status"), &Asked::new(exec(), json!({}))),
        RuleMatch::No
    );
}

#[test]
fn every_path_lies_in_an_allowed_folder_and_any_in_a_denied_one() {
    for (path, allowed, denied) in [
        ("docs/a", RuleMatch::Yes, RuleMatch::Yes),
        ("./docs//a", RuleMatch::Yes, RuleMatch::Yes),
        ("/w/app/docs/a", RuleMatch::Yes, RuleMatch::Yes),
        ("docs", RuleMatch::Yes, RuleMatch::Yes),
        ("docs/../docs/a", RuleMatch::No, RuleMatch::Yes),
        ("src/../docs/a", RuleMatch::No, RuleMatch::Yes),
        ("docs/../src/a", RuleMatch::No, RuleMatch::No),
        ("docsx/a", RuleMatch::No, RuleMatch::No),
        ("src/a", RuleMatch::No, RuleMatch::No),
        // What works on the folder above may work on it.
        (".", RuleMatch::No, RuleMatch::Maybe),
        ("/", RuleMatch::No, RuleMatch::Maybe),
    ] {
        let asked = writing(path);
        assert_eq!(
            fit(in_path("/w/app/docs", Allow), &asked),
            allowed,
            "{path}"
        );
        assert_eq!(fit(in_path("/w/app/docs", Deny), &asked), denied, "{path}");
        assert_eq!(fit(in_path("/w/app/docs", Ask), &asked), denied, "{path}");
    }
    let unclear = Asked::new(write(), json!({ "path": 7 }));
    assert_eq!(fit(in_path("/w", Allow), &unclear), RuleMatch::No);
    assert_eq!(fit(in_path("/w", Deny), &unclear), RuleMatch::Maybe);
    let mut two = writing("docs/a");
    two.tool.needs.push(hob_wire::work::ResourceNeed {
        kind: NeedKind::Path,
        arg: "to".to_owned(),
    });
    two.args = json!({ "path": "docs/a", "to": "src/a" });
    assert_eq!(fit(in_path("/w/app/docs", Allow), &two), RuleMatch::No);
    assert_eq!(fit(in_path("/w/app/docs", Deny), &two), RuleMatch::Yes);
    // A rule about a folder says nothing of a tool that names none.
    let mut none = writing("docs/a");
    none.tool.needs.clear();
    assert_eq!(fit(in_path("/w", Allow), &none), RuleMatch::No);
}

#[test]
fn a_pattern_of_a_path_is_not_left_by_going_up() {
    let allow = |pattern| with("path", pattern, Allow, "write");
    assert_eq!(fit(allow("docs/*"), &writing("docs/a")), RuleMatch::Yes);
    assert_eq!(
        fit(allow("docs/*"), &writing("/w/app/docs/a")),
        RuleMatch::Yes
    );
    assert_eq!(
        fit(allow("docs/*"), &writing("docs/../src/a")),
        RuleMatch::No
    );
    assert_eq!(
        fit(allow("docs/../a"), &writing("docs/../a")),
        RuleMatch::Yes
    );
    assert_eq!(fit(allow("a"), &writing("docs/../a")), RuleMatch::No);
    let deny = with("path", "secret/*", Deny, "write");
    for path in [
        "secret/a",
        "./secret/a",
        "x/../secret/a",
        "/w/app/secret//a",
    ] {
        assert_eq!(fit(deny.clone(), &writing(path)), RuleMatch::Yes, "{path}");
    }
}

#[test]
fn hosts_and_the_network() {
    let fetching = |url: &str| Asked::new(fetch(), json!({ "url": url }));
    let good = fetching("https://example.org/a");
    let bad = fetching("https://example.org@evil.test/");
    assert_eq!(
        fit(on_host("example.org", Allow, "web_fetch"), &good),
        RuleMatch::Yes
    );
    assert_eq!(
        fit(on_host("example.org", Allow, "web_fetch"), &bad),
        RuleMatch::No
    );
    assert_eq!(
        fit(on_host("evil.test", Deny, "web_fetch"), &bad),
        RuleMatch::Maybe
    );
    assert_eq!(
        fit(on_host("evil.test", Deny, "web_fetch"), &good),
        RuleMatch::No
    );

    let open = json!({ "command": "curl x", "network": true });
    let open = Asked::new(exec(), open);
    let exact = with("command", "curl x", Allow, "exec");
    assert_eq!(
        fit(exact.clone(), &open),
        RuleMatch::No,
        "it does not say network"
    );
    for (host, allowed, denied) in [
        ("*", RuleMatch::Yes, RuleMatch::Yes),
        ("example.org", RuleMatch::No, RuleMatch::Maybe),
    ] {
        let allow = RuleTerms {
            host: Some(host.to_owned()),
            ..exact.clone()
        };
        assert_eq!(fit(allow, &open), allowed, "{host}");
        assert_eq!(fit(on_host(host, Deny, "exec"), &open), denied, "{host}");
    }
    let closed = Asked::new(exec(), json!({ "command": "curl x", "network": false }));
    assert_eq!(fit(exact, &closed), RuleMatch::Yes);
    assert_eq!(fit(on_host("*", Allow, "exec"), &closed), RuleMatch::No);
}

/// A call of `exec` with the network, and `hosts` if any are named.
fn online(network: &serde_json::Value, hosts: &[&str]) -> Asked {
    let mut args = json!({ "command": "cargo fetch", "network": network });
    if !hosts.is_empty() {
        args["hosts"] = json!(hosts);
    }
    Asked::new(exec(), args)
}

#[test]
fn a_network_that_is_limited_to_hosts() {
    use RuleMatch::{Maybe, No, Yes};
    let limited = |hosts: &[&str]| online(&json!(true), hosts);
    for (rule, hosts, allowed, denied) in [
        ("crates.io", &["crates.io"][..], Yes, Yes),
        ("crates.io", &["crates.io", "evil.test"], No, Yes),
        ("crates.io", &["a.crates.io"], No, No),
        ("*.crates.io", &["a.crates.io"], Yes, Yes),
        ("*.crates.io", &["*.crates.io"], Yes, Yes),
        ("*.crates.io", &["*.a.crates.io"], Yes, Yes),
        ("*.a.crates.io", &["*.crates.io"], No, Maybe),
        ("a.crates.io", &["*.crates.io"], No, Maybe),
        ("b.test", &["*.crates.io"], No, No),
        ("evilcrates.io", &["*.crates.io"], No, No),
        ("crates.io:443", &["crates.io:443"], Yes, Yes),
        ("crates.io:443", &["crates.io"], No, Maybe),
        ("crates.io:22", &["crates.io:443"], No, No),
        ("crates.io", &["*"], No, Maybe),
        ("crates.io", &["crates.io", "*"], No, Maybe),
        ("crates.io", &["crates.io/x"], No, Maybe),
        ("crates.io", &[], No, Maybe),
        ("*", &["crates.io"], Yes, Yes),
        ("*", &[], Yes, Yes),
    ] {
        let call = limited(hosts);
        assert_eq!(
            fit(on_host(rule, Allow, "exec"), &call),
            allowed,
            "allow {rule}: {hosts:?}"
        );
        assert_eq!(
            fit(on_host(rule, Deny, "exec"), &call),
            denied,
            "deny {rule}: {hosts:?}"
        );
    }
    let quiet = with("command", "cargo fetch", Allow, "exec");
    assert_eq!(fit(quiet, &limited(&["crates.io"])), No);
}

#[test]
fn the_machines_own_network_needs_a_rule_that_says_so() {
    let host = online(&json!("host"), &[]);
    let proxied = online(&json!(true), &[]);
    for (network, any_host, covers) in [
        (None, false, false),
        (None, true, false),
        (Some("true"), true, false),
        (Some("*"), true, false),
        (Some("host*"), true, false),
        (Some("host"), false, true),
        (Some("host"), true, true),
    ] {
        let mut terms = with("command", "cargo fetch", Allow, "exec");
        if let Some(network) = network {
            terms
                .matches
                .insert("network".to_owned(), network.to_owned());
        }
        terms.host = any_host.then(|| "*".to_owned());
        let wanted = if covers {
            RuleMatch::Yes
        } else {
            RuleMatch::No
        };
        assert_eq!(fit(terms.clone(), &host), wanted, "{network:?} {any_host}");
        if network == Some("host") {
            assert_eq!(fit(terms, &proxied), RuleMatch::No);
        }
    }
    let mut named = with("network", "host", Allow, "exec");
    named.host = Some("crates.io".to_owned());
    let limited = online(&json!("host"), &["crates.io"]);
    assert_eq!(fit(named, &limited), RuleMatch::No, "hosts do not limit it");
    // What was stored with `network=true` goes on covering the proxy.
    let mut stored = with("network", "true", Allow, "exec");
    stored.host = Some("*".to_owned());
    assert_eq!(fit(stored, &proxied), RuleMatch::Yes);
    for rule in ["*", "crates.io"] {
        let denied = fit(on_host(rule, Deny, "exec"), &host);
        assert!(denied >= RuleMatch::Maybe, "{rule}: {denied:?}");
    }
}

#[test]
fn a_rule_is_for_its_run_session_folder_kind_and_channel() {
    let asked = writing("a");
    for scope in [
        AnswerReach::Run,
        AnswerReach::Session,
        AnswerReach::Folder,
        AnswerReach::Always,
    ] {
        assert_eq!(
            fit(terms("write", Allow, scope), &asked),
            RuleMatch::Yes,
            "{scope:?}"
        );
    }
    let mut other = asked.clone();
    other.context.run_id = Some(run(2));
    assert_eq!(
        fit(terms("write", Allow, AnswerReach::Run), &other),
        RuleMatch::No
    );
    let mut elsewhere = asked.clone();
    elsewhere.context.workspace = Some("/wx".to_owned());
    assert_eq!(
        fit(terms("write", Allow, AnswerReach::Folder), &elsewhere),
        RuleMatch::No
    );
    let mut outside = asked.clone();
    outside.args = json!({ "path": "/etc/passwd" });
    assert_eq!(
        fit(terms("write", Allow, AnswerReach::Folder), &outside),
        RuleMatch::No
    );
    assert_eq!(
        fit(terms("write", Deny, AnswerReach::Folder), &outside),
        RuleMatch::Yes
    );
    let reading = CompiledRule::compile(
        rule("r", terms("write", Allow, AnswerReach::Session)),
        Some("other"),
    );
    let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
    let reading = reading.expect("is a rule");
    assert_eq!(
        reading.match_call(&facts, &asked.decision_context),
        RuleMatch::No
    );

    let mut of_cron = terms("write", Allow, AnswerReach::Always);
    of_cron.kind = Some("cron".to_owned());
    assert_eq!(fit(of_cron.clone(), &asked), RuleMatch::No);
    let mut cron = asked.clone();
    cron.decision_context.kind = Some("cron");
    assert_eq!(fit(of_cron, &cron), RuleMatch::Yes);
    let mut of_channel = terms("write", Allow, AnswerReach::Always);
    of_channel.channel = Some("telegram".to_owned());
    assert_eq!(fit(of_channel, &asked), RuleMatch::No);
}

#[test]
fn a_rule_for_some_sessions_is_for_no_others() {
    let mut asked = writing("a");
    asked.context.session_key = Some("loop:build:12".to_owned());
    let for_sessions = |keys: &str| {
        let mut terms = terms("write", Allow, AnswerReach::Always);
        terms.sessions = Some(keys.to_owned());
        terms
    };
    for (keys, expected) in [
        ("loop:build:*", RuleMatch::Yes),
        ("loop:build:12", RuleMatch::Yes),
        ("loop:build:1", RuleMatch::No),
        ("loop:buil:*", RuleMatch::No),
    ] {
        assert_eq!(fit(for_sessions(keys), &asked), expected, "{keys}");
    }
    asked.context.session_key = None;
    assert_eq!(fit(for_sessions("loop:build:*"), &asked), RuleMatch::No);
    for keys in ["", "*", "loop:*:1", "l**"] {
        assert!(check_terms(&for_sessions(keys)).is_err(), "{keys}");
    }
}

#[test]
fn an_expired_rule_covers_nothing() {
    let mut old = rule("r", terms("write", Deny, AnswerReach::Always));
    let asked = writing("a");
    let facts = CallFacts::from_call(&asked.tool, &asked.args, &asked.context);
    for (until, expected) in [(1_000, RuleMatch::No), (1_001, RuleMatch::Yes)] {
        old.expires_at = Some(until);
        let reading = CompiledRule::compile(old.clone(), None).expect("is a rule");
        assert_eq!(
            reading.match_call(&facts, &asked.decision_context),
            expected
        );
    }
}

#[test]
fn a_rule_that_covers_less_than_before_is_marked() {
    let note = |pattern: &str| rule_note(&with("command", pattern, Allow, "exec"));
    let uptime = note("uptime*").expect("is marked");
    assert!(uptime.starts_with("Covers less than before"), "{uptime}");
    assert!(uptime.contains("Use 'uptime' and 'uptime *'."), "{uptime}");
    for pattern in ["*", "* *", "./x*", "ls; *", "a | b*", "up*me -p"] {
        let said = note(pattern).expect("is marked");
        assert!(said.starts_with("Covers less"), "{pattern}: {said}");
        assert!(!said.contains("Use "), "{pattern}: {said}");
    }
    for pattern in ["A=1 make *", "A=*", ">f *"] {
        let said = note(pattern).expect("is marked");
        assert!(said.starts_with("Covers nothing"), "{pattern}: {said}");
    }
    for pattern in [
        "uptime",
        "uptime *",
        "./build.sh *",
        "A=1 make",
        r"ls \*.rs",
        "git log *",
    ] {
        assert_eq!(note(pattern), None, "{pattern}");
    }
    // A denial covers more than before, and other arguments are as they were.
    assert_eq!(rule_note(&with("command", "rm*", Deny, "exec")), None);
    assert_eq!(rule_note(&with("path", "a*", Allow, "write")), None);
}

#[test]
fn terms_that_mean_nothing_are_refused() {
    let good = terms("write", Allow, AnswerReach::Always);
    assert_eq!(check_terms(&good), Ok(()));
    let wrong: [fn(&mut RuleTerms); 11] = [
        |it| it.tool = String::new(),
        |it| it.tool = "a*b".to_owned(),
        |it| it.tool = "a b".to_owned(),
        |it| it.scope = AnswerReach::Once,
        |it| it.scope = AnswerReach::Run,
        |it| it.scope = AnswerReach::Session,
        |it| it.scope = AnswerReach::Folder,
        |it| it.path = Some("relative".to_owned()),
        |it| it.path = Some("/a/../b".to_owned()),
        |it| it.host = Some("https://a".to_owned()),
        |it| it.expires_ms = Some(0),
    ];
    for (number, spoil) in wrong.iter().enumerate() {
        let mut terms = good.clone();
        spoil(&mut terms);
        assert!(check_terms(&terms).is_err(), "{number}: {terms:?}");
        assert!(
            CompiledRule::compile(rule("r", terms), None).is_none(),
            "{number}"
        );
    }
    let mut starry = good;
    let stars = "*a".repeat(STARS_MAX + 1);
    starry.matches.extend([("path".to_owned(), stars)]);
    assert!(check_terms(&starry).is_err());
}
