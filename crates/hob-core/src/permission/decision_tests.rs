//! Allowed, denied and asked calls, as tables.

use super::*;
use crate::permission::fixture_tests::{Asked, rule, write};
use crate::permission::{offer, offers};
use hob_wire::work::{AnswerReach, ResourceNeed};
use serde_json::json;

fn tool(tier: Tier, effect: Idempotency, needs: &[NeedKind]) -> ToolSpec {
    ToolSpec {
        name: "look".to_owned(),
        aliases: Vec::new(),
        description: "Looks.".to_owned(),
        parameters: json!({ "type": "object" }),
        tier,
        effect,
        needs: needs
            .iter()
            .map(|kind| ResourceNeed {
                kind: *kind,
                arg: "path".to_owned(),
            })
            .collect(),
        approval: "Look at {path}".to_owned(),
        timeout_ms: None,
    }
}

fn verdict(tool: &ToolSpec, path: &Value, ceiling: Option<Tier>) -> RuleVerdict {
    verdict_in(PermissionMode::Ask, true, tool, path, ceiling)
}

fn verdict_in(
    mode: PermissionMode,
    is_builtin: bool,
    tool: &ToolSpec,
    path: &Value,
    ceiling: Option<Tier>,
) -> RuleVerdict {
    let context = ToolContext {
        workspace: Some("/home/me/work".to_owned()),
        session_key: Some("chat:own".to_owned()),
        ..ToolContext::default()
    };
    let call = PermissionRequest {
        tool,
        args: &json!({ "path": path }),
        context: &context,
        ceiling,
        decision_context: DecisionContext {
            is_builtin,
            mode,
            ..DecisionContext::default()
        },
    };
    decide(&call, &RuleIndex::new())
}

fn allowed() -> RuleVerdict {
    RuleVerdict::Allow {
        rule: RULE_READ.to_owned(),
    }
}

fn asked() -> RuleVerdict {
    RuleVerdict::Ask {
        rule: "mode:ask".to_owned(),
    }
}

#[test]
fn a_look_inside_the_workspace_is_allowed() {
    let look = tool(Tier::Read, Idempotency::Pure, &[NeedKind::Path]);
    for path in [
        json!("a.txt"),
        json!("a/../b.txt"),
        json!("./a//b"),
        json!("/home/me/work"),
        json!("/home/me/work/a"),
        json!("/home//me/./work/a/../b"),
        json!("..a"),
        json!(null),
    ] {
        assert_eq!(verdict(&look, &path, None), allowed(), "{path}");
    }
}

#[test]
fn a_look_elsewhere_asks() {
    let look = tool(Tier::Read, Idempotency::Pure, &[NeedKind::Path]);
    for path in [
        json!(".."),
        json!("a/../../b"),
        json!("/etc/passwd"),
        json!("/home/me/workshop/a"),
        json!("/home/me/work/../secret"),
        json!("/"),
        json!(7),
        json!([["a"]]),
        json!(["a", "/etc/passwd"]),
    ] {
        assert_eq!(verdict(&look, &path, None), asked(), "{path}");
    }
    let bare = PermissionRequest {
        tool: &look,
        args: &json!({ "path": "a" }),
        context: &ToolContext::default(),
        ceiling: None,
        decision_context: DecisionContext::default(),
    };
    let bare = decide(&bare, &RuleIndex::new());
    assert_eq!(bare, asked(), "without a workspace nothing is inside it");
}

#[test]
fn all_that_is_not_a_plain_look_asks() {
    for tier in [Tier::Read, Tier::Write, Tier::Exec, Tier::External] {
        for effect in [
            Idempotency::Pure,
            Idempotency::Keyed,
            Idempotency::Probeable,
            Idempotency::Opaque,
        ] {
            let expected = match (tier, effect) {
                (Tier::Read, Idempotency::Pure) => allowed(),
                _ => asked(),
            };
            let tool = tool(tier, effect, &[]);
            assert_eq!(
                verdict(&tool, &json!("a"), None),
                expected,
                "{tier:?} {effect:?}"
            );
        }
    }
    for need in [NeedKind::Host, NeedKind::Command] {
        let tool = tool(Tier::Read, Idempotency::Pure, &[need]);
        assert_eq!(verdict(&tool, &json!("a"), None), asked(), "{need:?}");
    }
}

