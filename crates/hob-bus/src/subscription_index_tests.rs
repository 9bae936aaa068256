//! The index finds exactly the endpoints whose filters match, after any additions and removals.

use super::*;
use crate::event_filter::EventFilter;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const TOPICS: [&str; 4] = ["a", "a.b", "a.b.c", "d.b"];
const PATTERNS: [&str; 6] = ["a", "a.*", "a.b.*", "a.b", "d.b", "*"];
const SESSIONS: [&str; 3] = ["s1", "k1", "s2"];

fn filters() -> impl Strategy<Value = EventFilters> {
    let session = prop::option::of(prop::sample::select(&SESSIONS));
    let one =
        (prop::sample::select(&PATTERNS), session).prop_map(|(pattern, session)| EventFilter {
            pattern: pattern.into(),
            session: session.map(Arc::from),
            after: 0,
        });
    prop::collection::vec(one, 0..4)
        .prop_map(|list| EventFilters::default().with_requested(list).expect("few"))
}

proptest! {
    #[test]
    fn what_is_found_is_what_matches(changes in prop::collection::vec((0..5_u64, filters()), 0..40)) {
        let mut index = SubscriptionIndex::default();
        let mut held: BTreeMap<u64, EventFilters> = BTreeMap::new();
        for (link, filters) in changes {
            if let Some(former) = held.remove(&link) {
                index.remove(link, &former);
            }
            index.insert(link, &filters);
            held.insert(link, filters);
        }
        let sessions = [
            None,
            Some(SessionTag { id: "s1".into(), key: Some("k1".into()) }),
            Some(SessionTag { id: "s2".into(), key: None }),
        ];
        let mut found = Vec::new();
        for topic in TOPICS {
            for session in &sessions {
                index.find(topic, session.as_ref(), &mut found);
                let matching = held.iter().filter(|(_, filters)| {
                    filters.match_logged(1, topic, session.as_ref())
                });
                let expected: Vec<u64> = matching.map(|(link, _)| *link).collect();
                prop_assert_eq!(&found, &expected);
                index.find_named(topic, session.as_ref(), &mut found);
                let naming = held.iter().filter(|(_, filters)| {
                    filters.iter().any(|filter| {
                        *filter.pattern == *topic && filter.matches(topic, session.as_ref())
                    })
                });
                let expected: Vec<u64> = naming.map(|(link, _)| *link).collect();
                prop_assert_eq!(&found, &expected);
            }
        }
        for (link, filters) in held {
            index.remove(link, &filters);
        }
        prop_assert!(index.topics.is_empty() && index.prefixes.is_empty() && index.every.is_empty());
    }
}
