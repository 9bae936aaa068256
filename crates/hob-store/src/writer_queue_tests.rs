//! What is taken, in which order, and how much of it.

use super::{BATCH_BYTES_MAX, BATCH_COMMANDS_MAX, BULK_WAIT_MAX, Bulk, Lanes, Step, Taken};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use hob_kit::tasks::Tasks;
use std::sync::Arc;
use std::time::Duration;

struct Chore;

impl Bulk for Chore {
    fn name(&self) -> &'static str {
        "chore"
    }
    fn step(&mut self, _: &mut Batch<'_>) -> Result<Step, Trouble> {
        Ok(Step::Done)
    }
}

/// Queues `count` commands of `bytes` each, without waiting for their answers.
async fn queue(lanes: &Arc<Lanes>, count: usize, bytes: usize) -> Tasks {
    let tasks = Tasks::new();
    let before = lanes.waiting();
    for _ in 0..count {
        let lanes = Arc::clone(lanes);
        tasks.spawn("submit", async move {
            let _ = lanes.submit(bytes, |_| Ok(())).await;
        });
    }
    while lanes.waiting() < before + count {
        tokio::task::yield_now().await;
    }
    tasks
}

fn take(lanes: &Lanes) -> (usize, bool) {
    let mut commands = Vec::new();
    match lanes.take(&mut commands, Duration::ZERO) {
        Taken::Work(bulk) => (commands.len(), bulk.is_some()),
        Taken::Nothing | Taken::Closed => (0, false),
    }
}

#[tokio::test]
async fn a_batch_is_bounded_by_commands_and_by_bytes() {
    let lanes = Arc::new(Lanes::new());
    let _many = queue(&lanes, BATCH_COMMANDS_MAX + 10, 10).await;
    assert_eq!(take(&lanes), (BATCH_COMMANDS_MAX, false));
    assert_eq!(take(&lanes), (10, false));
    let _heavy = queue(&lanes, 5, BATCH_BYTES_MAX / 2).await;
    assert_eq!(take(&lanes), (2, false));
    assert_eq!(take(&lanes), (2, false));
    assert_eq!(take(&lanes), (1, false));
    let _huge = queue(&lanes, 2, BATCH_BYTES_MAX * 2).await;
    assert_eq!(take(&lanes), (1, false), "one too large goes alone");
    assert_eq!(take(&lanes), (1, false));
}

#[tokio::test]
async fn a_full_lane_makes_its_callers_wait() {
    let lanes = Arc::new(Lanes::new());
    let tasks = Tasks::new();
    for _ in 0..40 {
        let lanes = Arc::clone(&lanes);
        tasks.spawn("submit", async move {
            let _ = lanes.submit(4 * 1024 * 1024, |_| Ok(())).await;
        });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let queued = lanes.waiting();
    assert!(queued < 40, "{queued} of 160 MiB were taken in");
    let mut taken = 0;
    while taken < 40 {
        taken += take(&lanes).0;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bulk_work_waits_for_acknowledged_work_but_not_for_ever() {
    let lanes = Arc::new(Lanes::new());
    assert!(lanes.submit_bulk(Box::new(Chore)));
    let _first = queue(&lanes, 1, 0).await;
    assert_eq!(take(&lanes), (1, false));
    assert_eq!(take(&lanes), (0, true), "idle");
    assert!(lanes.submit_bulk(Box::new(Chore)));
    tokio::time::sleep(BULK_WAIT_MAX).await;
    let _second = queue(&lanes, 1, 0).await;
    assert_eq!(take(&lanes), (1, true), "it waited long enough");
    assert_eq!(take(&lanes), (0, false));
}

#[tokio::test]
async fn a_closed_lane_gives_what_it_has_and_takes_nothing() {
    let lanes = Arc::new(Lanes::new());
    let _queued = queue(&lanes, 3, 0).await;
    assert!(lanes.submit_bulk(Box::new(Chore)));
    lanes.close();
    let refused = lanes.submit(0, |_| Ok(())).await;
    assert_eq!(refused, Err(StoreError::Closed));
    assert!(!lanes.submit_bulk(Box::new(Chore)));
    assert_eq!(take(&lanes), (3, false));
    lanes.resume_bulk(Box::new(Chore));
    let ended = lanes.take(&mut Vec::new(), Duration::from_mins(1));
    assert!(matches!(ended, Taken::Closed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_takes_others_along_up_to_its_bounds() {
    let lanes = Arc::new(Lanes::new());
    let mut batch = Vec::new();
    let _some = queue(&lanes, 3, 0).await;
    assert_eq!(lanes.join(&mut batch), 3);
    assert_eq!(lanes.join(&mut batch), 0);
    let _many = queue(&lanes, BATCH_COMMANDS_MAX, 0).await;
    assert_eq!(lanes.join(&mut batch), BATCH_COMMANDS_MAX - 3);
    assert_eq!(lanes.join(&mut batch), 0, "it is full");
    let mut next = Vec::new();
    assert_eq!(lanes.join(&mut next), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_waited_for_until_they_are_there_or_the_moment_is_over() {
    let lanes = Arc::new(Lanes::new());
    lanes.gather(3, Duration::from_millis(5));
    let _some = queue(&lanes, 3, 0).await;
    let long = Duration::from_mins(10);
    lanes.gather(3, long);
    let late = Arc::clone(&lanes);
    let waiting = tokio::task::spawn_blocking(move || {
        late.gather(10, long);
        late.waiting()
    });
    let _more = queue(&lanes, 7, 0).await;
    assert_eq!(waiting.await.unwrap(), 10, "the last one wakes the writer");
    lanes.close();
    lanes.gather(20, long);
}
