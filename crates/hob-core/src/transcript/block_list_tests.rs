//! Tests of the client's list: lost, repeated and reordered changes end in the daemon's list.

use super::super::scenario_tests::{Happening, Session, happening, without_revisions};
use super::*;
use crate::transcript::TranscriptFold;
use proptest::prelude::*;

/// What becomes of a change on its way.
#[derive(Clone, Copy, Debug)]
enum Delivery {
    Now,
    Lost,
    Twice,
    /// After the next one.
    Late,
    /// The connection is lost.
    Disconnect,
    /// The open request is answered before it.
    Answer,
    /// The answer to a request made now comes after it.
    AnswerLate,
}

fn delivery() -> impl Strategy<Value = Delivery> {
    prop_oneof![
        12 => Just(Delivery::Now),
        2 => Just(Delivery::Lost),
        2 => Just(Delivery::Twice),
        2 => Just(Delivery::Late),
        1 => Just(Delivery::Disconnect),
        3 => Just(Delivery::Answer),
        2 => Just(Delivery::AnswerLate),
    ]
}

/// A client with its connection.
struct Client {
    list: BlockList,
    mirror: Vec<Block>,
    out: Vec<ListChange>,
    request: Option<BlockRequest>,
    page: Option<BlockPage>,
    late: Vec<BlockChange>,
    page_seqs: u64,
}

impl Client {
    fn new(page_seqs: u64) -> Self {
        Client {
            list: BlockList::new(usize::MAX),
            mirror: Vec::new(),
            out: Vec::new(),
            request: None,
            page: None,
            late: Vec::new(),
            page_seqs,
        }
    }

    fn deliver(&mut self, change: BlockChange, how: Delivery, session: &Session) {
        match how {
            Delivery::Now => self.apply(change),
            Delivery::Lost => {}
            Delivery::Twice => {
                self.apply(change.clone());
                self.apply(change);
            }
            Delivery::Late => return self.late.push(change),
            Delivery::Disconnect => {
                self.request = None;
                self.page = None;
                self.late.clear();
                self.list.disconnect();
            }
            Delivery::Answer => {
                self.answer(session);
                self.apply(change);
            }
            Delivery::AnswerLate => {
                self.ask(session);
                self.apply(change);
            }
        }
        for change in std::mem::take(&mut self.late) {
            self.apply(change);
        }
    }

    /// Sends the next request; the daemon answers at once, the answer arrives later.
    fn ask(&mut self, session: &Session) {
        if let Some(request) = self.list.next_request() {
            self.page = Some(session.page(request, self.page_seqs));
        }
    }

    fn answer(&mut self, session: &Session) {
        if self.page.is_none() {
            self.ask(session);
        }
        if let Some(page) = self.page.take() {
            self.list.apply_page(page, &mut self.out);
            self.follow();
        }
    }

    fn apply(&mut self, change: BlockChange) {
        self.list.apply_change(change, &mut self.out);
        self.follow();
    }

    /// Checks that what the list reports is what happened to it.
    fn follow(&mut self) {
        for change in self.out.drain(..) {
            match change {
                ListChange::Inserted { index } => self.mirror.insert(index, placeholder()),
                ListChange::Removed { index, .. } => {
                    self.mirror.remove(index);
                }
                ListChange::Appended { index, text } => self.mirror[index].text.push_str(&text),
                ListChange::Changed { index } => self.mirror[index] = placeholder(),
                ListChange::Forgotten { count } => {
                    self.mirror.drain(..count);
                }
            }
        }
        assert_eq!(self.mirror.len(), self.list.blocks().len());
        for (mirror, block) in self.mirror.iter_mut().zip(self.list.blocks()) {
            if mirror.id == "new" {
                *mirror = block.clone();
            }
            assert_eq!(mirror.text, block.text);
            assert_eq!(mirror.id, block.id);
        }
    }
}

