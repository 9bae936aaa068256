//! [`SessionFollower`]: the blocks of one session, as they are and as they change.
//!
//! It subscribes to `session.block`, asks `session.blocks` for the rest, and asks again after a lost
//! connection or a lost change. Other topics can be followed on the same connection; what happened
//! first comes first. Invariants: the blocks are those of the daemon as soon as nothing is missing;
//! at most one request is open.

use crate::client::{Client, ConnectionState};
use crate::error::ClientError;
use crate::events::{BusEvent, EventStream, StreamItem, SubscribeOptions};
use futures_util::future::BoxFuture;
use hob_core::transcript::{BlockList, BlockPage, BlockRequest, ListChange};
use hob_wire::block::Block;
use hob_wire::rooms::agent::RunCompleted;
use hob_wire::rooms::gateway::{GapRange, GapReason};
use hob_wire::rooms::session::{Blocks, SessionBlock, SessionBlocks, SessionBlocksParams};
use hob_wire::{ErrorCode, EventTopic, RunId};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;

/// The most blocks kept by default; older ones are read again with
/// [`SessionFollower::read_older`].
const BLOCKS_MAX: usize = 10_000;
/// The pause before a failed request is sent again.
const RETRY_WAIT: Duration = Duration::from_millis(250);

/// What a follower follows.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// The session's key or id.
    pub session: String,
    /// Further topics of the session, by name.
    pub topics: Vec<String>,
    /// The blocks of one page; the daemon's default when missing.
    pub page_blocks: Option<u32>,
}

impl FollowOptions {
    pub fn to(session: impl Into<String>) -> Self {
        FollowOptions {
            session: session.into(),
            topics: Vec::new(),
            page_blocks: None,
        }
    }
}

/// Something that happened in the session.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowItem {
    /// The blocks changed; [`SessionFollower::blocks`] has them as they are after it. After a page
    /// it may be empty: nothing was missing.
    Blocks(Vec<ListChange>),
    /// An event of another topic.
    Event(BusEvent),
    /// Logged events of other topics that cannot be delivered.
    Gap(GapRange),
}

/// A request on its way.
struct PendingPage {
    is_older: bool,
    answer: BoxFuture<'static, Result<SessionBlocks, ClientError>>,
}

/// Follows one session until it is dropped.
pub struct SessionFollower {
    client: Client,
    options: FollowOptions,
    stream: EventStream,
    state: watch::Receiver<ConnectionState>,
    list: BlockList,
    /// The run whose blocks are read from its first one on.
    run: Option<RunId>,
    pending: Option<PendingPage>,
    /// Changes of pages that are shown once the run is whole.
    held: Vec<ListChange>,
    /// Items that were made together.
    ready: VecDeque<FollowItem>,
}

impl fmt::Debug for SessionFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFollower")
            .field("session", &self.options.session)
            .finish_non_exhaustive()
    }
}

/// What woke the follower.
enum Wakeup {
    Item(Option<Result<StreamItem, ClientError>>),
    State,
    Page(Result<SessionBlocks, ClientError>),
}

impl SessionFollower {
    pub(crate) async fn open(
        client: Client,
        options: FollowOptions,
    ) -> Result<SessionFollower, ClientError> {
        let topics = options.topics.iter().map(String::as_str);
        let topics = topics.chain([SessionBlock::SPEC.topic, RunCompleted::SPEC.topic]);
        let subscription = SubscribeOptions {
            session: Some(options.session.clone()),
            ..SubscribeOptions::to(topics)
        };
        let stream = client.subscribe(subscription).await?;
        Ok(SessionFollower {
            state: stream.state(),
            stream,
            client,
            options,
            list: BlockList::new(BLOCKS_MAX),
            run: None,
            pending: None,
            held: Vec::new(),
            ready: VecDeque::new(),
        })
    }

    /// Reads the blocks of this run from its first one on, however many pages they fill. Call it
    /// before the first [`SessionFollower::next`].
    pub fn read_whole_run(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// The blocks in order, as far as they are known.
    pub fn blocks(&self) -> &[Block] {
        self.list.blocks()
    }

    /// Returns true if nothing is known to be missing.
    pub fn is_current(&self) -> bool {
        self.list.is_current() && self.pending.is_none()
    }

    /// Returns a watch on the state of the connection.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.stream.state()
    }

