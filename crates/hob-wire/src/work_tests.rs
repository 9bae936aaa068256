//! `name()` returns the names on the wire.

use super::*;
use serde_json::json;

#[test]
fn names_are_the_words_of_the_wire() {
    for tier in [Tier::Read, Tier::Write, Tier::Exec, Tier::External] {
        assert_eq!(json!(tier), tier.name());
    }
    for says in [RuleDecision::Allow, RuleDecision::Deny, RuleDecision::Ask] {
        assert_eq!(json!(says), says.name());
    }
    for mode in [
        PermissionMode::ReadOnly,
        PermissionMode::Ask,
        PermissionMode::Workspace,
        PermissionMode::Full,
    ] {
        assert_eq!(json!(mode), mode.name());
    }
    for reach in [
        AnswerReach::Once,
        AnswerReach::Run,
        AnswerReach::Session,
        AnswerReach::Folder,
        AnswerReach::Always,
    ] {
        assert_eq!(json!(reach), reach.name());
    }
}
