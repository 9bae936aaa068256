//! Serves past events (`since`) from the log at the subscriber's own pace, until the pump can take
//! over. Volatile events are not delivered in the meantime.
//!
//! Invariant: events that were deleted from the log are announced by a `gateway.gap` before later
//! events, and the `prev` of the next event is the end of that gap.

use crate::delivery::{Delivery, gap, logged_delivery};
use crate::endpoint::{Endpoint, EndpointOrigin};
use crate::event::{LoggedEvent, NewEvent};
use crate::event_filter::EventAudience;
use crate::event_pump::PumpCommand;
use crate::hub::Hub;
use crate::outbox::PushError;
use crate::peer::CloseReason;
use crate::route_table::RouteTable;
use bytes::Bytes;
use hob_wire::WireError;
use hob_wire::rooms::gateway::GapReason;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::oneshot;

/// Events of the first page. The size of later pages adapts to the size of the events.
const PAGE_EVENTS: usize = 16;
const PAGE_EVENTS_MAX: usize = 512;
/// The payload bytes that a page should not exceed.
const PAGE_BYTES: usize = 1024 * 1024;
/// The number of attempts to read the log, and the pause between them.
const READ_TRIES: u32 = 8;
const READ_RETRY: Duration = Duration::from_millis(250);

/// The position of a subscriber in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubscriberCursor {
    /// Everything up to here was delivered or did not match.
    pub(crate) seq: u64,
    /// The last event that was delivered: the `prev` of the next one.
    pub(crate) prev: Option<u64>,
}

/// A request to the pump to take over a subscriber.
#[derive(Debug)]
pub(crate) struct ResumeRequest {
    pub(crate) link: u64,
    pub(crate) cursor: SubscriberCursor,
    /// Also identifies the catch-up that asks.
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) reply: oneshot::Sender<ResumeOutcome>,
}

#[derive(Debug)]
pub(crate) enum ResumeOutcome {
    /// The pump serves the subscriber from now on.
    Attached,
    /// The subscription is over.
    Ended,
    /// Served up to here; ask again when the outbox has room.
    Paused(SubscriberCursor),
    /// The next events are only in the log.
    ReadLog,
}

#[derive(Debug)]
pub(crate) struct CatchUp {
    hub: Arc<Hub>,
    endpoint: Arc<Endpoint>,
    cursor: SubscriberCursor,
    cancelled: Arc<AtomicBool>,
    page_events: usize,
}

impl CatchUp {
    pub(crate) fn new(
        hub: Arc<Hub>,
        endpoint: Arc<Endpoint>,
        cursor: SubscriberCursor,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        CatchUp {
            hub,
            endpoint,
            cursor,
            cancelled,
            page_events: PAGE_EVENTS,
        }
    }

    pub(crate) async fn run(mut self) {
        while let Some(resumed) = self.request_resume().await {
            match resumed {
                ResumeOutcome::Attached | ResumeOutcome::Ended => return,
                ResumeOutcome::Paused(cursor) => {
                    self.cursor = cursor;
                    if let Some(outbox) = self.endpoint.outbox() {
                        outbox.wait_for_room().await;
                    }
                }
                ResumeOutcome::ReadLog => match self.serve_page().await {
                    Ok(()) => {}
                    Err(PageError::Closed) => return,
                    Err(PageError::Unreadable(error)) => {
                        tracing::error!(
                            link = self.endpoint.id,
                            "the event log cannot be read: {error}"
                        );
                        // A room cannot reconnect, so it keeps trying.
                        if self.endpoint.origin == EndpointOrigin::External {
                            return self.give_up();
                        }
                    }
                },
            }
        }
    }

    async fn request_resume(&self) -> Option<ResumeOutcome> {
        let (reply, answer) = oneshot::channel();
        let resume = ResumeRequest {
            link: self.endpoint.id,
            cursor: self.cursor,
            cancelled: Arc::clone(&self.cancelled),
            reply,
        };
        self.hub.pump.send(PumpCommand::Resume(resume)).await.ok()?;
        answer.await.ok()
    }