#[test]
fn beyond_the_ceiling_nobody_is_asked() {
    let tiers = [Tier::Read, Tier::Write, Tier::Exec, Tier::External];
    for ceiling in tiers {
        for tier in tiers {
            let tool = tool(tier, Idempotency::Opaque, &[]);
            let denied = matches!(
                verdict(&tool, &json!("a"), Some(ceiling)),
                RuleVerdict::Deny { rule, .. } if rule == RULE_CEILING
            );
            assert_eq!(denied, tier > ceiling, "{tier:?} under {ceiling:?}");
        }
    }
}

#[test]
fn modes_decide_what_no_rule_covers() {
    let write = tool(Tier::Write, Idempotency::Probeable, &[NeedKind::Path]);
    let mut exec = tool(Tier::Exec, Idempotency::Opaque, &[NeedKind::Path]);
    exec.needs.push(ResourceNeed {
        kind: NeedKind::Command,
        arg: "command".to_owned(),
    });
    let fetch = tool(Tier::External, Idempotency::Pure, &[NeedKind::Host]);
    let bare = tool(Tier::Write, Idempotency::Opaque, &[]);
    // Of read-only, ask, workspace, full; inside the workspace and outside it.
    for (tool, path, expected) in [
        (&write, "a", ["deny", "ask", "allow", "allow"]),
        (&write, "/etc/a", ["deny", "ask", "ask", "allow"]),
        (&exec, ".", ["deny", "ask", "allow", "allow"]),
        (&fetch, "example.org", ["deny", "ask", "ask", "allow"]),
        (&bare, "a", ["deny", "ask", "ask", "allow"]),
    ] {
        let modes = [
            PermissionMode::ReadOnly,
            PermissionMode::Ask,
            PermissionMode::Workspace,
            PermissionMode::Full,
        ];
        for (mode, expected) in modes.into_iter().zip(expected) {
            let word = match verdict_in(mode, true, tool, &json!(path), None) {
                RuleVerdict::Allow { .. } => "allow",
                RuleVerdict::Ask { .. } => "ask",
                RuleVerdict::Deny { .. } => "deny",
            };
            assert_eq!(word, expected, "{:?} {path} {mode:?}", tool.tier);
        }
    }
    // A tool from outside is held by nothing of the house's.
    for tool in [&write, &exec] {
        let outside = verdict_in(PermissionMode::Workspace, false, tool, &json!("a"), None);
        assert!(
            matches!(outside, RuleVerdict::Ask { .. }),
            "{:?}",
            tool.tier
        );
    }
    let look = super::super::fixture_tests::tool("look", Tier::Read, &[]);
    let pure = ToolSpec {
        effect: Idempotency::Pure,
        ..look
    };
    let modes = [
        PermissionMode::ReadOnly,
        PermissionMode::Ask,
        PermissionMode::Workspace,
        PermissionMode::Full,
    ];
    for mode in modes {
        let seen = verdict_in(mode, true, &pure, &json!("a"), None);
        assert_eq!(seen, allowed(), "{mode:?}");
    }
    let over = verdict_in(
        PermissionMode::Full,
        true,
        &write,
        &json!("a"),
        Some(Tier::Read),
    );
    assert!(
        matches!(over, RuleVerdict::Deny { .. }),
        "a ceiling holds in every mode"
    );
}

#[test]
fn an_open_network_lifts_a_call() {
    let exec = super::super::fixture_tests::exec();
    for (network, tier) in [
        (json!(true), Tier::External),
        (json!("yes"), Tier::External),
        (json!(false), Tier::Exec),
        (json!(null), Tier::Exec),
    ] {
        let args = json!({ "command": "x", "network": network });
        let asked = super::super::fixture_tests::Asked::new(exec.clone(), args);
        assert_eq!(call_tier(&asked.call()), tier, "{network}");
        let mut under = asked.clone();
        under.ceiling = Some(Tier::Exec);
        let verdict = decide(&under.call(), &RuleIndex::new());
        let denied = matches!(verdict, RuleVerdict::Deny { .. });
        assert_eq!(denied, tier == Tier::External, "{network}");
    }
}

