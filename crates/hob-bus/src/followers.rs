//! Counts the subscriptions to topics that are delivered only by name, so that an emitter knows
//! whether anybody follows a session before it does any work for it.
//!
//! Invariant: a subscription counts before it is answered, so a client that subscribes and then
//! asks misses nothing in between.

use crate::event::SessionTag;
use crate::event_filter::{EventFilter, EventFilters, PatternKey};
use hob_wire::catalog;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

/// The followers of all topics that are delivered only by name.
#[derive(Debug, Default)]
pub(crate) struct FollowerCounts {
    /// All of them. Most of the time nobody follows anything, and one load tells.
    total: AtomicUsize,
    // A std lock: held for a lookup, never across an await.
    topics: RwLock<HashMap<Box<str>, TopicFollowers>>,
}

/// The followers of one topic.
#[derive(Debug, Default)]
struct TopicFollowers {
    of_any: usize,
    of_session: HashMap<Box<str>, usize>,
}

impl FollowerCounts {
    /// Replaces the filters of one endpoint.
    pub(crate) fn replace(&self, former: &EventFilters, next: &EventFilters) {
        let mut leaving = followed(former).peekable();
        let mut joining = followed(next).peekable();
        if leaving.peek().is_none() && joining.peek().is_none() {
            return;
        }
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        for filter in joining {
            self.total.fetch_add(1, Ordering::Release);
            let topic = topics.entry((&*filter.pattern).into()).or_default();
            match &filter.session {
                None => topic.of_any += 1,
                Some(session) => *topic.of_session.entry((&**session).into()).or_default() += 1,
            }
        }
        for filter in leaving {
            self.total.fetch_sub(1, Ordering::Release);
            if let Some(topic) = topics.get_mut(&*filter.pattern) {
                topic.remove(filter);
            }
        }
    }

    /// Returns true if a subscription names this topic and covers this session.
    pub(crate) fn follows(&self, topic: &str, session: &SessionTag) -> bool {
        if self.total.load(Ordering::Acquire) == 0 {
            return false;
        }
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        let Some(topic) = topics.get(topic) else {
            return false;
        };
        let by_name = |name: &str| topic.of_session.contains_key(name);
        topic.of_any > 0 || by_name(&session.id) || session.key.as_deref().is_some_and(by_name)
    }
}

impl TopicFollowers {
    fn remove(&mut self, filter: &EventFilter) {
        let Some(session) = &filter.session else {
            self.of_any = self.of_any.saturating_sub(1);
            return;
        };
        if let Some(count) = self.of_session.get_mut(&**session) {
            *count -= 1;
            // Removed, or the map would keep an entry for every session that was ever followed.
            if *count == 0 {
                self.of_session.remove(&**session);
            }
        }
    }
}

/// The filters that name a topic which is delivered only by name.
fn followed(filters: &EventFilters) -> impl Iterator<Item = &EventFilter> {
    filters.iter().filter(|filter| {
        matches!(PatternKey::of(&filter.pattern), PatternKey::Topic(topic)
            if catalog::event(topic).is_some_and(|spec| spec.only_named))
    })
}

#[cfg(test)]
#[path = "followers_tests.rs"]
mod tests;
