//! A request is pending under one id and can be taken once.

use super::*;
use crate::endpoint::{EndpointOrigin, Mailbox};
use crate::peer::PeerIdentity;
use crate::response_waiters::ResponseWaiters;
use hob_wire::{Scope, Scopes};

fn pending_request(deadline_ms: u64) -> PendingRequest {
    let peer = PeerIdentity {
        name: "caller".into(),
        surface: "house",
        principal: "house".into(),
        scopes: Scopes::owner(),
    };
    let mailbox = Mailbox::Waiters(ResponseWaiters::default());
    PendingRequest {
        caller: Endpoint::new(1, peer, EndpointOrigin::Internal, mailbox, 0),
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
    let requests = PendingRequests::default();
    let first = requests.insert(pending_request(1)).expect("open");
    assert!(requests.take(first).is_some());
    assert!(requests.take(first).is_none());
    let second = requests.insert(pending_request(1)).expect("open");
    assert_ne!(first, second);
}

#[test]
fn a_closed_link_is_given_nothing_more() {
    let requests = PendingRequests::default();
    requests.insert(pending_request(1)).expect("open");
    assert_eq!(requests.close().len(), 1);
    assert!(matches!(
        requests.insert(pending_request(1)),
        Err(PendingInsertError::Closed(_))
    ));
    assert_eq!(requests.len(), 0);
}

#[test]
fn a_service_is_given_only_so_much() {
    let requests = PendingRequests::default();
    for _ in 0..SERVING_REQUESTS_MAX {
        requests.insert(pending_request(1)).expect("open");
    }
    assert!(matches!(
        requests.insert(pending_request(1)),
        Err(PendingInsertError::Full(_))
    ));
}

#[test]
fn deadlines_are_found_in_any_order() {
    let requests = PendingRequests::default();
    for deadline in [50, 10, 30] {
        requests.insert(pending_request(deadline)).expect("open");
    }
    let due = |now: u64| {
        let mut due: Vec<u64> = requests
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
    requests.insert(pending_request(5)).expect("open");
    assert_eq!(due(60), [5]);
}
