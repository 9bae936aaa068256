//! Which cursors lie in our own history.

use super::{LogHistory, LogStart, STARTS_MAX};

fn history(starts: &[(&str, u64)]) -> LogHistory {
    let starts = starts.iter().map(|(id, after_seq)| LogStart {
        id: (*id).into(),
        after_seq: *after_seq,
    });
    LogHistory {
        starts: starts.collect(),
    }
}

#[test]
fn a_log_is_shared_up_to_the_start_that_followed() {
    let ours = history(&[("a", 0), ("b", 40), ("c", 40)]);
    assert_eq!(&*ours.id(), "c");
    assert_eq!(ours.shared_until("a"), Some(40));
    assert_eq!(ours.shared_until("b"), Some(40));
    assert_eq!(ours.shared_until("c"), Some(u64::MAX));
    assert_eq!(ours.shared_until("of a lost history"), None);
}

#[test]
fn only_so_many_starts_are_remembered() {
    let sql = rusqlite::Connection::open_in_memory().unwrap();
    crate::migrations::migrate(&sql, std::path::Path::new("x.db")).unwrap();
    for epoch in 1..=STARTS_MAX + 10 {
        LogHistory::append(&sql, epoch, &format!("start {epoch}"), epoch).unwrap();
    }
    let read = LogHistory::read(&sql).unwrap();
    assert_eq!(read.starts.len() as u64, STARTS_MAX);
    assert_eq!(read.shared_until("start 10"), None);
    assert_eq!(read.shared_until("start 11"), Some(12));
    assert_eq!(*read.id(), format!("start {}", STARTS_MAX + 10));
}
