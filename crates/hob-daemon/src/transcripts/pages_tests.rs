//! Pages keep whole messages; ids say where to look.

use super::*;
use hob_wire::block::{BlockDetails, BlockKind, BlockStatus};

fn block(number: usize, seq: u64) -> Block {
    Block {
        id: format!("m{seq}/t{number}"),
        revision: 1,
        kind: BlockKind::Text,
        run_id: None,
        status: BlockStatus::Closed,
        start: 0,
        text: String::new(),
        details: BlockDetails {
            seq: Some(seq),
            ..BlockDetails::default()
        },
    }
}

/// Three messages with one, three and two blocks.
fn page() -> SessionBlocks {
    let seqs = [5, 6, 6, 6, 7, 7];
    SessionBlocks {
        blocks: seqs
            .iter()
            .enumerate()
            .map(|(number, seq)| block(number, *seq))
            .collect(),
        before: Some(5),
        ..SessionBlocks::default()
    }
}

#[test]
fn the_oldest_messages_go_whole_and_enough_blocks_stay() {
    for (wanted, left, before) in [
        (1, 2, 7),
        (2, 2, 7),
        (3, 5, 6),
        (5, 5, 6),
        (6, 6, 5),
        (9, 6, 5),
    ] {
        let mut page = page();
        drop_oldest(&mut page, wanted);
        assert_eq!(page.blocks.len(), left, "{wanted}");
        assert_eq!(page.before, Some(before), "{wanted}");
    }
}

#[test]
fn the_newest_messages_go_whole_and_the_next_page_begins_with_them() {
    for (wanted, left, after) in [
        (1, 1, Some(5)),
        (2, 4, Some(6)),
        (4, 4, Some(6)),
        (5, 6, None),
        (9, 6, None),
    ] {
        let mut page = page();
        drop_newest(&mut page, wanted);
        assert_eq!(page.blocks.len(), left, "{wanted}");
        assert_eq!(page.after, after, "{wanted}");
    }
}

#[test]
fn an_id_says_where_its_block_is_stored() {
    let run: RunId = "0190a000-0000-7000-8000-000000000001"
        .parse()
        .expect("an id");
    for (id, place) in [
        ("m12/t1".to_owned(), Some(BlockPlace::Message(12))),
        (format!("{run}/3/2/o1"), Some(BlockPlace::Step(run, 3))),
        (format!("{run}/n1"), Some(BlockPlace::RunEnd(run))),
        (format!("{run}/end"), Some(BlockPlace::RunEnd(run))),
        ("m/t1".to_owned(), None),
        ("nonsense".to_owned(), None),
    ] {
        assert_eq!(BlockPlace::of(&id), place, "{id}");
    }
}
