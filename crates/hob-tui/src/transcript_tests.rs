//! The view of a conversation: what is seen, what stays put, what is laid out. And the test vectors of
//! blocks: every client of `session.block` runs them.

use super::*;
use crate::text::width;
use hob_client::{BlockList, BlockPage, ListChange};
use hob_wire::block::{BlockChange, BlockDetails, BlockStatus};
use proptest::prelude::*;

fn block(id: &str, text: &str) -> Block {
    Block {
        id: id.into(),
        revision: 1,
        kind: BlockKind::Text,
        run_id: None,
        status: BlockStatus::Closed,
        start: 0,
        text: text.into(),
        details: BlockDetails {
            role: Some(Author::Assistant),
            ..BlockDetails::default()
        },
    }
}

/// A list of the client with changes carried over to a transcript.
#[derive(Default)]
struct Pair {
    blocks: Vec<Block>,
    transcript: Transcript,
}

impl Pair {
    fn with(count: usize) -> Pair {
        let mut pair = Pair::default();
        pair.transcript.resize(40, 10);
        for number in 0..count {
            pair.insert(
                number,
                block(&number.to_string(), &format!("block {number}")),
            );
        }
        pair
    }

    fn insert(&mut self, index: usize, block: Block) {
        self.blocks.insert(index, block);
        self.carry(vec![ListChange::Inserted { index }]);
    }

    fn remove(&mut self, index: usize) {
        let block = Box::new(self.blocks.remove(index));
        self.carry(vec![ListChange::Removed { index, block }]);
    }

    fn append(&mut self, index: usize, text: &str) {
        self.blocks[index].text.push_str(text);
        let text = text.to_owned();
        self.carry(vec![ListChange::Appended { index, text }]);
    }

    fn carry(&mut self, changes: Vec<ListChange>) {
        self.transcript
            .apply(BlockUpdate::new(changes, &self.blocks));
        assert_eq!(self.transcript.blocks(), self.blocks);
    }

    fn seen(&mut self) -> Vec<String> {
        let rows = self.transcript.visible();
        rows.iter().map(|row| row.row.text()).collect()
    }
}

#[test]
fn the_end_is_followed_until_somebody_scrolls() {
    let mut pair = Pair::with(20);
    assert_eq!(pair.seen().last().unwrap(), "block 19");
    pair.append(19, " grows");
    assert_eq!(pair.seen().last().unwrap(), "block 19 grows");
    pair.transcript.scroll(-4);
    let before = pair.seen();
    assert_eq!(before.last().unwrap(), "block 17");
    // Nothing that happens above or below moves what is read.
    pair.append(19, "\n\nmore\n\nand more");
    pair.insert(20, block("new", "new"));
    pair.insert(0, block("older", "older\n\nblock"));
    pair.remove(1);
    assert_eq!(pair.seen(), before);
    assert!(pair.transcript.has_unseen());
    pair.transcript.scroll(100);
    assert!(pair.transcript.is_following());
    assert_eq!(pair.seen().last().unwrap(), "new");
}

#[test]
fn a_resize_keeps_the_place_and_the_end() {
    let mut pair = Pair::with(0);
    pair.insert(0, block("long", &"word ".repeat(400)));
    pair.insert(1, block("last", "last"));
    pair.transcript.scroll(-30);
    let place = pair.transcript.visible()[0].number;
    pair.transcript.resize(20, 10);
    let moved = pair.transcript.visible()[0].number;
    assert!(moved > place, "{moved} {place}");
    pair.transcript.resize(40, 10);
    let back = pair.transcript.visible()[0].number;
    assert!(back.abs_diff(place) <= 1, "{back} {place}");
    pair.transcript.follow();
    pair.transcript.resize(15, 6);
    assert_eq!(pair.seen().last().unwrap(), "last");
}

#[test]
fn only_what_is_seen_is_laid_out() {
    let mut pair = Pair::with(3_000);
    pair.transcript.cache = LayoutCache::default();
    pair.seen();
    pair.transcript.scroll(-200);
    pair.seen();
    let laid_out = pair.transcript.cache.count();
    assert!(laid_out < 130, "{laid_out}");
}

#[test]
fn search_goes_up_and_begins_again_at_the_end() {
    let mut pair = Pair::with(60);
    assert!(pair.transcript.search("BLOCK 1", false));
    assert!(
        pair.seen().iter().any(|row| row == "block 19"),
        "{:?}",
        pair.seen()
    );
    assert!(!pair.transcript.search("nowhere", false));
    assert!(!pair.transcript.search("", false));
}

