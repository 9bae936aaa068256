//! A walk ends when its stop flag is set.

use super::*;
use crate::trial::TestWorkspace;

#[test]
fn a_walk_stops_when_told() {
    let trial = TestWorkspace::new();
    for number in 0..100 {
        trial.put(&format!("{number}"), "");
    }
    let stop = StopFlag::default();
    let workspace = trial.path("");
    let way = WalkOptions {
        workspace: workspace.to_str(),
        from: None,
        env: &trial.env,
        stop: &stop,
    };
    let mut met = 0;
    let end = walk(way, &mut |_| {
        met += 1;
        if met == 10 {
            drop(StopOnDrop(stop.clone()));
        }
        ControlFlow::Continue(())
    });
    assert_eq!((end, met), (Ok(WalkEnd::Stopped), 10));
}
