//! The filters of a query.

use super::*;

#[test]
fn a_query_is_read_and_escapes_are_resolved() {
    let query = "surface=tui&session_id=0C0FFEE0-1111-4222-8333-444455556666&event=message.delta&event=tool%2Estart&other=1&event=";
    let filter = PryxEventFilter::parse(Some(query)).unwrap();
    assert_eq!(filter.surface.as_deref(), Some("tui"));
    assert_eq!(
        filter.session.as_deref(),
        Some("0c0ffee0-1111-4222-8333-444455556666")
    );
    assert_eq!(filter.events, ["message.delta", "tool.start"]);
    assert!(filter.takes("tool.start", Some("tui")));
    assert!(!filter.takes("session.message", Some("tui")));
}

#[test]
fn without_filters_everything_passes() {
    let filter = PryxEventFilter::parse(None).unwrap();
    assert_eq!(filter, PryxEventFilter::default());
    assert!(filter.takes("trace.event", None));
    assert!(filter.takes_session("id", "key"));
}

#[test]
fn another_surface_hides_all_but_questions() {
    let filter = PryxEventFilter::parse(Some("surface=tui")).unwrap();
    assert!(!filter.takes("message.delta", Some("web")));
    assert!(filter.takes("message.delta", Some("tui")));
    assert!(filter.takes("message.delta", None));
    assert!(filter.takes("approval.needed", Some("web")));
}

#[test]
fn a_session_is_named_by_id_or_key() {
    let filter = PryxEventFilter::parse(Some("session_id=chat:main")).unwrap();
    assert!(filter.takes_session("0c0ffee0", "chat:main"));
    assert!(!filter.takes_session("0c0ffee0", "chat:other"));
}

#[test]
fn a_query_is_bounded() {
    let many = "event=a&".repeat(EVENTS_MAX + 1);
    assert!(PryxEventFilter::parse(Some(&many)).is_err());
    let long = format!("surface={}", "x".repeat(limits::NAME_BYTES_MAX + 1));
    assert!(PryxEventFilter::parse(Some(&long)).is_err());
}
