//! Event filters: which events an endpoint subscribed to and which it may see. Pure.
//!
//! A pattern is a topic, `PREFIX.*` (every topic below PREFIX, however deep) or `*`.

use crate::event::SessionTag;
use crate::route_table::RouteTable;
use hob_wire::limits::{NAME_BYTES_MAX, SUBSCRIPTIONS_MAX};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use std::sync::Arc;

/// One subscription: a pattern, optionally limited to one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFilter {
    pub(crate) pattern: Arc<str>,
    pub(crate) session: Option<Arc<str>>,
    /// The `seq` at which the subscription starts; only later events match. Matters while the
    /// endpoint is catching up.
    pub(crate) after: u64,
}

/// All subscriptions of one endpoint: those of its registration, which the next registration
/// replaces, and those it requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventFilters {
    registered: Vec<EventFilter>,
    requested: Vec<EventFilter>,
}

impl EventFilter {
    pub(crate) fn matches(&self, topic: &str, session: Option<&SessionTag>) -> bool {
        let of_session = match &self.session {
            None => true,
            Some(wanted) => session.is_some_and(|session| session.matches(wanted)),
        };
        of_session && pattern_matches(&self.pattern, topic)
    }

    fn same_as(&self, other: &EventFilter) -> bool {
        self.pattern == other.pattern && self.session == other.session
    }
}

impl EventFilters {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &EventFilter> {
        self.registered.iter().chain(&self.requested)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.registered.is_empty() && self.requested.is_empty()
    }

    /// Returns true if a filter that started before `seq` matches the event.
    pub(crate) fn match_logged(&self, seq: u64, topic: &str, session: Option<&SessionTag>) -> bool {
        self.iter()
            .any(|filter| filter.after < seq && filter.matches(topic, session))
    }

    /// Adds the filters that are not yet requested.
    pub(crate) fn with_requested(&self, more: Vec<EventFilter>) -> Result<EventFilters, WireError> {
        let mut all = self.clone();
        for filter in more {
            if !all.requested.iter().any(|held| held.same_as(&filter)) {
                all.requested.push(filter);
            }
        }
        // Counted without duplicates, so a client may repeat its request.
        if all.requested.len() > SUBSCRIPTIONS_MAX {
            let message = format!(
                "a connection may have {SUBSCRIPTIONS_MAX} subscriptions; use a wildcard or remove some"
            );
            return Err(WireError::new(ErrorCode::Overloaded, message));
        }
        Ok(all)
    }

    /// Replaces the subscriptions of the former registration.
    pub(crate) fn with_registered(&self, registered: Vec<EventFilter>) -> EventFilters {
        EventFilters {
            registered,
            requested: self.requested.clone(),
        }
    }

    /// Removes the named patterns, or all of them.
    pub(crate) fn without(&self, patterns: Option<&[String]>) -> EventFilters {
        let Some(patterns) = patterns else {
            return EventFilters::default();
        };
        let stays = |filter: &EventFilter| !patterns.iter().any(|name| **name == *filter.pattern);
        let mut left = self.clone();
        left.registered.retain(stays);
        left.requested.retain(stays);
        left
    }

    /// The patterns in alphabetical order, each once.
    pub(crate) fn patterns(&self) -> Vec<String> {
        let mut patterns: Vec<String> = self.iter().map(|it| it.pattern.to_string()).collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }
}

/// Parses patterns and checks that the credential may subscribe to them.
pub(crate) fn parse(
    patterns: &[String],
    session: Option<&str>,
    scopes: &Scopes,
    routes: &RouteTable,
) -> Result<Vec<EventFilter>, WireError> {
    if patterns.len() > SUBSCRIPTIONS_MAX {
        let message = format!("a subscription may have at most {SUBSCRIPTIONS_MAX} patterns");
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let session: Option<Arc<str>> = session.map(Arc::from);
    let read = |pattern: &String| {
        check_form(pattern)?;
        check_scope(pattern, scopes, routes)?;
        Ok(EventFilter {
            pattern: Arc::from(pattern.as_str()),
            session: session.clone(),
            // The pump sets the start: only it knows which event it published last.
            after: 0,
        })
    };
    patterns.iter().map(read).collect()
}

/// The patterns that match `topic`: the topic itself, each prefix with `.*`, and `*`.
pub(crate) fn patterns_of(topic: &str) -> impl Iterator<Item = PatternKey<'_>> {
    let prefixes = topic.match_indices('.').map(|(dot, _)| &topic[..dot]);
    std::iter::once(PatternKey::Topic(topic))
        .chain(prefixes.map(PatternKey::Below))
        .chain(std::iter::once(PatternKey::Every))
}

