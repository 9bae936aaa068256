//! What a client of `/ws` wants to get: `?surface=…&session_id=…&event=…&event=…`. Pure.
//!
//! Invariants: a missing filter lets everything through. Questions pass the filter of surfaces,
//! because a person may answer on any of them.

use hob_wire::id::SessionRef;
use hob_wire::limits;

/// Maximum names of events in a query.
const EVENTS_MAX: usize = 64;
/// The beginning of the names of events about questions.
const APPROVAL_EVENTS: &str = "approval.";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PryxEventFilter {
    /// The client's own surface, such as `tui`.
    pub(crate) surface: Option<String>,
    /// The session's id or key.
    pub(crate) session: Option<String>,
    events: Vec<String>,
}

impl PryxEventFilter {
    /// Reads a query, or returns the reason why it is refused.
    pub(crate) fn parse(query: Option<&str>) -> Result<PryxEventFilter, String> {
        let mut filter = PryxEventFilter::default();
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        for (name, value) in pairs {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if value.len() > limits::NAME_BYTES_MAX {
                return Err(format!(
                    "A filter has at most {} bytes.",
                    limits::NAME_BYTES_MAX
                ));
            }
            match &*name {
                "surface" => filter.surface = Some(value.to_owned()),
                // An id is compared in one spelling.
                "session_id" => filter.session = Some(SessionRef::parse(value).to_string()),
                "event" if filter.events.len() >= EVENTS_MAX => {
                    return Err(format!("A client names at most {EVENTS_MAX} events."));
                }
                "event" => filter.events.push(value.to_owned()),
                // Other names are not for hob.
                _ => {}
            }
        }
        Ok(filter)
    }

    /// Returns true if events of this session pass.
    pub(crate) fn takes_session(&self, id: &str, key: &str) -> bool {
        let wanted = self.session.as_deref();
        wanted.is_none_or(|wanted| wanted == id || wanted == key)
    }

    /// Returns true if an event of a session passes, by its name and the surface that wrote last in
    /// the session.
    pub(crate) fn takes(&self, event: &str, surface: Option<&str>) -> bool {
        let named = self.events.is_empty() || self.events.iter().any(|name| name == event);
        let is_question = event.starts_with(APPROVAL_EVENTS);
        let ours = match (self.surface.as_deref(), surface) {
            (Some(wanted), Some(surface)) => is_question || wanted == surface,
            _ => true,
        };
        named && ours
    }
}

#[cfg(test)]
#[path = "event_filter_tests.rs"]
mod tests;
