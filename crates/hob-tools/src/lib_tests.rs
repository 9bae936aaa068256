//! What holds for every built-in tool.

use super::*;
use crate::schema::Schema;

#[test]
fn every_tool_declares_itself_soundly() {
    let mut names = Vec::new();
    for entry in entries() {
        let spec = (entry.spec)();
        let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(spec.name.chars().all(plain), "{}", spec.name);
        Schema::of_arguments(&spec.parameters).expect("its schema is sound");
        for need in &spec.needs {
            let declared = &spec.parameters["properties"][&need.arg];
            assert!(declared.is_object(), "{} needs {}", spec.name, need.arg);
        }
        assert!(!spec.description.is_empty() && !spec.approval.is_empty());
        names.push(spec.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names are unique");
}

#[test]
fn tools_of_other_conversations_are_closed_to_children() {
    assert!(traits("sessions_spawn").closed_to_children && !traits("read").closed_to_children);
    for (name, entry) in builtins() {
        let is_other = name.starts_with("sessions_");
        assert_eq!(entry.traits.closed_to_children, is_other, "{name}");
    }
}

#[test]
fn a_tool_of_somebody_else_has_no_special_rights() {
    assert_eq!(traits("sessions_of_a_service"), ToolTraits::NONE);
}
