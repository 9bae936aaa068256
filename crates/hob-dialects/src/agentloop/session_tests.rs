//! Configuration and routing of a session.

use super::AgentLoopRouting;
use crate::agentloop::agent_packs::AgentPacks;
use crate::agentloop::types::{AgentLoopSessionConfigure, RoutingMode};
use serde_json::{Map, json};

fn change() -> AgentLoopSessionConfigure {
    AgentLoopSessionConfigure {
        session_id: "s".to_owned(),
        routing_mode: None,
        agent: None,
        session_prompt: None,
    }
}

#[test]
fn what_is_missing_stays_and_null_takes_away() {
    let (mut routing, packs) = (AgentLoopRouting::default(), AgentPacks::built_in());
    let pinned = AgentLoopSessionConfigure {
        routing_mode: Some(RoutingMode::Pinned),
        agent: Some(Some("code.arch".to_owned())),
        session_prompt: Some(Some("Speak French.".to_owned())),
        ..change()
    };
    routing.apply(pinned, &packs).unwrap();
    routing.apply(change(), &packs).unwrap();
    let (mode, pack, _) = routing.route("what time is it", &packs);
    assert_eq!(
        (mode, pack.name.as_str()),
        (RoutingMode::Pinned, "code.arch")
    );
    assert!(routing.system_prompt(pack).ends_with("\n\nSpeak French."));
    assert_eq!(
        AgentLoopRouting::from_metadata(&routing.metadata_entry()),
        routing
    );

    let without = AgentLoopSessionConfigure {
        agent: Some(None),
        session_prompt: Some(None),
        ..change()
    };
    routing.apply(without, &packs).unwrap();
    let (mode, pack, _) = routing.route("what time is it", &packs);
    assert_eq!((mode, pack.name.as_str()), (RoutingMode::Auto, "tool.use"));
    assert_eq!(routing.system_prompt(pack), pack.prompt);
}

#[test]
fn an_unknown_agent_changes_nothing() {
    let mut routing = AgentLoopRouting::default();
    let unknown = AgentLoopSessionConfigure {
        routing_mode: Some(RoutingMode::Pinned),
        agent: Some(Some("code.wreck".to_owned())),
        ..change()
    };
    let refused = routing.apply(unknown, &AgentPacks::built_in()).unwrap_err();
    assert!(refused.contains("chat.quick"), "{refused}");
    assert_eq!(routing, AgentLoopRouting::default());
}

#[test]
fn strange_metadata_is_no_manner() {
    for entry in [json!(1), json!({ "routingMode": "x" }), json!(null)] {
        let metadata = Map::from_iter([("agentloop".to_owned(), entry)]);
        assert_eq!(
            AgentLoopRouting::from_metadata(&metadata),
            AgentLoopRouting::default()
        );
    }
}
