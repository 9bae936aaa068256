//! Webhook calls.

use super::{House, job};
use crate::fixture::code;
use data_encoding::BASE64;
use hob_core::webhook;
use hob_wire::ErrorCode;
use hob_wire::rooms::cron::{
    Add, CronAddParams, CronDeliverParams, CronSecretParams, Deliver, Secret, SlotState,
};
use std::collections::BTreeMap;

fn call(id: &str, body: &str, header: (&str, &str)) -> CronDeliverParams {
    CronDeliverParams {
        id: id.to_owned(),
        body: BASE64.encode(body.as_bytes()),
        headers: BTreeMap::from([(header.0.to_owned(), header.1.to_owned())]),
        query: BTreeMap::new(),
    }
}

fn secret(renew: bool) -> CronSecretParams {
    CronSecretParams {
        id: "push".to_owned(),
        renew,
    }
}

#[tokio::test]
async fn a_call_that_proves_itself_becomes_a_run_with_its_payload_as_data() {
    let house = House::new();
    let caller = house.caller();
    let added = CronAddParams {
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
    let signed = webhook::sign_body(&shown.secret, now_s, b"x");
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

/// The content of a call is stored and sent to a model, so its secrets are masked first.
#[tokio::test]
async fn secrets_in_a_call_reach_neither_the_task_nor_the_store() {
    const TOKEN: &str = "hob_1a2b3c4d_00112233445566778899aabbccddeeff0011223344556677";
    let house = House::new();
    let caller = house.caller();
    let task = "Title {{body.title}}, query {{query.q}}, header {{header.x-note}}: {{body}}";
    let added = CronAddParams {
        task: Some(task.to_owned()),
        ..job("push", "webhook")
    };
    caller.call::<Add>(&added).await.expect("is added");
    let shown = caller.call::<Secret>(&secret(false)).await;
    let own = shown.expect("is shown").secret;
    let bearer = format!("Bearer {own}");
    let hidden = &TOKEN[13..];
    let checksum = "0123456789abcdef".repeat(4);
    // Escapes of JSON spell a secret that is none before they are read.
    let escaped = own.replace('_', "\\u005f");
    let body = format!(r#"{{"title":"{escaped}","token":"{TOKEN}","sum":"{checksum}"}}"#);
    let mut params = call("push", &body, ("authorization", &bearer));
    params.headers.insert("x-note".to_owned(), own.clone());
    params.query.insert("q".to_owned(), TOKEN.to_owned());
    caller.call::<Deliver>(&params).await.expect("is taken");
    house.slots_when(SlotState::Ran, 1).await;
    let asked = house.agent.tasks()[0].task.clone();
    assert!(!asked.contains(&own) && !asked.contains(hidden), "{asked}");
    assert!(
        asked.contains("Title \"[masked]\", query \"hob_1a2b3c4d_[masked]\""),
        "{asked}"
    );
    assert!(
        asked.contains(&checksum),
        "a checksum is no secret: {asked}"
    );
    let database = house.fixture.home.database();
    house.fixture.close().await;
    for file in [database.clone(), database.with_extension("db-wal")] {
        let kept = std::fs::read(file).unwrap_or_default();
        let is_in = |word: &str| kept.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!is_in(&own) && !is_in(hidden));
    }
}
