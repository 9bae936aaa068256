//! `cron.preview`: words and due times of a schedule that nobody stored.

use super::House;
use hob_wire::rooms::cron::{CronListParams, CronPreview, CronPreviewParams, List, Preview};
use hob_wire::{ErrorCode, WireError};

fn rule(rule: &str) -> CronPreviewParams {
    CronPreviewParams {
        rule: rule.to_owned(),
        zone: Some("UTC".to_owned()),
        ..CronPreviewParams::default()
    }
}

async fn preview(house: &House, params: CronPreviewParams) -> Result<CronPreview, WireError> {
    house.caller().call::<Preview>(&params).await
}

#[tokio::test]
async fn a_schedule_is_told_in_words_with_its_next_times_and_nothing_is_stored() {
    let house = House::new();
    let daily = preview(&house, rule("0 9 * * *")).await.expect("previews");
    assert_eq!(daily.about, "every day at 09:00");
    assert_eq!(daily.zone.as_deref(), Some("UTC"));
    assert_eq!(daily.next.len(), 5);
    let day_ms = 24 * 60 * 60 * 1_000;
    assert!(
        daily
            .next
            .iter()
            .all(|at| at % day_ms == 9 * 60 * 60 * 1_000)
    );
    assert!(daily.next.windows(2).all(|two| two[1] - two[0] == day_ms));
    let berlin = CronPreviewParams {
        zone: Some("Europe/Berlin".to_owned()),
        count: Some(1),
        ..rule("0 9 * * *")
    };
    let berlin = preview(&house, berlin).await.expect("previews");
    assert_eq!(berlin.next.len(), 1);
    assert_ne!(berlin.next[0] % day_ms, 9 * 60 * 60 * 1_000);
    let nights = CronPreviewParams {
        active_hours: Some("22:00-06:00".to_owned()),
        count: Some(100),
        ..rule("@hourly")
    };
    let nights = preview(&house, nights).await.expect("previews");
    let hour = |at: &u64| at % day_ms / (60 * 60 * 1_000);
    assert_eq!(nights.next.len(), 100);
    assert!(nights.next.iter().all(|at| !(6..22).contains(&hour(at))));
    for never in ["webhook", "at 2001-01-01T00:00"] {
        let never = preview(&house, rule(never)).await.expect("previews");
        assert!(never.next.is_empty(), "{}", never.about);
    }
    let stored = house
        .caller()
        .call::<List>(&CronListParams::default())
        .await;
    assert_eq!(stored.expect("lists").jobs, []);
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_no_schedule_is_refused() {
    let house = House::new();
    let wrong = [
        rule("sometimes"),
        rule("0 0 30 2 *"),
        rule(&"*".repeat(300)),
        CronPreviewParams {
            zone: Some("Nowhere/City".to_owned()),
            ..rule("@daily")
        },
        CronPreviewParams {
            active_hours: Some("late".to_owned()),
            ..rule("@daily")
        },
        CronPreviewParams {
            count: Some(0),
            ..rule("@daily")
        },
        CronPreviewParams {
            count: Some(101),
            ..rule("@daily")
        },
    ];
    for params in wrong {
        let refused = preview(&house, params.clone())
            .await
            .expect_err("is refused");
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{params:?}");
    }
    house.fixture.close().await;
}
