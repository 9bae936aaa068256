//! Somebody else's change between the look and the act is never lost.

use super::{file, moved, nothing};
use crate::spot::{Node, Spot};
use crate::trial::Trial;

fn spot(trial: &Trial, path: &str) -> Spot {
    Spot::find(trial.path("").to_str(), path, &trial.ground).unwrap()
}

#[test]
fn what_came_between_stays() {
    let trial = Trial::new();
    trial.put("a", "one");
    let place = spot(&trial, "a");
    let seen = place.look().unwrap();
    trial.put("a", "somebody else's");
    assert!(file(&place, &seen, b"ours", 0o644).is_err());
    assert!(nothing(&place, &seen).is_err());
    assert!(file(&place, &Node::Nothing, b"ours", 0o644).is_err());
    assert!(moved(&spot(&trial, "missing"), &spot(&trial, "b")).is_err());
    assert!(moved(&place, &place).is_err());
    assert_eq!(trial.get("a").as_deref(), Some("somebody else's"));
    std::fs::remove_file(trial.path("a")).unwrap();
    assert!(file(&place, &seen, b"ours", 0o644).is_err());
    assert!(nothing(&place, &seen).is_err());
    assert_eq!(trial.snapshot("work"), [], "no draft is left");
}
