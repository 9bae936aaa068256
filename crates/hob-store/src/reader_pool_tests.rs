//! Reads end in time, and see one snapshot.

use super::ReaderPool;
use crate::error::StoreError;
use crate::health::StoreHealth;
use hob_kit::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn readers(folder: &tempfile::TempDir, clock: &Clock) -> Arc<ReaderPool> {
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let health = Arc::new(StoreHealth::default());
    Arc::new(ReaderPool::open(&path, clock.clone(), health).unwrap())
}

const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                       SELECT count(*) FROM n";

#[tokio::test(flavor = "multi_thread")]
async fn a_read_longer_than_a_second_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(0);
    let readers = readers(&folder, &clock);
    let started = Arc::new(AtomicBool::new(false));
    let running = Arc::clone(&started);
    let reader = Arc::clone(&readers);
    let endless = reader.read(move |sql| {
        running.store(true, Ordering::Relaxed);
        Ok(sql.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
    });
    let time_passes = async {
        while !started.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        clock.advance(1_001);
    };
    let (stopped, ()) = tokio::join!(endless, time_passes);
    let error = stopped.unwrap_err();
    assert!(matches!(error, StoreError::Overloaded(_)), "{error:?}");
    // The connection is fit for the next read.
    let one = readers
        .read(|sql| Ok(sql.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?))
        .await;
    assert_eq!(one, Ok(1));
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let readers = readers(&folder, &Clock::system());
    let written = readers
        .read(|sql| Ok(sql.execute_batch("CREATE TABLE t (a)")?))
        .await;
    assert!(written.is_err());
}
