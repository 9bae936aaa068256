//! Downloads that end in the middle: by Ctrl-C, by a kill of the daemon or of the client.

use super::{NAME, SOURCE, builder, download, hub, ranges, rpc};
use crate::support::{House, Tty, wait_until};
use hob_sim::StorageFault;
use serde_json::json;

const BYTES: usize = 4 * 1024 * 1024;
const HELD: u64 = 5 * 512 * 1024;

/// Waits until what the storage sent before it waits is noted on the disk.
fn wait_for_noted(house: &House) {
    let record = house.home().join(format!("models/{NAME}/model.json"));
    wait_until("the progress is noted", || {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        text.contains(&format!("\"safeBytes\": {HELD}"))
    });
}

#[test]
fn ctrl_c_stops_and_the_next_pull_continues() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let mut tty = Tty::start(&house, &format!("model pull {SOURCE}"));
    tty.wait_for("Fetch model-Q4_K_M? [Y/n]");
    tty.press("y");
    tty.wait_for("2.5 MiB of 4.0 MiB");
    tty.wait_for("█");
    tty.press("\u{3}");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("Licence: apache-2.0."), "{seen}");
    assert!(
        seen.contains("Stopped fetching model-Q4_K_M at 2.5 MiB of 4.0 MiB."),
        "{seen}"
    );
    assert!(
        seen.contains(&format!("Continue: hob model pull {SOURCE}")),
        "{seen}"
    );
    let found = download(&house);
    assert_eq!(found["state"], "partial", "{found}");
    assert_eq!(found["bytesDone"], HELD, "{found}");
    let listed = house.hob(&["model", "downloads"]).success();
    assert!(listed.contains("partial 62%"), "{listed}");

    house.hob(&["model", "pull", SOURCE, "--yes"]).success();
    assert_eq!(download(&house)["state"], "complete");
    assert_eq!(
        ranges(&hub),
        ["bytes=0-".to_owned(), format!("bytes={HELD}-")]
    );
}

#[test]
fn a_no_fetches_nothing_and_ctrl_c_at_the_question_neither() {
    let hub = hub(BYTES);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    for (key, code) in [("n", 0), ("\u{3}", 130)] {
        let mut tty = Tty::start(&house, &format!("model pull {SOURCE}"));
        tty.wait_for("Fetch model-Q4_K_M? [Y/n]");
        tty.press(key);
        let (ended, seen) = tty.end();
        assert_eq!(ended, Some(code), "{seen}");
    }
    assert!(ranges(&hub).is_empty());
    assert!(!house.home().join("models").exists());
}

#[test]
fn a_killed_daemon_continues_where_it_was_while_the_client_waits() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let mut house = builder.start();
    let tty = Tty::start(&house, &format!("model pull {SOURCE} --yes"));
    wait_for_noted(&house);
    house.kill();
    house.start_daemon();
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("is `local` now"), "{seen}");
    assert_eq!(
        ranges(&hub),
        ["bytes=0-".to_owned(), format!("bytes={HELD}-")]
    );
}

#[test]
fn a_killed_daemon_without_a_client_waits_for_the_next_pull() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let mut house = builder.start();
    rpc(
        &house,
        "model.pull",
        &json!({ "source": SOURCE, "yes": true }),
    );
    wait_for_noted(&house);
    house.kill();
    house.start_daemon();
    let found = download(&house);
    assert_eq!(
        (&found["state"], &found["bytesDone"]),
        (&json!("partial"), &json!(HELD))
    );
    house.hob(&["model", "pull", SOURCE, "--yes"]).success();
    assert_eq!(ranges(&hub).last(), Some(&format!("bytes={HELD}-")));
}

#[test]
fn a_download_outlives_its_caller_and_a_second_one_joins_it() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let pull = json!({ "source": SOURCE, "yes": true });
    // Each of these callers leaves at once.
    let first = rpc(&house, "model.pull", &pull);
    assert_eq!(first["progress"]["state"], "fetching", "{first}");
    let second = rpc(&house, "model.pull", &pull);
    assert_eq!(second["id"], first["id"], "{second}");
    wait_until("it goes on", || download(&house)["bytesDone"] == HELD);
    hub.release();
    wait_until("it is complete", || download(&house)["state"] == "complete");
    assert_eq!(ranges(&hub).len(), 1, "it was fetched once");
}

#[test]
fn a_stopped_daemon_notes_how_far_it_came() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let mut house = builder.start();
    rpc(
        &house,
        "model.pull",
        &json!({ "source": SOURCE, "yes": true }),
    );
    wait_until("it goes on", || download(&house)["bytesDone"] == HELD);
    assert!(house.terminate().success());
    house.start_daemon();
    let found = download(&house);
    assert_eq!(
        (&found["state"], &found["bytesDone"]),
        (&json!("partial"), &json!(HELD))
    );
}

#[test]
fn deleting_a_running_download_stops_it_first() {
    let hub = hub(BYTES);
    hub.fail_next([StorageFault::Hold(HELD)]);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    rpc(
        &house,
        "model.pull",
        &json!({ "source": SOURCE, "yes": true }),
    );
    wait_until("it goes on", || download(&house)["bytesDone"] == HELD);
    let gone = rpc(&house, "model.delete", &json!({ "name": NAME }));
    assert_eq!(gone["wasLocal"], false, "{gone}");
    assert!(!house.home().join("models").join(NAME).exists());
    let stopped = house.hob(&["model", "abort", NAME]);
    assert_eq!(stopped.code, Some(5), "{stopped:?}");
}