#[test]
fn the_least_ceiling_counts() {
    let ceilings = TierCeilings {
        kinds: [("cron".to_owned(), Tier::Write)].into(),
        channels: [("telegram".to_owned(), Tier::Exec)].into(),
    };
    let of = |run, kind, channel| ceilings.lowest(run, kind, channel);
    assert_eq!(of(None, None, None), None);
    assert_eq!(of(Some(Tier::Exec), Some("main"), None), Some(Tier::Exec));
    assert_eq!(of(Some(Tier::Exec), Some("cron"), None), Some(Tier::Write));
    assert_eq!(of(None, None, Some("telegram")), Some(Tier::Exec));
    assert_eq!(of(None, None, Some("unknown")), Some(Tier::Read));
    assert_eq!(
        of(Some(Tier::Read), Some("cron"), Some("telegram")),
        Some(Tier::Read)
    );
    for kind in ["cron", "loop", "webhook"] {
        assert!(is_unattended(Some(kind), None));
    }
    assert!(is_unattended(Some("main"), Some("telegram")));
    assert!(!is_unattended(Some("main"), None) && !is_unattended(None, None));
}

#[test]
fn another_session_is_asked_for_and_the_own_is_not() {
    let look = tool(Tier::Read, Idempotency::Pure, &[NeedKind::Session]);
    for own in [json!("chat:own"), json!(null)] {
        let allowed = matches!(verdict(&look, &own, None), RuleVerdict::Allow { .. });
        assert!(allowed, "{own}");
    }
    for other in [
        json!("chat:other"),
        json!("CHAT:OWN"),
        json!(""),
        json!(1),
        json!(["chat:own"]),
    ] {
        let asks = matches!(verdict(&look, &other, None), RuleVerdict::Ask { .. });
        assert!(asks, "{other}");
    }
    let both = tool(
        Tier::Read,
        Idempotency::Pure,
        &[NeedKind::Path, NeedKind::Session],
    );
    let asks = matches!(
        verdict(&both, &json!("a.txt"), None),
        RuleVerdict::Ask { .. }
    );
    assert!(asks);
}

#[test]
fn what_the_house_knows_of_itself_is_asked_for() {
    let look = tool(Tier::Read, Idempotency::Pure, &[NeedKind::House]);
    for words in [json!(null), json!("any")] {
        let asks = matches!(verdict(&look, &words, None), RuleVerdict::Ask { .. });
        assert!(asks, "{words}");
    }
}

#[test]
fn what_is_asked_for_each_time_is_allowed_by_no_mode_and_no_rule() {
    let mut asked = Asked::new(write(), json!({ "path": "a.txt" }));
    let mut index = RuleIndex::new();
    for (id, scope) in [("1", AnswerReach::Always), ("2", AnswerReach::Folder)] {
        let terms = offer(&asked.call(), scope, RuleDecision::Allow).expect("covers it");
        index.add(rule(id, terms), None);
    }
    let is_allowed = |asked: &Asked, index: &RuleIndex| {
        matches!(decide(&asked.call(), index), RuleVerdict::Allow { .. })
    };
    assert!(is_allowed(&asked, &index), "control: a rule allows it");
    for mode in [PermissionMode::Full, PermissionMode::Workspace] {
        asked.decision_context.mode = mode;
        assert!(is_allowed(&asked, &RuleIndex::new()), "control: {mode:?}");
    }
    asked.decision_context.asks_always = true;
    for mode in [
        PermissionMode::Full,
        PermissionMode::Workspace,
        PermissionMode::Ask,
    ] {
        asked.decision_context.mode = mode;
        for index in [&index, &RuleIndex::new()] {
            let verdict = decide(&asked.call(), index);
            assert!(
                matches!(verdict, RuleVerdict::Ask { .. }),
                "{mode:?}: {verdict:?}"
            );
        }
    }
    assert!(offers(&asked.call()).is_empty(), "no rule is offered");
    asked.decision_context.mode = PermissionMode::ReadOnly;
    let verdict = decide(&asked.call(), &RuleIndex::new());
    assert!(matches!(verdict, RuleVerdict::Deny { .. }), "{verdict:?}");
}
