//! A walk ends when it is told to.

use super::*;
use crate::trial::Trial;

#[test]
fn a_walk_stops_when_told() {
    let trial = Trial::new();
    for number in 0..100 {
        trial.put(&format!("{number}"), "");
    }
    let stop = Stop::default();
    let workspace = trial.path("");
    let way = Way {
        workspace: workspace.to_str(),
        from: None,
        ground: &trial.ground,
        stop: &stop,
    };
    let mut met = 0;
    let end = walk(way, &mut |_| {
        met += 1;
        if met == 10 {
            drop(StopAtEnd(stop.clone()));
        }
        ControlFlow::Continue(())
    });
    assert_eq!((end, met), (Ok(End::Stopped), 10));
}
