//! What is taken, in which order, and how much of it.

use super::{
    BATCH_BYTES_MAX, BATCH_COMMANDS_MAX, BULK_WAIT_MAX, BulkJob, BulkProgress, NextWork,
    WriterQueue,
};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use hob_kit::tasks::TaskGroup;
use std::sync::Arc;
use std::time::Duration;

struct Chore;

impl BulkJob for Chore {
    fn name(&self) -> &'static str {
        "chore"
    }
    fn step(&mut self, _: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError> {
        Ok(BulkProgress::Done)
    }
}

/// Queues `count` commands of `bytes` each, without waiting for their answers.
async fn submit_many(queue: &Arc<WriterQueue>, count: usize, bytes: usize) -> TaskGroup {
    let tasks = TaskGroup::new();
    let before = queue.waiting_count();
    for _ in 0..count {
        let queue = Arc::clone(queue);
        tasks.spawn("submit", async move {
            let _ = queue.submit(bytes, |_| Ok(())).await;
        });
    }
    while queue.waiting_count() < before + count {
        tokio::task::yield_now().await;
    }
    tasks
}

fn take(queue: &WriterQueue) -> (usize, bool) {
    let mut commands = Vec::new();
    match queue.take(&mut commands, Duration::ZERO) {
        NextWork::Work(bulk) => (commands.len(), bulk.is_some()),
        NextWork::TimedOut | NextWork::Closed => (0, false),
    }
}

#[tokio::test]
async fn a_batch_is_bounded_by_commands_and_by_bytes() {
    let queue = Arc::new(WriterQueue::new());
    let _many = submit_many(&queue, BATCH_COMMANDS_MAX + 10, 10).await;
    assert_eq!(take(&queue), (BATCH_COMMANDS_MAX, false));
    assert_eq!(take(&queue), (10, false));
    let _heavy = submit_many(&queue, 5, BATCH_BYTES_MAX / 2).await;
    assert_eq!(take(&queue), (2, false));
    assert_eq!(take(&queue), (2, false));
    assert_eq!(take(&queue), (1, false));
    let _huge = submit_many(&queue, 2, BATCH_BYTES_MAX * 2).await;
    assert_eq!(take(&queue), (1, false), "one too large goes alone");
    assert_eq!(take(&queue), (1, false));
}

#[tokio::test]
async fn a_full_lane_makes_its_callers_wait() {
    let queue = Arc::new(WriterQueue::new());
    let tasks = TaskGroup::new();
    for _ in 0..40 {
        let queue = Arc::clone(&queue);
        tasks.spawn("submit", async move {
            let _ = queue.submit(4 * 1024 * 1024, |_| Ok(())).await;
        });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let queued = queue.waiting_count();
    assert!(queued < 40, "{queued} of 160 MiB were taken in");
    let mut taken = 0;
    while taken < 40 {
        taken += take(&queue).0;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bulk_work_waits_for_acknowledged_work_but_not_for_ever() {
    let queue = Arc::new(WriterQueue::new());
    assert!(queue.submit_bulk(Box::new(Chore)));
    let _first = submit_many(&queue, 1, 0).await;
    assert_eq!(take(&queue), (1, false));
    assert_eq!(take(&queue), (0, true), "idle");
    assert!(queue.submit_bulk(Box::new(Chore)));
    tokio::time::sleep(BULK_WAIT_MAX).await;
    let _second = submit_many(&queue, 1, 0).await;
    assert_eq!(take(&queue), (1, true), "it waited long enough");
    assert_eq!(take(&queue), (0, false));
}

#[tokio::test]
async fn a_closed_lane_gives_what_it_has_and_takes_nothing() {
    let queue = Arc::new(WriterQueue::new());
    let _queued = submit_many(&queue, 3, 0).await;
    assert!(queue.submit_bulk(Box::new(Chore)));
    queue.close();
    let refused = queue.submit(0, |_| Ok(())).await;
    assert_eq!(refused, Err(StoreError::Closed));
    assert!(!queue.submit_bulk(Box::new(Chore)));
    assert_eq!(take(&queue), (3, false));
    queue.resume_bulk(Box::new(Chore));
    let ended = queue.take(&mut Vec::new(), Duration::from_mins(1));
    assert!(matches!(ended, NextWork::Closed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_takes_others_along_up_to_its_bounds() {
    let queue = Arc::new(WriterQueue::new());
    let mut batch = Vec::new();
    let _some = submit_many(&queue, 3, 0).await;
    assert_eq!(queue.add_arrivals(&mut batch), 3);
    assert_eq!(queue.add_arrivals(&mut batch), 0);
    let _many = submit_many(&queue, BATCH_COMMANDS_MAX, 0).await;
    assert_eq!(queue.add_arrivals(&mut batch), BATCH_COMMANDS_MAX - 3);
    assert_eq!(queue.add_arrivals(&mut batch), 0, "it is full");
    let mut next = Vec::new();
    assert_eq!(queue.add_arrivals(&mut next), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_waited_for_until_they_are_there_or_the_moment_is_over() {
    let queue = Arc::new(WriterQueue::new());
    queue.wait_for_commands(3, Duration::from_millis(5));
    let _some = submit_many(&queue, 3, 0).await;
    let long = Duration::from_mins(10);
    queue.wait_for_commands(3, long);
    let late = Arc::clone(&queue);
    let waiting = tokio::task::spawn_blocking(move || {
        late.wait_for_commands(10, long);
        late.waiting_count()
    });
    let _more = submit_many(&queue, 7, 0).await;
    assert_eq!(waiting.await.unwrap(), 10, "the last one wakes the writer");
    queue.close();
    queue.wait_for_commands(20, long);
}
