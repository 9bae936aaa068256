//! The test vectors of the transcript, `tests/vectors/transcript/*.json`: inputs of the fold, the
//! changes and blocks they make, and what a client makes of the changes as they arrive. Other
//! clients of `session.block` run the same files. `HOB_UPDATE_VECTORS=1` writes the results anew.

use hob_core::transcript::{
    BlockList, BlockPage, BlockRequest, ListChange, TranscriptFold, TranscriptInput,
};
use hob_wire::block::{Block, BlockChange};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vector {
    about: String,
    /// What happens, in order.
    inputs: Vec<TranscriptInput>,
    /// What reaches a client; all changes in order, after an empty page, if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deliveries: Vec<Delivery>,
    /// The changes that the inputs make. `position` 1 is the first.
    #[serde(default)]
    changes: Vec<BlockChange>,
    /// The blocks at the end, for the daemon and for the client.
    #[serde(default)]
    blocks: Vec<Block>,
}

/// A thing that reaches a client, or happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Delivery {
    /// The change with this position.
    Change(u64),
    /// The answer to the client's request, made after this change.
    Page(u64),
    /// The client has nothing to ask for.
    Complete(bool),
    Disconnect(bool),
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/transcript");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn without_revision(block: &Block) -> Block {
    Block {
        revision: 1,
        ..block.clone()
    }
}

/// The fold after the inputs, its changes, and its page after each change.
fn fold(inputs: &[TranscriptInput]) -> (Vec<BlockChange>, Vec<(u64, BlockPage)>) {
    let mut fold = TranscriptFold::new(0, 0);
    let mut changes = Vec::new();
    let mut stored = Vec::new();
    let mut pages = vec![(0, BlockPage::default())];
    for input in inputs {
        if matches!(
            input,
            TranscriptInput::Message(_) | TranscriptInput::RunEnded { .. }
        ) {
            stored.push(input.clone());
        }
        fold.apply(input.clone(), &mut changes);
        let mut blocks = TranscriptFold::read_stored(stored.clone());
        blocks.retain(|block| block.details.seq.is_some_and(|seq| seq <= fold.settled()));
        blocks.extend(fold.blocks().cloned());
        let page = BlockPage {
            blocks,
            before: None,
            after: None,
            settled: fold.settled(),
            position: fold.position(),
        };
        pages.push((fold.position(), page));
    }
    (changes, pages)
}

/// The last page that was made at or before this position, for a request.
fn page_at(pages: &[(u64, BlockPage)], position: u64, request: BlockRequest) -> BlockPage {
    let found = pages.iter().rev().find(|(at, _)| *at <= position);
    let mut page = found.unwrap().1.clone();
    if let BlockRequest::After(after) = request {
        page.blocks
            .retain(|block| block.details.seq.is_none_or(|seq| seq > after));
    }
    page
}

/// The blocks of a client that receives these deliveries.
fn deliver(vector: &Vector, pages: &[(u64, BlockPage)]) -> Vec<Block> {
    let mut list = BlockList::new(usize::MAX);
    let mut out: Vec<ListChange> = Vec::new();
    let every = [Delivery::Page(0)].into_iter();
    let every = every.chain((1..=vector.changes.len() as u64).map(Delivery::Change));
    let deliveries = match &vector.deliveries[..] {
        [] => every.collect(),
        some => some.to_vec(),
    };
    for delivery in deliveries {
        match delivery {
            Delivery::Change(position) => {
                let change = vector.changes.iter().find(|it| it.position == position);
                list.apply_change(change.unwrap().clone(), &mut out);
            }
            Delivery::Page(position) => {
                let request = list.next_request().expect("a request");
                list.apply_page(page_at(pages, position, request), &mut out);
            }
            Delivery::Complete(is) => assert_eq!(list.next_request().is_none(), is),
            Delivery::Disconnect(_) => list.disconnect(),
        }
    }
    assert!(list.is_current(), "{}", vector.about);
    list.blocks().to_vec()
}

#[test]
fn every_vector_gives_its_blocks() {
    let files = files();
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut vector: Vector = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let (changes, pages) = fold(&vector.inputs);
        let blocks = pages.last().unwrap().1.blocks.clone();
        if is_update() {
            vector.changes = changes;
            vector.blocks = blocks;
            let text = serde_json::to_string_pretty(&vector).unwrap();
            std::fs::write(&file, text + "\n").unwrap();
            continue;
        }
        let name = file.display();
        assert_eq!(changes, vector.changes, "{name}");
        assert_eq!(blocks, vector.blocks, "{name}");
        let client: Vec<Block> = deliver(&vector, &pages)
            .iter()
            .map(without_revision)
            .collect();
        let plain: Vec<Block> = blocks.iter().map(without_revision).collect();
        assert_eq!(client, plain, "{name}");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for whoever runs the tests, not an input of the product"
)]
fn is_update() -> bool {
    std::env::var_os("HOB_UPDATE_VECTORS").is_some()
}
