//! `cron.*`.

use super::{client, house_with, model};
use crate::conformance::wire::text;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn tasks_have_any_name_and_several_the_same() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &["cron.trigger", "run.completed"]).await;
    assert_eq!(cli.call("cron.list", json!({})).await, json!([]));
    let params = json!({
        "name": "Daily Report [v2]", "schedule": "0 9 * * *", "task": "report",
        "description": "what happened", "enabled": false,
    });
    let first = cli.call("cron.add", params.clone()).await;
    let second = cli.call("cron.add", params).await;
    for job in [&first, &second] {
        assert_eq!(
            (
                &job["name"],
                &job["task"],
                &job["schedule"],
                &job["enabled"]
            ),
            (
                &json!("Daily Report [v2]"),
                &json!("report"),
                &json!("0 9 * * *"),
                &json!(false)
            )
        );
        assert_eq!(job["description"], "what happened");
    }
    assert_ne!(first["id"], second["id"]);
    let list = cli.call("cron.list", json!({})).await;
    let list = list.as_array().expect("an array");
    let ids: Vec<&Value> = list.iter().map(|job| &job["id"]).collect();
    assert_eq!(ids, [&first["id"], &second["id"]]);
    assert!(list.iter().all(|job| job["name"] == "Daily Report [v2]"));
    // The house shows them under names of its own.
    let shown = house.hob(&["--json", "cron", "list"]).success();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let names: Vec<&Value> = shown["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| &job["name"])
        .collect();
    assert_eq!(names, ["daily-report-v2", "daily-report-v2-2"]);

    cli.call("cron.run", json!({ "id": second["id"] })).await;
    let trigger = cli.event_of("cron.trigger").await;
    assert_eq!(
        (&trigger["payload"]["taskId"], &trigger["payload"]["task"]),
        (&second["id"], &json!("report"))
    );
    let ended = cli.event_of("run.completed").await;
    assert_eq!(
        ended["payload"]["sessionKey"],
        trigger["payload"]["sessionKey"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_changed_and_removed() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    // Later clients send an id of their own in place of a name.
    let params = json!({
        "id": "sprint-picker", "schedule": "*/30 * * * *", "task": "pick",
        "notify": ["telegram:1"],
    });
    let job = cli.call("cron.add", params).await;
    assert_eq!(
        (&job["name"], &job["notify"], &job["enabled"]),
        (
            &json!("sprint-picker"),
            &json!(["telegram:1"]),
            &json!(true)
        )
    );
    let id = text(&job, "id");
    let change = json!({
        "id": id, "name": "Renamed Job", "schedule": "*/5 * * * *", "task": "pick two",
        "enabled": false, "notify": [],
    });
    let changed = cli.call("cron.update", change).await;
    assert_eq!(
        (&changed["id"], &changed["name"], &changed["task"]),
        (&json!(id), &json!("Renamed Job"), &json!("pick two"))
    );
    assert_eq!(
        (&changed["schedule"], &changed["enabled"]),
        (&json!("*/5 * * * *"), &json!(false))
    );
    assert_eq!(changed.get("notify"), None, "{changed}");
    let of_job = json!({ "id": id });
    assert_eq!(cli.call("cron.remove", of_job.clone()).await, json!(true));
    assert_eq!(cli.call("cron.remove", of_job.clone()).await, json!(false));
    assert_eq!(cli.call("cron.list", json!({})).await, json!([]));
    cli.refused("NOT_FOUND", "cron.run", of_job.clone()).await;
    cli.refused("NOT_FOUND", "cron.update", of_job).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    for (params, named) in [
        (json!({ "schedule": "@daily", "task": "x" }), "name"),
        (json!({ "name": "a", "schedule": "@daily" }), "task"),
        (
            json!({ "name": "a", "schedule": "whenever", "task": "x" }),
            "whenever",
        ),
        (
            json!({ "name": "a", "schedule": "@daily", "task": "x", "notify": ["b:1", "c:2"] }),
            "notify",
        ),
        (
            json!({ "name": "a\nb", "schedule": "@daily", "task": "x" }),
            "title",
        ),
        (
            json!({ "name": "a", "schedule": "@daily", "task": "x", "colour": 1 }),
            "colour",
        ),
    ] {
        let message = cli.refused("INVALID_PARAMS", "cron.add", params).await;
        assert!(message.contains(named), "{named}: {message}");
    }
    assert_eq!(cli.call("cron.list", json!({})).await, json!([]));
}
