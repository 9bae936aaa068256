//! Serves a link that asked for the past (`since`), from the log and at the link's own pace,
//! until the pump can take it over. Nothing volatile is shown meanwhile.
//!
//! Invariant: what left the log is named in a `gateway.gap` before what came after it, and the
//! next event's `prev` is the end of that gap.

use crate::board::logged_delivery;
use crate::delivery::{Delivery, gap};
use crate::event::{LoggedEvent, NewEvent};
use crate::filter::Audience;
use crate::hub::Hub;
use crate::outbox::Refused;
use crate::party::{Home, Party};
use crate::peer::Closed;
use crate::pump::Command;
use crate::routes::Routes;
use bytes::Bytes;
use hob_wire::WireError;
use hob_wire::rooms::gateway::GapReason;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::oneshot;

/// Events of the first page; more or fewer follow, by their size.
const PAGE_EVENTS: usize = 16;
const PAGE_EVENTS_MAX: usize = 512;
/// A page is meant to hold this much at the most.
const PAGE_BYTES: usize = 1024 * 1024;
/// How often a log that cannot be read is tried again, and how long between.
const READ_TRIES: u32 = 8;
const READ_RETRY: Duration = Duration::from_millis(250);

/// How far a subscriber was served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// Everything up to here was delivered or did not match.
    pub(crate) seq: u64,
    /// The last that was delivered: the next one's `prev`.
    pub(crate) prev: Option<u64>,
}

/// Asks the pump to take a link over.
#[derive(Debug)]
pub(crate) struct Resume {
    pub(crate) link: u64,
    pub(crate) cursor: Cursor,
    /// Also tells which catch-up of the link is asking.
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) reply: oneshot::Sender<Resumed>,
}

#[derive(Debug)]
pub(crate) enum Resumed {
    /// The pump serves the link from now on.
    Attached,
    /// The subscription is over.
    Ended,
    /// Served up to here; ask again when the outbox has room.
    Paused(Cursor),
    /// What comes next is only in the log.
    ReadLog,
}

#[derive(Debug)]
pub(crate) struct CatchUp {
    hub: Arc<Hub>,
    party: Arc<Party>,
    cursor: Cursor,
    cancelled: Arc<AtomicBool>,
    page_events: usize,
}

impl CatchUp {
    pub(crate) fn new(
        hub: Arc<Hub>,
        party: Arc<Party>,
        cursor: Cursor,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        CatchUp {
            hub,
            party,
            cursor,
            cancelled,
            page_events: PAGE_EVENTS,
        }
    }

    pub(crate) async fn run(mut self) {
        while let Some(resumed) = self.ask().await {
            match resumed {
                Resumed::Attached | Resumed::Ended => return,
                Resumed::Paused(cursor) => {
                    self.cursor = cursor;
                    if let Some(outbox) = self.party.outbox() {
                        outbox.wait_for_room().await;
                    }
                }
                Resumed::ReadLog => match self.serve_page().await {
                    Ok(()) => {}
                    Err(Stopped::Refused) => return,
                    Err(Stopped::Unreadable(error)) => {
                        tracing::error!(
                            link = self.party.id,
                            "the event log cannot be read: {error}"
                        );
                        // A room has nowhere else to go: it keeps trying.
                        if self.party.home == Home::Outside {
                            return self.give_up();
                        }
                    }
                },
            }
        }
    }

    async fn ask(&self) -> Option<Resumed> {
        let (reply, answer) = oneshot::channel();
        let resume = Resume {
            link: self.party.id,
            cursor: self.cursor,
            cancelled: Arc::clone(&self.cancelled),
            reply,
        };
        self.hub.pump.send(Command::Resume(resume)).await.ok()?;
        answer.await.ok()
    }

    async fn serve_page(&mut self) -> Result<(), Stopped> {
        // Taken before the page is read: up to here, what is not in the page is nowhere.
        let last = self.hub.log.bounds().last;
        let page = self.read().await.map_err(Stopped::Unreadable)?;
        let kept_from = self.hub.log.bounds().first;
        let page_from = page.first().map_or(u64::MAX, |event| event.seq);
        let gap_to = kept_from.min(page_from).saturating_sub(1);
        if gap_to > self.cursor.seq {
            let from = self.cursor.seq + 1;
            self.deliver(gap(from, gap_to, GapReason::Expired)).await?;
            self.cursor = Cursor {
                seq: gap_to,
                prev: Some(gap_to),
            };
        }
        self.page_events = next_page_events(self.page_events, &page);
        if page.is_empty() {
            self.cursor.seq = self.cursor.seq.max(last);
        }
        for event in page {
            let seq = event.seq;
            let event = Arc::new(event.into_new());
            let wanted = {
                let routes = self.hub.registry.routes();
                self.cursor.wants(seq, &event, &self.party, &routes)
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
                // Held while reading only: a stalled consumer keeps nobody from the log.
                let _turn = self.hub.log_readers.acquire().await;
                self.hub.log.page(self.cursor.seq, self.page_events).await
            };
            match page {
                Err(_) if tries < READ_TRIES => tries += 1,
                done => return done,
            }
            tokio::time::sleep(READ_RETRY).await;
        }
    }

    async fn deliver(&self, delivery: Delivery) -> Result<(), Stopped> {
        let Some(outbox) = self.party.outbox() else {
            return Err(Stopped::Refused);
        };
        let pushed = outbox.push_waiting(delivery, &self.cancelled).await;
        pushed.map_err(|_: Refused| Stopped::Refused)
    }

    /// The log stays unreadable: the link is told what it misses, and may come back for it.
    fn give_up(&self) {
        let from = self.cursor.seq + 1;
        let to = self.hub.log.bounds().last.max(from);
        let gap = gap(from, to, GapReason::Unreadable);
        if let Some(outbox) = self.party.outbox()
            && outbox.close_after(gap, Closed::Slow)
        {
            self.hub.retire(Arc::clone(&self.party), Closed::Slow);
        }
    }
}

impl Cursor {
    /// Whether an event comes next for `party`: after this cursor, asked for, and for its eyes.
    pub(crate) fn wants(&self, seq: u64, event: &NewEvent, party: &Party, routes: &Routes) -> bool {
        let filters = party.filters.load();
        seq > self.seq
            && filters.match_logged(seq, &event.topic, event.session.as_ref())
            && Audience::of(&event.topic, routes).admits(&party.peer.scopes)
    }
}

/// Why a page was not served to its end.
enum Stopped {
    /// The link closed or its subscription ended.
    Refused,
    Unreadable(WireError),
}

/// Small events come in large pages and large ones in small, so that a page stays small.
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
