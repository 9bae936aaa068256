//! A run that changes files: asked for, done, undone.

use super::house::{House, folder, house, results, task, thinking};
use hob_sim::Answer;
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::rooms::permission::{
    self, PermissionAnswerParams, PermissionDecision, PermissionQuestion,
};
use hob_wire::rooms::tool::{ToolUndoParams, ToolUndoResult, Undo};
use hob_wire::{ErrorCode, RunId};
use serde_json::{Value, json};
use std::path::Path;

async fn allow(house: &House, question: &PermissionQuestion) {
    let answer = PermissionAnswerParams {
        id: question.id.clone(),
        decision: PermissionDecision::Allow,
        scope: None,
        digest: Some(question.digest.clone()),
    };
    let answered = house.caller().call::<permission::Answer>(&answer).await;
    answered.expect("counts");
}

fn question(payload: &Value) -> PermissionQuestion {
    serde_json::from_value(payload.clone()).expect("is a question")
}

async fn undo(house: &House, run_id: RunId) -> ToolUndoResult {
    let undone = house
        .caller()
        .call::<Undo>(&ToolUndoParams { run_id })
        .await;
    undone.expect("is undone")
}

fn text(workspace: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(workspace.join(name)).ok()
}

#[tokio::test]
async fn a_run_writes_edits_and_removes_and_all_of_it_is_undone() {
    let (folder, workspace) = (folder(), folder());
    let place = workspace.path();
    std::fs::write(place.join("a.txt"), "one\ntwo\n").expect("writes");
    std::fs::write(place.join("b.bin"), [0xff, 0, 7]).expect("writes");
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("write", json!({ "path": "new/c.txt", "content": "made\n" })),
        1 => {
            let edit = json!({ "path": "a.txt", "oldText": "two", "newText": "2" });
            Answer::asks("edit", edit)
        }
        2 => Answer::asks("remove", json!({ "path": "b.bin" })),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    let run = house.begin(AgentRunParams {
        workspace: Some(place.display().to_string()),
        wait: true,
        ..task("chat:main", "Change things.")
    });
    for (number, shown) in ["+made", "-two\n+2", "remove b.bin (3 bytes)"]
        .iter()
        .enumerate()
    {
        let asked = house.hears("permission.requested", number + 1).await;
        let question = question(&asked[number]);
        let preview = question.preview.clone().expect("is shown");
        assert!(preview.contains(shown), "{shown}: {preview}");
        let live = house
            .caller()
            .call::<Undo>(&ToolUndoParams {
                run_id: question.run_id,
            })
            .await;
        assert_eq!(live.expect_err("has not ended").code, ErrorCode::Conflict);
        allow(&house, &question).await;
    }
    let reply = run.await.expect("ends").expect("is accepted");
    assert_eq!(reply.response.as_deref(), Some("Done."));
    assert_eq!(text(place, "new/c.txt").as_deref(), Some("made\n"));
    assert_eq!(text(place, "a.txt").as_deref(), Some("one\n2\n"));
    assert!(!place.join("b.bin").exists());

    let undone = undo(&house, reply.run_id).await;
    let paths: Vec<&str> = undone.restored.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["b.bin", "a.txt", "new/c.txt", "new"]);
    assert!(undone.kept.is_empty(), "{undone:?}");
    assert_eq!(text(place, "a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(
        std::fs::read(place.join("b.bin")).expect("is back"),
        [0xff, 0, 7]
    );
    assert!(!place.join("new").exists());
    let again = undo(&house, reply.run_id).await;
    assert!(again.restored.is_empty() && again.kept.is_empty());
    assert_eq!(again.notes.len(), 1);
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn what_a_person_changed_after_the_run_is_left_and_said() {
    let (folder, workspace) = (folder(), folder());
    let place = workspace.path();
    std::fs::write(place.join("a.txt"), "before").expect("writes");
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("write", json!({ "path": "a.txt", "content": "the run's" })),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    let run = house.begin(AgentRunParams {
        workspace: Some(place.display().to_string()),
        wait: true,
        ..task("chat:main", "Change it.")
    });
    let asked = house.hears("permission.requested", 1).await;
    allow(&house, &question(&asked[0])).await;
    let reply = run.await.expect("ends").expect("is accepted");
    std::fs::write(place.join("a.txt"), "a person's").expect("writes");
    let undone = undo(&house, reply.run_id).await;
    assert!(undone.restored.is_empty());
    assert!(
        undone.kept[0].what.contains("changed after the run"),
        "{undone:?}"
    );
    assert_eq!(text(place, "a.txt").as_deref(), Some("a person's"));
    house.close().await;
}
