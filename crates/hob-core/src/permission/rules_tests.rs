//! What is allowed, denied and asked, as tables.

use super::*;
use hob_wire::work::Need;
use serde_json::json;

fn tool(tier: Tier, effect: Effect, needs: &[NeedKind]) -> ToolSpec {
    ToolSpec {
        name: "look".to_owned(),
        aliases: Vec::new(),
        description: "Looks.".to_owned(),
        parameters: json!({ "type": "object" }),
        tier,
        effect,
        needs: needs
            .iter()
            .map(|kind| Need {
                kind: *kind,
                arg: "path".to_owned(),
            })
            .collect(),
        approval: "Look at {path}".to_owned(),
        timeout_ms: None,
    }
}

fn verdict(tool: &ToolSpec, path: &Value, ceiling: Option<Tier>) -> Verdict {
    decide(&Call {
        tool,
        args: &json!({ "path": path }),
        context: &ToolContext {
            workspace: Some("/home/me/work".to_owned()),
            ..ToolContext::default()
        },
        ceiling,
    })
}

const ALLOWED: Verdict = Verdict::Allow { rule: RULE_READ };

#[test]
fn a_look_inside_the_workspace_is_allowed() {
    let look = tool(Tier::Read, Effect::Pure, &[NeedKind::Path]);
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
        assert_eq!(verdict(&look, &path, None), ALLOWED, "{path}");
    }
}

#[test]
fn a_look_elsewhere_asks() {
    let look = tool(Tier::Read, Effect::Pure, &[NeedKind::Path]);
    for path in [
        json!(".."),
        json!("a/../../b"),
        json!("/etc/passwd"),
        json!("/home/me/workshop/a"),
        json!("/home/me/work/../secret"),
        json!("/"),
        json!(7),
        json!(["a"]),
    ] {
        assert_eq!(verdict(&look, &path, None), Verdict::Ask, "{path}");
    }
    let bare = decide(&Call {
        tool: &look,
        args: &json!({ "path": "a" }),
        context: &ToolContext::default(),
        ceiling: None,
    });
    assert_eq!(
        bare,
        Verdict::Ask,
        "without a workspace nothing is inside it"
    );
}

#[test]
fn all_that_is_not_a_plain_look_asks() {
    for tier in [Tier::Read, Tier::Write, Tier::Exec, Tier::External] {
        for effect in [
            Effect::Pure,
            Effect::Keyed,
            Effect::Probeable,
            Effect::Opaque,
        ] {
            let expected = match (tier, effect) {
                (Tier::Read, Effect::Pure) => ALLOWED,
                _ => Verdict::Ask,
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
        let tool = tool(Tier::Read, Effect::Pure, &[need]);
        assert_eq!(verdict(&tool, &json!("a"), None), Verdict::Ask, "{need:?}");
    }
}

#[test]
fn beyond_the_ceiling_nobody_is_asked() {
    let tiers = [Tier::Read, Tier::Write, Tier::Exec, Tier::External];
    for ceiling in tiers {
        for tier in tiers {
            let tool = tool(tier, Effect::Opaque, &[]);
            let denied = matches!(
                verdict(&tool, &json!("a"), Some(ceiling)),
                Verdict::Deny {
                    rule: RULE_CEILING,
                    ..
                }
            );
            assert_eq!(denied, tier > ceiling, "{tier:?} under {ceiling:?}");
        }
    }
}
