//! Runs that are simply answered.

use super::house::{folder, house, saying, task, waiting};
use hob_wire::rooms::agent::{RunEndCause, RunState};

#[tokio::test]
async fn a_task_is_answered_and_told_once() {
    let (folder, sim) = (folder(), saying("Four, as ever."));
    let house = house(folder.path(), &sim);
    let reply = house.run(waiting("chat:main", "Two and two?")).await;
    assert_eq!(reply.state, RunState::Done);
    assert_eq!(reply.response.as_deref(), Some("Four, as ever."));
    assert_eq!(reply.success, Some(true));
    assert_eq!(reply.cause, Some(RunEndCause::Answered));
    assert_eq!(reply.model.as_deref(), Some("sim/small"));
    assert_eq!(reply.session_key, "chat:main");
    house.hears("run.completed", 1).await;
    assert_eq!(
        house.topics(),
        ["run.queued", "run.started", "run.step", "run.completed"]
    );
    let completed = &house.heard("run.completed")[0];
    assert_eq!(completed["response"], "Four, as ever.");
    assert_eq!(completed["sessionKey"], "chat:main");
    assert_eq!(completed["cause"], "answered");
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn without_waiting_the_answer_says_that_it_is_accepted() {
    let (folder, sim) = (folder(), saying("Yes."));
    let house = house(folder.path(), &sim);
    let reply = house.run(task("chat:main", "Well?")).await;
    assert_eq!(reply.state, RunState::Queued);
    assert_eq!(reply.response, None);
    house.hears("run.completed", 1).await;
    let view = house.status(&reply).await;
    assert_eq!(view.state, RunState::Done);
    assert_eq!(view.text, "Yes.");
    assert!(!view.running);
    house.close().await;
}