#[test]
fn thinking_and_outputs_fold() {
    let mut pair = Pair::with(0);
    let mut thought = block("k", "first line\nsecond line");
    thought.kind = BlockKind::Thinking;
    pair.insert(0, thought);
    let mut output = block(
        "o",
        &(0..30)
            .map(|it| format!("out {it}\n"))
            .collect::<Vec<_>>()
            .concat(),
    );
    output.kind = BlockKind::ToolOutput;
    pair.insert(1, output);
    assert_eq!(pair.seen()[1], "▸ Thought (2 lines)");
    assert!(pair.seen().iter().any(|row| row == "… 25 more lines"));
    pair.transcript.fold(1);
    pair.transcript.resize(40, 60);
    assert!(pair.seen().iter().any(|row| row == "out 29"));
    pair.transcript.choose(true);
    assert_eq!(pair.transcript.chosen(), Some("o"));
    pair.transcript.choose(true);
    assert_eq!(pair.transcript.chosen(), Some("k"));
    pair.transcript.fold_chosen();
    assert!(pair.seen().iter().any(|row| row == "second line"));
}

#[test]
fn orders_to_the_terminal_never_become_cells() {
    let hostile = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\r\n```\n\u{1b}c\n```";
    for kind in [
        BlockKind::Text,
        BlockKind::Thinking,
        BlockKind::ToolCall,
        BlockKind::ToolOutput,
        BlockKind::Notice,
        BlockKind::Question,
    ] {
        for role in [Author::User, Author::Assistant] {
            let mut it = block("x", hostile);
            it.kind = kind;
            it.details.role = Some(role);
            for row in block_rows::rows(&it, 30, true) {
                let text: String = row.spans.iter().map(|span| span.text.as_str()).collect();
                assert!(!text.chars().any(char::is_control), "{kind:?} {text:?}");
                assert!(!text.contains('\u{202e}'), "{kind:?} {text:?}");
            }
        }
    }
}

#[test]
fn the_tail_and_the_plain_text_are_what_was_said() {
    let mut pair = Pair::with(3);
    let mut question = block("q", "why?");
    question.details.role = Some(Author::User);
    pair.insert(3, question);
    pair.insert(4, block("a", "because"));
    let tail: Vec<String> = pair.transcript.tail(50).iter().map(Row::text).collect();
    assert_eq!(tail, ["", "why?", "", "because"]);
    assert_eq!(pair.transcript.tail(1).len(), 1);
    assert!(
        pair.transcript
            .plain_text()
            .ends_with("❯ why?\n\nbecause\n")
    );
}

/// The blocks without what is not shown: how often they changed, and where they are stored.
fn shown(blocks: &[Block]) -> Vec<Block> {
    let blocks = blocks.iter().cloned();
    blocks
        .map(|mut block| {
            block.revision = 1;
            block.details.seq = None;
            block.details.created_at = None;
            block
        })
        .collect()
}

#[derive(serde::Deserialize)]
struct Vector {
    #[serde(default)]
    changes: Vec<BlockChange>,
    #[serde(default)]
    blocks: Vec<Block>,
}

#[test]
fn the_test_vectors_of_blocks_give_their_blocks() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../hob-core/tests/vectors/transcript"
    );
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let vector: Vector = serde_json::from_str(&text).unwrap();
        let mut list = BlockList::new(usize::MAX);
        let mut transcript = Transcript::default();
        transcript.resize(30, 12);
        let mut changes = Vec::new();
        list.next_request();
        list.apply_page(BlockPage::default(), &mut changes);
        for change in vector.changes {
            list.apply_change(change, &mut changes);
            transcript.apply(BlockUpdate::new(
                std::mem::take(&mut changes),
                list.blocks(),
            ));
            assert_eq!(
                shown(transcript.blocks()),
                shown(list.blocks()),
                "{}",
                path.display()
            );
            transcript.visible();
        }
        let expected = shown(&vector.blocks);
        assert_eq!(shown(transcript.blocks()), expected, "{}", path.display());
        count += 1;
    }
    assert!(count > 15, "{count}");
}

proptest! {
    #[test]
    fn any_changes_and_scrolls_leave_a_whole_view(
        steps in proptest::collection::vec((0u8..8, 0usize..30, "[a-z |*`\n-]{0,20}"), 0..60)
    ) {
        let mut pair = Pair::with(5);
        for (step, at, text) in steps {
            let count = pair.blocks.len();
            match step {
                0 => pair.insert(at.min(count), block(&format!("{at}{text}{count}"), &text)),
                1 if count > 0 => pair.remove(at % count),
                2 if count > 0 => pair.append(at % count, &text),
                3 => { pair.transcript.scroll(-at.cast_signed()); }
                4 => { pair.transcript.scroll(at.cast_signed()); }
                5 => pair.transcript.resize(at + 4, 10),
                6 if count > 0 => pair.transcript.fold(at % count),
                7 => { pair.transcript.search(&text, true); }
                _ => {}
            }
            let columns = pair.transcript.columns;
            let rows = pair.transcript.visible();
            prop_assert!(rows.len() <= 10);
            for row in rows {
                let text: String = row.row.spans.iter().map(|it| it.text.as_str()).collect();
                prop_assert!(width(&text) <= columns.max(4), "{:?}", row);
            }
        }
    }
}
