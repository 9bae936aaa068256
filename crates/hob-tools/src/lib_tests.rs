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
