//! Questions wait while a connection shows them to a person, and have their time when none does.

use super::{answering, asked, asking, house_with, ruling};
use crate::fixture::{Fixture, code};
use bytes::Bytes;
use hob_bus::{BusLink, BusOutlet, PeerIdentity};
use hob_wire::rooms::permission::{
    Answer, Attend, Pending, PermissionAttendParams, PermissionDecision, PermissionPendingParams,
    PermissionQuestion,
};
use hob_wire::{ErrorCode, Scope, Scopes};
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than the deadline of these tests.
const BEYOND: Duration = Duration::from_millis(1_500);

/// A connection of a person's terminal.
struct Terminal {
    link: BusLink,
    outlet: BusOutlet,
}

impl Terminal {
    fn connect(house: &Fixture, scope: Scope) -> Terminal {
        let peer = PeerIdentity {
            name: "terminal".to_owned(),
            surface: "unix",
            principal: "owner".to_owned(),
            scopes: Scopes::rank(scope),
        };
        let (link, outlet) = house.bus.connect(peer).expect("connects");
        Terminal { link, outlet }
    }

    async fn attend(&mut self) -> Value {
        let frame =
            json!({ "type": "req", "id": "1", "target": "", "method": "permission.attend" });
        self.link.receive(Bytes::from(frame.to_string())).await;
        let mut frames = Vec::new();
        let closed = self.outlet.next(&mut frames).await;
        assert_eq!(closed, None);
        serde_json::from_slice(&frames[0]).expect("is JSON")
    }
}

async fn pending(house: &Fixture) -> Vec<PermissionQuestion> {
    let (caller, params) = (house.caller(), PermissionPendingParams::default());
    let listed = caller.call::<Pending>(&params).await;
    listed.expect("lists").questions
}

/// Waits until the open questions are as `wanted` says.
async fn until(
    house: &Fixture,
    wanted: impl Fn(&[PermissionQuestion]) -> bool,
) -> Vec<PermissionQuestion> {
    let wait = async {
        loop {
            let questions = pending(house).await;
            if wanted(&questions) {
                return questions;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(30), wait).await;
    found.expect("comes to be so")
}

#[tokio::test]
async fn an_attended_question_has_no_deadline_until_the_last_terminal_leaves() {
    let house = house_with("[permission]\ndeadline = \"1s\"\n");
    let (mut one, mut other) = (
        Terminal::connect(&house, Scope::Admin),
        Terminal::connect(&house, Scope::Admin),
    );
    assert_eq!(one.attend().await["payload"]["connections"], 1);
    // Twice is once.
    assert_eq!(one.attend().await["payload"]["connections"], 1);
    let (task, question) = asked(&house, asking("c1")).await;
    assert!(question.attended, "the event says so, too");
    assert_eq!(other.attend().await["payload"]["connections"], 2);
    drop(one);
    tokio::time::sleep(BEYOND).await;
    assert!(!task.is_finished(), "one terminal is still there");
    assert!(pending(&house).await[0].attended);
    drop(other);
    let left = until(&house, |all| all.iter().all(|it| !it.attended)).await;
    // Its whole time begins when the last one leaves.
    assert!(left[0].deadline_at >= question.asked_at + 1_000 + 1_500);
    let denied = ruling(task).await;
    assert_eq!(
        (denied.decision, denied.by.as_str()),
        (PermissionDecision::Deny, "deadline")
    );
    house.close().await;
}

#[tokio::test]
async fn attending_takes_the_deadline_off_a_question_that_is_open_already() {
    let house = house_with("[permission]\ndeadline = \"1s\"\n");
    let (task, question) = asked(&house, asking("c1")).await;
    assert!(!question.attended);
    let mut terminal = Terminal::connect(&house, Scope::Admin);
    terminal.attend().await;
    tokio::time::sleep(BEYOND).await;
    let yes = answering(&question, PermissionDecision::Allow);
    let answered = house.caller().call::<Answer>(&yes).await;
    answered.expect("counts after the deadline that was");
    assert_eq!(ruling(task).await.decision, PermissionDecision::Allow);
    drop(terminal);
    house.close().await;
}

#[tokio::test]
async fn answering_one_question_takes_no_time_from_another() {
    let house = house_with("[permission]\ndeadline = \"2s\"\n");
    let (first, one) = asked(&house, asking("c1")).await;
    let (second, other) = asked(&house, asking("c2")).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let caller = house.caller();
    let yes = answering(&one, PermissionDecision::Allow);
    caller.call::<Answer>(&yes).await.expect("counts");
    let renewed = pending(&house).await.remove(0);
    assert_eq!(renewed.id, other.id);
    assert!(renewed.deadline_at >= one.asked_at + 1_200 + 2_000);
    // Beyond the deadline that it had at first.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let yes = answering(&other, PermissionDecision::Allow);
    caller.call::<Answer>(&yes).await.expect("counts");
    for task in [first, second] {
        assert_eq!(ruling(task).await.decision, PermissionDecision::Allow);
    }
    house.close().await;
}

#[tokio::test]
async fn only_a_connection_that_stays_and_may_answer_attends() {
    let house = house_with("");
    let once = house
        .caller()
        .call::<Attend>(&PermissionAttendParams {})
        .await;
    assert_eq!(code(once), ErrorCode::InvalidParams);
    let mut reader = Terminal::connect(&house, Scope::Control);
    assert_eq!(reader.attend().await["error"]["code"], "FORBIDDEN");
    let (task, question) = asked(&house, asking("c1")).await;
    assert!(!question.attended);
    let yes = answering(&question, PermissionDecision::Allow);
    house.caller().call::<Answer>(&yes).await.expect("counts");
    ruling(task).await;
    drop(reader);
    house.close().await;
}
