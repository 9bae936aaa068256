//! A request waits under one id, until it is taken once.

use super::*;
use crate::party::{Home, Mailbox};
use crate::peer::Peer;
use crate::waiters::Waiters;
use hob_wire::{Scope, Scopes};

fn waiting(deadline_ms: u64) -> Waiting {
    let peer = Peer {
        name: "caller".into(),
        surface: "house",
        principal: "house".into(),
        scopes: Scopes::owner(),
    };
    let mailbox = Mailbox::Waiters(Waiters::default());
    Waiting {
        caller: Party::new(1, peer, Home::Inside, mailbox, 0),
        caller_id: "1".into(),
        method: Arc::new(MethodInfo {
            name: "a.b".into(),
            service: "a".into(),
            scope: Scope::Read,
            spec: None,
        }),
        trace: "t".into(),
        started_us: 0,
        deadline_ms,
    }
}

#[test]
fn ids_are_never_used_twice_and_taken_once() {
    let pending = Pending::default();
    let first = pending.insert(waiting(1)).expect("open");
    assert!(pending.take(first).is_some());
    assert!(pending.take(first).is_none());
    let second = pending.insert(waiting(1)).expect("open");
    assert_ne!(first, second);
}

#[test]
fn a_closed_link_is_given_nothing_more() {
    let pending = Pending::default();
    pending.insert(waiting(1)).expect("open");
    assert_eq!(pending.close().len(), 1);
    assert!(matches!(pending.insert(waiting(1)), Err(NoPlace::Gone(_))));
    assert_eq!(pending.len(), 0);
}

#[test]
fn a_service_is_given_only_so_much() {
    let pending = Pending::default();
    for _ in 0..SERVING_REQUESTS_MAX {
        pending.insert(waiting(1)).expect("open");
    }
    assert!(matches!(pending.insert(waiting(1)), Err(NoPlace::Busy(_))));
}

#[test]
fn deadlines_are_found_in_any_order() {
    let pending = Pending::default();
    for deadline in [50, 10, 30] {
        pending.insert(waiting(deadline)).expect("open");
    }
    let due = |now: u64| {
        let mut due: Vec<u64> = pending
            .take_expired(now)
            .iter()
            .map(|it| it.deadline_ms)
            .collect();
        due.sort_unstable();
        due
    };
    assert!(due(9).is_empty());
    assert_eq!(due(30), [10, 30]);
    assert!(due(49).is_empty());
    assert_eq!(due(50), [50]);
    pending.insert(waiting(5)).expect("open");
    assert_eq!(due(60), [5]);
}
