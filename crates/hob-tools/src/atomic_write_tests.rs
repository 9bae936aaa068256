//! Somebody else's change between reading and writing is never lost.

use super::{move_entry, remove, replace_file};
use crate::trial::TestWorkspace;
use crate::workspace_path::{FsNode, WorkspacePath};

fn resolve(trial: &TestWorkspace, path: &str) -> WorkspacePath {
    WorkspacePath::resolve(trial.path("").to_str(), path, &trial.env).unwrap()
}

#[test]
fn what_came_between_stays() {
    let trial = TestWorkspace::new();
    trial.put("a", "one");
    let place = resolve(&trial, "a");
    let seen = place.read_node().unwrap();
    trial.put("a", "somebody else's");
    assert!(replace_file(&place, &seen, b"ours", 0o644).is_err());
    assert!(remove(&place, &seen).is_err());
    assert!(replace_file(&place, &FsNode::Nothing, b"ours", 0o644).is_err());
    assert!(move_entry(&resolve(&trial, "missing"), &resolve(&trial, "b")).is_err());
    assert!(move_entry(&place, &place).is_err());
    assert_eq!(trial.get("a").as_deref(), Some("somebody else's"));
    std::fs::remove_file(trial.path("a")).unwrap();
    assert!(replace_file(&place, &seen, b"ours", 0o644).is_err());
    assert!(remove(&place, &seen).is_err());
    assert_eq!(trial.snapshot("work"), [], "no draft is left");
}
