//! Followers are counted by exact topic and session, and are gone when they leave.

use super::*;
use hob_wire::EventTopic;
use hob_wire::rooms::session::{SessionBlock, SessionMessage};
use std::sync::Arc;

const BLOCK: &str = SessionBlock::SPEC.topic;

fn filters(patterns: &[&str], session: Option<&str>) -> EventFilters {
    let filter = |pattern: &&str| EventFilter {
        pattern: (*pattern).into(),
        session: session.map(Arc::from),
        after: 0,
    };
    let filters = patterns.iter().map(filter).collect();
    EventFilters::default()
        .with_requested(filters)
        .expect("few")
}

fn tag(id: &str, key: Option<&str>) -> SessionTag {
    SessionTag {
        id: id.into(),
        key: key.map(Arc::from),
    }
}

#[test]
fn only_a_subscription_that_names_the_topic_counts() {
    let counts = FollowerCounts::default();
    let nobody = EventFilters::default();
    let wildcards = filters(&["*", "session.*", SessionMessage::SPEC.topic], None);
    counts.replace(&nobody, &wildcards);
    assert!(!counts.follows(BLOCK, &tag("1", None)));
    counts.replace(&wildcards, &filters(&[BLOCK], None));
    assert!(counts.follows(BLOCK, &tag("1", None)));
    assert!(!counts.follows(SessionMessage::SPEC.topic, &tag("1", None)));
}

#[test]
fn a_session_is_followed_by_its_id_or_its_key_until_the_last_one_leaves() {
    let counts = FollowerCounts::default();
    let nobody = EventFilters::default();
    let (by_key, by_id) = (
        filters(&[BLOCK], Some("chat:a")),
        filters(&[BLOCK], Some("1")),
    );
    let session = tag("1", Some("chat:a"));
    counts.replace(&nobody, &by_key);
    counts.replace(&nobody, &by_key);
    assert!(counts.follows(BLOCK, &session));
    assert!(!counts.follows(BLOCK, &tag("2", Some("chat:b"))));
    counts.replace(&by_key, &nobody);
    assert!(counts.follows(BLOCK, &session));
    counts.replace(&by_key, &by_id);
    assert!(counts.follows(BLOCK, &session));
    counts.replace(&by_id, &nobody);
    assert!(!counts.follows(BLOCK, &session));
    assert!(
        counts.topics.read().expect("whole")[BLOCK]
            .of_session
            .is_empty()
    );
}