fn placeholder() -> Block {
    Block {
        id: "new".to_owned(),
        revision: 0,
        kind: hob_wire::block::BlockKind::Notice,
        run_id: None,
        status: BlockStatus::Open,
        start: 0,
        text: String::new(),
        details: hob_wire::block::BlockDetails::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Any prefix, any loss, repeat or reorder, and then a page: the whole.
    #[test]
    fn a_page_mends_every_loss(
        happenings in prop::collection::vec((happening(), prop::collection::vec(delivery(), 1..4)), 1..80),
        page_seqs in 1_u64..20,
    ) {
        let mut session = Session::new();
        let mut client = Client::new(page_seqs);
        for (what, deliveries) in happenings {
            let known = session.changes.len();
            session.happens(what);
            let new = session.changes[known..].iter().cloned();
            for (change, how) in new.into_iter().zip(deliveries.iter().cycle()) {
                client.deliver(change, *how, &session);
            }
        }
        session.finish();
        client.list.renew();
        // Each round fetches one page; the session is at rest, so they come to an end.
        for _ in 0..200 {
            client.answer(&session);
        }
        prop_assert!(client.list.is_current());
        prop_assert_eq!(without_revisions(client.list.blocks()), without_revisions(&session.all()));
    }

    /// A client that receives everything never asks again, and has the daemon's list at any time.
    #[test]
    fn nothing_is_asked_twice_without_a_loss(happenings in prop::collection::vec(happening(), 1..80)) {
        let mut session = Session::new();
        let mut client = Client::new(u64::MAX / 2);
        client.answer(&session);
        for what in happenings {
            let known = session.changes.len();
            session.happens(what);
            for change in session.changes[known..].iter().cloned() {
                client.apply(change);
            }
            prop_assert_eq!(client.list.next_request(), None);
            let all = session.all();
            prop_assert_eq!(without_revisions(client.list.blocks()), without_revisions(&all));
        }
    }

    /// What was streamed and what is read from the stored messages are the same blocks.
    #[test]
    fn history_and_live_agree(happenings in prop::collection::vec(happening(), 1..120)) {
        let mut session = Session::new();
        let mut client = Client::new(u64::MAX / 2);
        client.answer(&session);
        for what in happenings {
            session.happens(what);
        }
        session.finish();
        for change in session.changes.clone() {
            client.apply(change);
        }
        let stored = TranscriptFold::read_stored(session.stored.clone());
        prop_assert_eq!(without_revisions(client.list.blocks()), without_revisions(&stored));
        prop_assert!(session.fold.is_idle());
    }
}

#[test]
fn changes_beyond_a_gap_wait_for_a_page() {
    let mut session = Session::new();
    session.happens(Happening::Send);
    let mut client = Client::new(100);
    client.answer(&session);
    session.happens(Happening::End(false));
    let known = session.changes.len();
    session.happens(Happening::Text("one ".to_owned()));
    session.happens(Happening::Text("two ".to_owned()));
    session.happens(Happening::Text("three".to_owned()));
    let new = session.changes[known..].to_vec();
    let last = |client: &Client| client.list.blocks().last().map(|block| block.text.clone());
    for change in &session.changes[..=known].to_vec() {
        client.apply(change.clone());
    }
    client.apply(new[2].clone());
    assert_eq!(last(&client).as_deref(), Some("one "));
    assert!(!client.list.is_current());
    client.apply(new[1].clone());
    client.answer(&session);
    assert_eq!(last(&client).as_deref(), Some("one two three"));
    assert!(client.list.is_current());
    assert_eq!(client.list.next_request(), None);
}

#[test]
fn the_oldest_blocks_are_forgotten() {
    let mut session = Session::new();
    let mut list = BlockList::new(3);
    let mut out = Vec::new();
    let request = list.next_request().unwrap();
    list.apply_page(session.page(request, 10), &mut out);
    for _ in 0..10 {
        session.happens(Happening::Send);
    }
    for change in session.changes.clone() {
        list.apply_change(change, &mut out);
    }
    let ids: Vec<&str> = list
        .blocks()
        .iter()
        .map(|block| block.id.as_str())
        .collect();
    assert_eq!(ids, ["m8/t1", "m9/t1", "m10/t1"]);
    assert_eq!(list.older_request(), Some(BlockRequest::Before(8)));
}