    /// Returns the next item. An error is final. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Result<FollowItem, ClientError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            self.send_request();
            let pending = &mut self.pending;
            let page = async move {
                match pending {
                    Some(pending) => (&mut pending.answer).await,
                    None => std::future::pending().await,
                }
            };
            // Items come first: those from before a reconnect are all read before it is noticed.
            let wakeup = tokio::select! {
                biased;
                item = self.stream.next() => Wakeup::Item(item),
                Ok(()) = self.state.changed() => Wakeup::State,
                page = page => Wakeup::Page(page),
            };
            match wakeup {
                Wakeup::Item(None) => return None,
                Wakeup::Item(Some(Err(error))) => return Some(Err(error)),
                Wakeup::Item(Some(Ok(item))) => self.read_item(item),
                Wakeup::State => {
                    if *self.state.borrow_and_update() == ConnectionState::Connected {
                        self.pending = None;
                        self.list.disconnect();
                    }
                }
                Wakeup::Page(page) => {
                    let pending = self.pending.take();
                    let is_older = pending.is_some_and(|pending| pending.is_older);
                    if let Err(error) = self.read_page(page, is_older) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// Asks for the page before the first block; returns false if there is none.
    pub fn read_older(&mut self) -> bool {
        let request = self.list.older_request();
        if let Some(request) = request.filter(|_| self.pending.is_none()) {
            self.pending = Some(self.ask(request, true));
        }
        request.is_some()
    }

    fn read_item(&mut self, item: StreamItem) {
        let event = match item {
            StreamItem::Event(event) => event,
            StreamItem::Gap(range) => {
                if range.reason == Some(GapReason::OtherLog) {
                    // Other files: nothing known is of this session.
                    self.forget_all();
                } else {
                    self.list.renew();
                }
                self.ready.push_back(FollowItem::Gap(range));
                return;
            }
        };
        if let Some(payload) = event.read::<SessionBlock>() {
            let mut changes = Vec::new();
            self.list.apply_change(payload.change, &mut changes);
            self.push_changes(changes);
            return;
        }
        if event.topic == RunCompleted::SPEC.topic {
            // Nothing may follow that would show that the last changes were lost.
            self.list.renew();
        }
        self.ready.push_back(FollowItem::Event(event));
    }

    fn read_page(
        &mut self,
        page: Result<SessionBlocks, ClientError>,
        is_older: bool,
    ) -> Result<(), ClientError> {
        let page = match page {
            Ok(page) => page_of(page),
            // The session does not exist yet, or any more. A change shows that it does.
            Err(error) if error.code() == Some(ErrorCode::NotFound) => {
                if !self.list.blocks().is_empty() {
                    self.forget_all();
                }
                BlockPage::default()
            }
            Err(error) if error.is_transient() => {
                if is_older {
                    self.read_older();
                } else {
                    self.list.request_failed();
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if is_older {
            self.list.apply_older(page, &mut self.held);
        } else {
            self.list.apply_page(page, &mut self.held);
        }
        let first = self.list.blocks().first();
        let is_cut = self.run.is_some() && first.is_some_and(|first| first.run_id == self.run);
        if !is_cut || !self.read_older() {
            let changes = std::mem::take(&mut self.held);
            // Also without a change: the follower is current now.
            self.ready.push_back(FollowItem::Blocks(changes));
        }
        Ok(())
    }

    fn forget_all(&mut self) {
        let count = self.list.blocks().len();
        self.pending = None;
        self.list = BlockList::new(BLOCKS_MAX);
        if count > 0 {
            self.push_changes(vec![ListChange::Forgotten { count }]);
        }
    }

    fn push_changes(&mut self, changes: Vec<ListChange>) {
        if !changes.is_empty() {
            self.ready.push_back(FollowItem::Blocks(changes));
        }
    }

    fn send_request(&mut self) {
        if self.pending.is_none()
            && let Some(request) = self.list.next_request()
        {
            self.pending = Some(self.ask(request, false));
        }
    }

    fn ask(&self, request: BlockRequest, is_older: bool) -> PendingPage {
        let params = self.params(request);
        let client = self.client.clone();
        let answer = async move {
            let answer = client.call_with_retry::<Blocks>(&params).await;
            if answer.is_err() {
                tokio::time::sleep(RETRY_WAIT).await;
            }
            answer
        };
        PendingPage {
            is_older,
            answer: Box::pin(answer),
        }
    }

    fn params(&self, request: BlockRequest) -> SessionBlocksParams {
        let (before, after) = match request {
            BlockRequest::Latest => (None, None),
            BlockRequest::Before(seq) => (Some(seq), None),
            BlockRequest::After(seq) => (None, Some(seq)),
        };
        SessionBlocksParams {
            session_key: self.options.session.clone(),
            before,
            after,
            limit: self.options.page_blocks,
            ids: Vec::new(),
        }
    }
}

fn page_of(page: SessionBlocks) -> BlockPage {
    BlockPage {
        blocks: page.blocks,
        before: page.before,
        after: page.after,
        settled: page.settled,
        position: page.position,
    }
}
