//! How a session is configured and routed.

use super::Manner;
use hob_wire::agentloop::{RoutingMode, SessionConfigure};
use serde_json::{Map, json};

fn change() -> SessionConfigure {
    SessionConfigure {
        session_id: "s".to_owned(),
        routing_mode: None,
        agent: None,
        session_prompt: None,
    }
}

#[test]
fn what_is_missing_stays_and_null_takes_away() {
    let mut manner = Manner::default();
    let pinned = SessionConfigure {
        routing_mode: Some(RoutingMode::Pinned),
        agent: Some(Some("code.arch".to_owned())),
        session_prompt: Some(Some("Speak French.".to_owned())),
        ..change()
    };
    manner.change(pinned).unwrap();
    manner.change(change()).unwrap();
    let (mode, pack, _) = manner.route("what time is it");
    assert_eq!((mode, pack.name), (RoutingMode::Pinned, "code.arch"));
    assert!(manner.system(pack).ends_with("\n\nSpeak French."));
    assert_eq!(Manner::read(&manner.entry()), manner);

    let without = SessionConfigure {
        agent: Some(None),
        session_prompt: Some(None),
        ..change()
    };
    manner.change(without).unwrap();
    let (mode, pack, _) = manner.route("what time is it");
    assert_eq!((mode, pack.name), (RoutingMode::Auto, "tool.use"));
    assert_eq!(manner.system(pack), pack.prompt);
}

#[test]
fn an_unknown_agent_changes_nothing() {
    let mut manner = Manner::default();
    let unknown = SessionConfigure {
        routing_mode: Some(RoutingMode::Pinned),
        agent: Some(Some("code.wreck".to_owned())),
        ..change()
    };
    let refused = manner.change(unknown).unwrap_err();
    assert!(refused.contains("chat.quick"), "{refused}");
    assert_eq!(manner, Manner::default());
}

#[test]
fn strange_metadata_is_no_manner() {
    for entry in [json!(1), json!({ "routingMode": "x" }), json!(null)] {
        let metadata = Map::from_iter([("agentloop".to_owned(), entry)]);
        assert_eq!(Manner::read(&metadata), Manner::default());
    }
}
