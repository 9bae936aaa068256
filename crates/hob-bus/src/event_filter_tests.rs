//! Patterns match the topics below them and nothing else.

use super::*;
use crate::route_table::RouteTable;
use proptest::prelude::*;

fn filter(pattern: &str, session: Option<&str>, after: u64) -> EventFilter {
    EventFilter {
        pattern: pattern.into(),
        session: session.map(Arc::from),
        after,
    }
}

#[test]
fn patterns_match_by_whole_segments() {
    for (pattern, topic, expected) in [
        ("run.delta", "run.delta", true),
        ("run.delta", "run.delta.more", false),
        ("run.*", "run.delta", true),
        ("run.*", "run.tool.started", true),
        ("run.*", "run", false),
        ("run.*", "running.late", false),
        ("run.tool.*", "run.delta", false),
        ("*", "anything", true),
        ("*", "any.thing", true),
    ] {
        assert_eq!(
            pattern_matches(pattern, topic),
            expected,
            "{pattern} {topic}"
        );
    }
}

#[test]
fn a_session_is_matched_by_id_or_key() {
    let tag = SessionTag {
        id: "1".into(),
        key: Some("k".into()),
    };
    let bare = SessionTag {
        id: "1".into(),
        key: None,
    };
    assert!(filter("*", Some("1"), 0).matches("a", Some(&tag)));
    assert!(filter("*", Some("k"), 0).matches("a", Some(&tag)));
    assert!(!filter("*", Some("k"), 0).matches("a", Some(&bare)));
    assert!(!filter("*", Some("k"), 0).matches("a", None));
    assert!(filter("*", None, 0).matches("a", None));
}

#[test]
fn a_subscription_counts_from_its_beginning() {
    let filters = EventFilters::default()
        .with_requested(vec![filter("a", None, 5), filter("b", None, 9)])
        .expect("few");
    assert!(!filters.match_logged(5, "a", None));
    assert!(filters.match_logged(6, "a", None));
    assert!(!filters.match_logged(9, "b", None));
    assert!(filters.match_logged(10, "b", None));
}

#[test]
fn a_pattern_given_twice_keeps_its_first_beginning() {
    let once = EventFilters::default()
        .with_requested(vec![filter("a", None, 5)])
        .expect("few");
    let twice = once
        .with_requested(vec![filter("a", None, 9)])
        .expect("few");
    assert!(twice.match_logged(6, "a", None));
    assert_eq!(twice.iter().count(), 1);
}

#[test]
fn a_registration_replaces_only_its_own() {
    let filters = EventFilters::default()
        .with_registered(vec![filter("old", None, 0)])
        .with_requested(vec![filter("asked", None, 0)])
        .expect("few")
        .with_registered(vec![filter("new", None, 0)]);
    assert_eq!(filters.patterns(), ["asked", "new"]);
    let left = filters.without(Some(&["new".into()]));
    assert_eq!(left.patterns(), ["asked"]);
    assert!(left.without(None).is_empty());
}

#[test]
fn malformed_patterns_are_refused() {
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    let owner = Scopes::owner();
    let routes = RouteTable::default();
    for pattern in [
        "", "a*", "*a", "a.*.b", "*.*", "a b", "a\n", "ä", ".*", &long,
    ] {
        let refused = parse(&[pattern.to_owned()], None, &owner, &routes);
        let refused = refused.expect_err(pattern);
        assert_eq!(refused.code, ErrorCode::InvalidParams, "{pattern}");
    }
}

proptest! {
    /// The index looks patterns up; the filter compares them. They must agree.
    #[test]
    fn looking_up_and_comparing_agree(
        topic in "[ab]{1,2}(\\.[ab]{1,2}){0,3}",
        prefix in "[ab]{1,2}(\\.[ab]{1,2}){0,3}",
        star in any::<bool>(),
    ) {
        let pattern = if star { format!("{prefix}.*") } else { prefix };
        let looked_up = patterns_of(&topic).any(|key| key == PatternKey::of(&pattern));
        prop_assert_eq!(looked_up, pattern_matches(&pattern, &topic));
    }
}
