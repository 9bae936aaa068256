//! An index of subscriptions by pattern, so that an event is not matched against every subscriber.
//! Pure.

use crate::event::SessionTag;
use crate::event_filter::{EventFilter, EventFilters, PatternKey, patterns_of};
use std::collections::{BTreeSet, HashMap};

/// Endpoint ids by pattern and session.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionIndex {
    topics: HashMap<Box<str>, PatternBucket>,
    prefixes: HashMap<Box<str>, PatternBucket>,
    every: PatternBucket,
}

/// The endpoints that subscribed to one pattern.
#[derive(Debug, Default)]
struct PatternBucket {
    of_any: BTreeSet<u64>,
    of_session: HashMap<Box<str>, BTreeSet<u64>>,
}

impl SubscriptionIndex {
    pub(crate) fn insert(&mut self, link: u64, filters: &EventFilters) {
        for filter in filters.iter() {
            let bucket = match PatternKey::of(&filter.pattern) {
                PatternKey::Topic(topic) => self.topics.entry(topic.into()).or_default(),
                PatternKey::Below(prefix) => self.prefixes.entry(prefix.into()).or_default(),
                PatternKey::Every => &mut self.every,
            };
            bucket.insert(link, filter);
        }
    }

    pub(crate) fn remove(&mut self, link: u64, filters: &EventFilters) {
        for filter in filters.iter() {
            match PatternKey::of(&filter.pattern) {
                PatternKey::Topic(topic) => prune(&mut self.topics, topic, link, filter),
                PatternKey::Below(prefix) => prune(&mut self.prefixes, prefix, link, filter),
                PatternKey::Every => self.every.remove(link, filter),
            }
        }
    }

    /// Fills `found` with the ids of all endpoints that match this event, each once, in order.
    pub(crate) fn find(&self, topic: &str, session: Option<&SessionTag>, found: &mut Vec<u64>) {
        self.find_by(patterns_of(topic), session, found);
    }

    /// Like [`SubscriptionIndex::find`], without endpoints that match only by a wildcard.
    pub(crate) fn find_named(
        &self,
        topic: &str,
        session: Option<&SessionTag>,
        found: &mut Vec<u64>,
    ) {
        self.find_by(std::iter::once(PatternKey::Topic(topic)), session, found);
    }

    fn find_by<'t>(
        &self,
        keys: impl Iterator<Item = PatternKey<'t>>,
        session: Option<&SessionTag>,
        found: &mut Vec<u64>,
    ) {
        found.clear();
        for key in keys {
            let bucket = match key {
                PatternKey::Topic(topic) => self.topics.get(topic),
                PatternKey::Below(prefix) => self.prefixes.get(prefix),
                PatternKey::Every => Some(&self.every),
            };
            if let Some(bucket) = bucket {
                bucket.find(session, found);
            }
        }
        // Several patterns of one endpoint may match; it still gets the event once.
        found.sort_unstable();
        found.dedup();
    }
}

impl PatternBucket {
    fn insert(&mut self, link: u64, filter: &EventFilter) {
        let links = match &filter.session {
            None => &mut self.of_any,
            Some(session) => self.of_session.entry((&**session).into()).or_default(),
        };
        links.insert(link);
    }

    fn remove(&mut self, link: u64, filter: &EventFilter) {
        let Some(session) = &filter.session else {
            self.of_any.remove(&link);
            return;
        };
        if let Some(links) = self.of_session.get_mut(&**session) {
            links.remove(&link);
            // Empty sets are removed, or the index would keep one for every session that was ever
            // watched.
            if links.is_empty() {
                self.of_session.remove(&**session);
            }
        }
    }

    fn find(&self, session: Option<&SessionTag>, found: &mut Vec<u64>) {
        found.extend(&self.of_any);
        let Some(session) = session else {
            return;
        };
        // A subscriber may name a session by its id or by its key.
        let names = [Some(&session.id), session.key.as_ref()];
        for links in names
            .into_iter()
            .flatten()
            .filter_map(|name| self.of_session.get(&**name))
        {
            found.extend(links);
        }
    }

    fn is_empty(&self) -> bool {
        self.of_any.is_empty() && self.of_session.is_empty()
    }
}

fn prune(
    buckets: &mut HashMap<Box<str>, PatternBucket>,
    key: &str,
    link: u64,
    filter: &EventFilter,
) {
    if let Some(bucket) = buckets.get_mut(key) {
        bucket.remove(link, filter);
        if bucket.is_empty() {
            buckets.remove(key);
        }
    }
}

#[cfg(test)]
#[path = "subscription_index_tests.rs"]
mod tests;