    async fn serve_page(&mut self) -> Result<(), PageError> {
        // Taken before the page is read. An event up to here that is not in the page does not exist
        // any more; a later one may have been committed after the read.
        let last = self.hub.log.bounds().last;
        let page = self.read().await.map_err(PageError::Unreadable)?;
        // Taken after the page is read, because old events may be deleted at any time.
        let kept_from = self.hub.log.bounds().first;
        let page_from = page.first().map_or(u64::MAX, |event| event.seq);
        // Events that were deleted after the page was read are still in the page, so they are no
        // gap.
        let gap_to = kept_from.min(page_from).saturating_sub(1);
        if gap_to > self.cursor.seq {
            let from = self.cursor.seq + 1;
            self.deliver(gap(from, gap_to, GapReason::Expired)).await?;
            self.cursor = SubscriberCursor {
                seq: gap_to,
                prev: Some(gap_to),
            };
        }
        self.page_events = next_page_events(self.page_events, &page);
        // Nothing is left up to `last`; without this step the next resume would ask for the same
        // page again.
        if page.is_empty() {
            self.cursor.seq = self.cursor.seq.max(last);
        }
        for event in page {
            let seq = event.seq;
            let event = Arc::new(event.into_new());
            // The block ends the hold on the route table, which must not last while a delivery
            // waits.
            let wanted = {
                let routes = self.hub.registry.routes();
                self.cursor
                    .should_deliver(seq, &event, &self.endpoint, &routes)
            };
            if wanted {
                let delivery = logged_delivery(&event, seq, self.cursor.prev);
                self.deliver(delivery).await?;
                self.cursor.prev = Some(seq);
            }
            self.cursor.seq = seq;
        }
        Ok(())
    }

    async fn read(&self) -> Result<Vec<LoggedEvent>, WireError> {
        let mut tries = 1;
        loop {
            let page = {
                // Held only while reading, so that a stalled consumer does not block other readers.
                let _permit = self.hub.log_readers.acquire().await;
                self.hub.log.page(self.cursor.seq, self.page_events).await
            };
            match page {
                Err(_) if tries < READ_TRIES => tries += 1,
                done => return done,
            }
            tokio::time::sleep(READ_RETRY).await;
        }
    }

    async fn deliver(&self, delivery: Delivery) -> Result<(), PageError> {
        let Some(outbox) = self.endpoint.outbox() else {
            return Err(PageError::Closed);
        };
        let pushed = outbox.push_waiting(delivery, &self.cancelled).await;
        pushed.map_err(|_: PushError| PageError::Closed)
    }

    /// Closes a connection whose log pages cannot be read. The gap says what it missed, so that the
    /// client can reconnect and ask for it.
    fn give_up(&self) {
        let from = self.cursor.seq + 1;
        // A gap names at least one event, wherever the log ends.
        let to = self.hub.log.bounds().last.max(from);
        let gap = gap(from, to, GapReason::Unreadable);
        if let Some(outbox) = self.endpoint.outbox()
            && outbox.close_with_last(gap, CloseReason::Slow)
        {
            self.hub
                .retire(Arc::clone(&self.endpoint), CloseReason::Slow);
        }
    }
}

impl SubscriberCursor {
    /// Returns true if an event is after this cursor, subscribed to, and visible to `endpoint`.
    pub(crate) fn should_deliver(
        &self,
        seq: u64,
        event: &NewEvent,
        endpoint: &Endpoint,
        routes: &RouteTable,
    ) -> bool {
        let filters = endpoint.filters.load();
        seq > self.seq
            && filters.match_logged(seq, &event.topic, event.session.as_ref())
            && EventAudience::of(&event.topic, routes).admits(&endpoint.peer.scopes)
    }
}

/// The reason for which a page was not served completely.
enum PageError {
    /// The endpoint closed or its subscription ended.
    Closed,
    Unreadable(WireError),
}

/// Adapts the number of events of the next page, so that large events come in small pages.
fn next_page_events(events: usize, page: &[LoggedEvent]) -> usize {
    let bytes: usize = page
        .iter()
        .map(|event| event.payload.as_ref().map_or(0, Bytes::len))
        .sum();
    if bytes > PAGE_BYTES {
        (events / 2).max(1)
    } else {
        (events * 2).min(PAGE_EVENTS_MAX)
    }
}
