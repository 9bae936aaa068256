//! Which events a party wants and which it may see. Pure.
//!
//! A pattern is a topic, `PREFIX.*` (every topic below PREFIX, however deep) or `*`.

use crate::event::SessionTag;
use crate::routes::Routes;
use hob_wire::limits::{NAME_BYTES_MAX, SUBSCRIPTIONS_MAX};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use std::sync::Arc;

/// One subscription: a pattern, perhaps of one session only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) pattern: Arc<str>,
    pub(crate) session: Option<Arc<str>>,
    /// It began here: only later events count. Matters while its party is catching up.
    pub(crate) after: u64,
}

/// All subscriptions of one party: those of its registration, which the next one replaces, and
/// those it asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    registered: Vec<Filter>,
    requested: Vec<Filter>,
}

impl Filter {
    pub(crate) fn matches(&self, topic: &str, session: Option<&SessionTag>) -> bool {
        let of_session = match &self.session {
            None => true,
            Some(wanted) => session.is_some_and(|session| session.matches(wanted)),
        };
        of_session && pattern_matches(&self.pattern, topic)
    }

    fn same_as(&self, other: &Filter) -> bool {
        self.pattern == other.pattern && self.session == other.session
    }
}

impl Filters {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Filter> {
        self.registered.iter().chain(&self.requested)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.registered.is_empty() && self.requested.is_empty()
    }

    /// Whether the logged event `seq` is one its party asked for.
    pub(crate) fn match_logged(&self, seq: u64, topic: &str, session: Option<&SessionTag>) -> bool {
        self.iter()
            .any(|filter| filter.after < seq && filter.matches(topic, session))
    }

    /// Adds what is not yet asked for.
    pub(crate) fn with_requested(&self, more: Vec<Filter>) -> Result<Filters, WireError> {
        let mut all = self.clone();
        for filter in more {
            if !all.requested.iter().any(|held| held.same_as(&filter)) {
                all.requested.push(filter);
            }
        }
        if all.requested.len() > SUBSCRIPTIONS_MAX {
            let message = format!(
                "a connection may have {SUBSCRIPTIONS_MAX} subscriptions; use a wildcard or end some"
            );
            return Err(WireError::new(ErrorCode::Overloaded, message));
        }
        Ok(all)
    }

    /// Takes the subscriptions of a new registration instead of the former one's.
    pub(crate) fn with_registered(&self, registered: Vec<Filter>) -> Filters {
        Filters {
            registered,
            requested: self.requested.clone(),
        }
    }

    /// Takes away the patterns named, or all.
    pub(crate) fn without(&self, patterns: Option<&[String]>) -> Filters {
        let Some(patterns) = patterns else {
            return Filters::default();
        };
        let stays = |filter: &Filter| !patterns.iter().any(|name| **name == *filter.pattern);
        let mut left = self.clone();
        left.registered.retain(stays);
        left.requested.retain(stays);
        left
    }

    /// The patterns as a person reads them, each once.
    pub(crate) fn patterns(&self) -> Vec<String> {
        let mut patterns: Vec<String> = self.iter().map(|it| it.pattern.to_string()).collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }
}

/// Reads patterns and checks that their owner may watch them.
pub(crate) fn parse(
    patterns: &[String],
    session: Option<&str>,
    scopes: &Scopes,
    routes: &Routes,
) -> Result<Vec<Filter>, WireError> {
    if patterns.len() > SUBSCRIPTIONS_MAX {
        let message = format!("at most {SUBSCRIPTIONS_MAX} patterns fit one subscription");
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let session: Option<Arc<str>> = session.map(Arc::from);
    let read = |pattern: &String| {
        check_form(pattern)?;
        check_scope(pattern, scopes, routes)?;
        Ok(Filter {
            pattern: Arc::from(pattern.as_str()),
            session: session.clone(),
            after: 0,
        })
    };
    patterns.iter().map(read).collect()
}

/// The patterns that match `topic`: itself, each of its prefixes with a star, and the star.
pub(crate) fn patterns_of(topic: &str) -> impl Iterator<Item = PatternKey<'_>> {
    let prefixes = topic.match_indices('.').map(|(dot, _)| &topic[..dot]);
    std::iter::once(PatternKey::Topic(topic))
        .chain(prefixes.map(PatternKey::Below))
        .chain(std::iter::once(PatternKey::Every))
}

/// A pattern, taken apart.
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
        PatternKey::Below(prefix) => topic
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with('.')),
        PatternKey::Topic(exact) => exact == topic,
    }
}

/// Who may be shown a topic: found once per event, asked once per subscriber.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Audience<'a> {
    scope: Scope,
    /// The service that may see its own events without `read`; none for a built-in one's.
    service: Option<&'a str>,
}

impl<'a> Audience<'a> {
    pub(crate) fn of(topic: &'a str, routes: &Routes) -> Self {
        let (scope, builtin) = routes.event_scope(topic);
        Audience {
            scope,
            service: (!builtin).then(|| first_segment(topic)),
        }
    }

    pub(crate) fn admits(&self, scopes: &Scopes) -> bool {
        let own = |service| scopes.allow_service(service);
        scopes.allow(self.scope) || self.service.is_some_and(own)
    }
}

/// What stands before the first dot: the service a name belongs to by its form.
pub(crate) fn first_segment(name: &str) -> &str {
    name.split_once('.').map_or(name, |(first, _)| first)
}

/// A name of a method or a topic: visible ASCII without a star, so that it is never a pattern.
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

/// A wildcard quietly leaves out what its holder may not see; naming it outright is refused.
fn check_scope(pattern: &str, scopes: &Scopes, routes: &Routes) -> Result<(), WireError> {
    let (needed, allowed) = match PatternKey::of(pattern) {
        PatternKey::Topic(topic) => {
            let audience = Audience::of(topic, routes);
            (audience.scope, audience.admits(scopes))
        }
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
#[path = "filter_tests.rs"]
mod tests;
