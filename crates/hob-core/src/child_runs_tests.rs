//! Identity, tools, ceilings and budgets of child runs, as tables.

use super::*;

fn parent() -> RunId {
    "0190163d-8694-739b-aea5-966c26f8ad01"
        .parse()
        .expect("an id")
}

fn names(tools: &[&str]) -> Vec<String> {
    tools.iter().map(|&tool| tool.to_owned()).collect()
}

#[test]
fn a_call_always_names_the_same_child_and_another_call_another() {
    let one = identity(parent(), "chat:main", "run:c1");
    assert_eq!(one, identity(parent(), "chat:main", "run:c1"));
    let other = identity(parent(), "chat:main", "run:c2");
    assert_ne!(one.session_key, other.session_key);
    assert_ne!(one.run, other.run);
    assert!(one.session_key.starts_with("chat:main:subagent:"));
    assert_eq!(one.session_key.len(), "chat:main:subagent:".len() + 12);
    assert!(one.run.to_string().starts_with("0190163d-8694-7"));
    assert_eq!(depth("chat:main"), 0);
    assert_eq!(depth(&one.session_key), 1);
    assert_eq!(
        depth(&identity(parent(), &one.session_key, "x").session_key),
        2
    );
}

#[test]
fn tools_are_those_of_the_parent_and_never_those_of_sessions() {
    let tools = |parent, asked| tools(parent, asked, |tool| tool.starts_with("sessions_"));
    let has = names(&["read", "write", "sessions_list"]);
    assert_eq!(tools(None, None), None);
    assert_eq!(tools(Some(&has), None), Some(names(&["read", "write"])));
    let asked = names(&["write", "exec", "sessions_list"]);
    assert_eq!(tools(Some(&has), Some(asked)), Some(names(&["write"])));
    let asked = names(&["exec", "sessions_spawn"]);
    assert_eq!(tools(None, Some(asked)), Some(names(&["exec"])));
    assert_eq!(tools(Some(&[]), Some(names(&["read"]))), Some(Vec::new()));
}

#[test]
fn the_lower_ceiling_holds() {
    assert_eq!(ceiling(None, None), None);
    assert_eq!(ceiling(Some(Tier::Read), None), Some(Tier::Read));
    assert_eq!(
        ceiling(Some(Tier::Write), Some(Tier::External)),
        Some(Tier::Write)
    );
    assert_eq!(
        ceiling(Some(Tier::Exec), Some(Tier::Read)),
        Some(Tier::Read)
    );
}

#[test]
fn a_budget_is_never_more_than_what_is_left() {
    let has = RunLimits {
        steps: 10,
        tokens: 1_000,
        micro_dollars: 500,
        wall_ms: 60_000,
        ..RunLimits::DEFAULT
    };
    let spent = RunUsage {
        steps: 3,
        tokens: 400,
        micro_dollars: 100,
        error_streak: 2,
    };
    let all = limits(&has, &spent, 10_000, &Budget::default()).expect("something is left");
    assert_eq!((all.steps, all.tokens), (7, 600));
    assert_eq!((all.micro_dollars, all.wall_ms), (400, 50_000));
    let asked = Budget {
        steps: Some(2),
        tokens: Some(u64::MAX),
        micro_dollars: Some(50),
        wall_ms: Some(u64::MAX),
    };
    let some = limits(&has, &spent, 10_000, &asked).expect("something is left");
    assert_eq!((some.steps, some.tokens), (2, 600));
    assert_eq!((some.micro_dollars, some.wall_ms), (50, 50_000));
    let spent = RunUsage {
        micro_dollars: 501,
        ..spent
    };
    assert_eq!(
        limits(&has, &spent, 0, &Budget::default()).expect_err("nothing is left"),
        "money"
    );
    assert_eq!(
        limits(&has, &RunUsage::default(), 60_000, &Budget::default()),
        Err("time")
    );
}

#[test]
fn a_child_s_session_lies_below_its_parent_s() {
    for (below, above, expected) in [
        ("chat:main:subagent:aa", "chat:main", true),
        ("chat:main:subagent:aa:subagent:bb", "chat:main", true),
        ("chat:main", "chat:main", false),
        ("chat:mainly:subagent:aa", "chat:main", false),
        ("chat:main:other", "chat:main", false),
    ] {
        assert_eq!(is_descendant(below, above), expected, "{below} {above}");
    }
}
