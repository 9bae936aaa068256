//! Calls of other systems.

use super::{House, job};
use crate::fixture::code;
use data_encoding::BASE64;
use hob_core::hook;
use hob_wire::ErrorCode;
use hob_wire::rooms::cron::{
    Add, AddJobParams, Deliver, DeliverParams, Secret, SecretParams, SlotState,
};
use std::collections::BTreeMap;

fn call(id: &str, body: &str, header: (&str, &str)) -> DeliverParams {
    DeliverParams {
        id: id.to_owned(),
        body: BASE64.encode(body.as_bytes()),
        headers: BTreeMap::from([(header.0.to_owned(), header.1.to_owned())]),
        query: BTreeMap::new(),
    }
}

fn secret(renew: bool) -> SecretParams {
    SecretParams {
        id: "push".to_owned(),
        renew,
    }
}

#[tokio::test]
async fn a_call_that_proves_itself_becomes_a_run_with_its_payload_as_data() {
    let house = House::new();
    let caller = house.caller();
    let added = AddJobParams {
        task: Some("Look at {{body.title}}.".to_owned()),
        ..job("push", "webhook")
    };
    caller.call::<Add>(&added).await.expect("is added");
    caller
        .call::<Add>(&job("daily", "@daily"))
        .await
        .expect("is added");
    let shown = caller
        .call::<Secret>(&secret(false))
        .await
        .expect("is shown");
    assert_eq!(shown.path, "/hooks/push");
    let bearer = format!("Bearer {}", shown.secret);
    let body = r#"{"title":"a\nb"}"#;
    let slot = caller
        .call::<Deliver>(&call("push", body, ("authorization", &bearer)))
        .await;
    let slot = slot.expect("is taken");
    let key = slot.slot.session_key.expect("a session");
    assert!(key.starts_with("webhook:push:"), "{key}");
    house.slots_when(SlotState::Ran, 1).await;
    let asked = &house.agent.tasks()[0];
    assert_eq!(asked.task, "Look at \"a\\nb\".");
    assert_eq!(
        (asked.kind.as_deref(), &asked.session_key),
        (Some("webhook"), &key)
    );

    let now_s = house.clock.wall_ms() / 1_000;
    let signed = hook::sign(&shown.secret, now_s, b"x");
    let once = call("push", "x", ("x-hob-signature", &signed));
    let first = caller.call::<Deliver>(&once).await.expect("is taken");
    let replayed = caller.call::<Deliver>(&once).await.expect("is taken");
    assert_eq!(first.slot.number, replayed.slot.number);
    assert!(!first.repeated && replayed.repeated);
    house.slots_when(SlotState::Ran, 2).await;

    for wrong in [
        call("push", "x", ("authorization", "Bearer nonsense")),
        call("push", "y", ("x-hob-signature", &signed)),
        call("nobody", "x", ("authorization", &bearer)),
        call("daily", "x", ("authorization", &bearer)),
    ] {
        assert_eq!(
            code(caller.call::<Deliver>(&wrong).await),
            ErrorCode::Unauthorized
        );
    }
    let renewed = caller
        .call::<Secret>(&secret(true))
        .await
        .expect("is renewed");
    assert_ne!(renewed.secret, shown.secret);
    let old = call("push", "x", ("authorization", &bearer));
    assert_eq!(
        code(caller.call::<Deliver>(&old).await),
        ErrorCode::Unauthorized
    );
    let kept = std::fs::read(house.fixture.home.database()).expect("reads");
    let is_in = |word: &str| kept.windows(word.len()).any(|part| part == word.as_bytes());
    assert!(!is_in(&renewed.secret) && !is_in(&shown.secret));
    assert_eq!(house.agent.tasks().len(), 2);
    house.fixture.close().await;
}