/// A parsed pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PatternKey<'a> {
    Topic(&'a str),
    Below(&'a str),
    Every,
}

impl<'a> PatternKey<'a> {
    pub(crate) fn of(pattern: &'a str) -> Self {
        match pattern.strip_suffix(".*") {
            _ if pattern == "*" => PatternKey::Every,
            Some(prefix) => PatternKey::Below(prefix),
            None => PatternKey::Topic(pattern),
        }
    }
}

pub(crate) fn pattern_matches(pattern: &str, topic: &str) -> bool {
    match PatternKey::of(pattern) {
        PatternKey::Every => true,
        // The dot is part of the match: `run.*` does not cover `runner.started`.
        PatternKey::Below(prefix) => topic
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with('.')),
        PatternKey::Topic(exact) => exact == topic,
    }
}

/// The credentials that may see a topic. Resolved once per event and checked for each subscriber.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventAudience<'a> {
    scope: Scope,
    /// The external service that may see its own events without `read`; `None` for built-in events.
    service: Option<&'a str>,
}

impl<'a> EventAudience<'a> {
    pub(crate) fn of(topic: &'a str, routes: &RouteTable) -> Self {
        let (scope, builtin) = routes.event_scope(topic);
        EventAudience {
            scope,
            service: (!builtin).then(|| first_segment(topic)),
        }
    }

    pub(crate) fn admits(&self, scopes: &Scopes) -> bool {
        let own = |service| scopes.allow_service(service);
        scopes.allow(self.scope) || self.service.is_some_and(own)
    }
}

/// Returns the part before the first dot, which names the owning service.
pub(crate) fn first_segment(name: &str) -> &str {
    name.split_once('.').map_or(name, |(first, _)| first)
}

/// Returns true for a valid method or topic name: visible ASCII without `*`, so that it is never a
/// pattern.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'*';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(allowed)
}

fn check_form(pattern: &str) -> Result<(), WireError> {
    let well_formed = match PatternKey::of(pattern) {
        PatternKey::Every => true,
        PatternKey::Below(name) | PatternKey::Topic(name) => is_name(name),
    };
    if well_formed && pattern.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let shown: String = pattern.chars().take(64).collect();
    let message =
        format!("'{shown}' is not a topic; write `run.completed`, `run.*` or `*` for events");
    Err(WireError::new(ErrorCode::InvalidParams, message))
}

/// Refuses a topic that the credential may not see. A wildcard is accepted, and events the
/// credential may not see are left out at delivery.
fn check_scope(pattern: &str, scopes: &Scopes, routes: &RouteTable) -> Result<(), WireError> {
    let (needed, allowed) = match PatternKey::of(pattern) {
        PatternKey::Topic(topic) => {
            let audience = EventAudience::of(topic, routes);
            (audience.scope, audience.admits(scopes))
        }
        // A `service:NAME` credential has no rank. It may still watch the topics of its own service.
        PatternKey::Below(prefix) => {
            let own = scopes.allow_service(first_segment(prefix));
            (Scope::Read, own || scopes.allow(Scope::Read))
        }
        PatternKey::Every => (Scope::Read, scopes.allow(Scope::Read)),
    };
    if allowed {
        return Ok(());
    }
    let message = format!(
        "events of '{pattern}' need the scope '{}', which this credential lacks",
        needed.as_str()
    );
    Err(WireError::new(ErrorCode::Forbidden, message))
}

#[cfg(test)]
#[path = "event_filter_tests.rs"]
mod tests;
