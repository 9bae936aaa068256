//! Tests of the splitter: what is one block, and that cuts do not matter.

use super::*;
use proptest::prelude::*;

/// The blocks of a text given at once.
fn blocks(text: &str) -> Vec<String> {
    split_at(text, &[])
}

/// The blocks of a text that is cut at these bytes.
fn split_at(text: &str, cuts: &[usize]) -> Vec<String> {
    let mut splitter = MarkdownSplitter::default();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([text.len()]) {
        let cut = text.floor_char_boundary(cut.clamp(from, text.len()));
        splitter.push(&text[from..cut], &mut pieces);
        from = cut;
    }
    splitter.finish(&mut pieces);
    let mut blocks = vec![String::new()];
    for piece in pieces {
        match piece {
            TextPiece::Boundary => blocks.push(String::new()),
            TextPiece::Text(text) => blocks.last_mut().unwrap().push_str(&text),
        }
    }
    blocks
}

/// Texts and their blocks; `§` marks the boundaries.
const CASES: &[&str] = &[
    "one line",
    "one\ntwo\n",
    "one\n\n§two\n\n\n§three",
    "\n\nfirst after blank lines",
    "# Title\n§text\n§## Next\n\n§more",
    "Title\n=====\n§text",
    "Title\n-----\n§text",
    "text\n\n§---\n§text",
    "text\n§***\n§text",
    "text\n§```rust\nfn main() {}\n\n# no heading\n```\n§after",
    "~~~\n```\n~~~\n\n§after",
    "```\nnever closed\n\n- a\n\n# b\n",
    "a `code` b\n``` not a fence `x`\nc",
    "- a\n- b\n\n- c\n\n  more of c\n\n§text",
    "- a\n\n  ```\n  code\n\n  ```\n- b\n§# Title",
    "- a\n§* b\n§+ c",
    "1. one\n2. two\n\n§1) other list",
    "text\n§- a list interrupts\nlazy line\n\n§text",
    "text\n2. no list here\n1985. nor here\n§1. a list",
    "text\n-\n§under the heading",
    "- a\n  - b\n\n    deep\n\n- c\n\n      code in c\n\n§out",
    "10. ten\n\n    in ten\n\n§   not in ten",
    "> a quote\nlazy\n> more\n\n§> another\n§# Title",
    "text\n§> quote\n> ```\n> code\n§not in the code",
    "    code\n\n    code\n\n§text\n    no code here",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n§text",
    "<div>\ntext\n# no heading\n\n§text",
    "<!-- a\n\nb -->\n§text",
    "<pre>\n\n# raw\n</pre>\n§text",
    "<b>bold</b> text\n§# Title",
    "<my-tag a=\"x>y\" b>\n# raw\n\n§text",
    "text\n<my-tag>\nmore\n§<div>\n\n§text",
    "[a]: /url\n===\nstill the same",
    "- - nested\n  - too\n- - -x\n§- - -\n§text",
    "-\n\n§  not in the item",
    "-\n  in the item\n\n  too",
    "\u{e4}\u{1f600}\n\n§\u{4e2d}\u{6587}\r\n\r\n§end\r\n",
    "#nothashtag\n####### seven\n§# one",
    "\t- tab code\n\n§-\ttab item\n\n\tin the item\n\n§out",
    "- a\n\n\n    still a\n\n§ out",
    "- ```\n§foo\n§  ```\ncode\n\nstill code\n",
    "* * *\n§- x\n***bold*** text",
    "a\n§_ _ _\n§_emphasis_ here",
    "<https://example.org> is a link\n§- item",
];

#[test]
fn blocks_end_where_the_next_begins() {
    for case in CASES {
        let text = case.replace('§', "");
        let expected: Vec<&str> = case.split('§').collect();
        assert_eq!(blocks(&text), expected, "{case:?}");
    }
}

#[test]
fn every_single_cut_gives_the_same_blocks() {
    for case in CASES {
        let text = case.replace('§', "");
        let whole = blocks(&text);
        for cut in 0..=text.len() {
            assert_eq!(split_at(&text, &[cut]), whole, "{text:?} cut at {cut}");
        }
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(split_at(&text, &each), whole, "{text:?} cut everywhere");
    }
}

#[test]
fn words_are_not_held_back() {
    let mut splitter = MarkdownSplitter::default();
    let mut out = Vec::new();
    for (piece, is_held) in [
        ("1", false),
        (" is a number\n", false),
        ("and", false),
        (" goes on\n", false),
        ("-", true),
        (" ", true),
        ("item", false),
        (" text\n", false),
        ("  ", true),
        ("x", false),
    ] {
        splitter.push(piece, &mut out);
        assert_eq!(out.is_empty(), is_held, "{piece:?}");
        out.clear();
    }
}

#[test]
fn a_deep_nesting_is_bounded() {
    let text = "> ".repeat(10_000);
    assert_eq!(blocks(&text), std::slice::from_ref(&text));
    let text = format!("{}\n\nafter", "- ".repeat(10_000) + "x");
    assert_eq!(blocks(&text).len(), 2);
}

/// Text with much Markdown in it.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n"),
        Just("\n"),
        Just("\n\n"),
        Just("- "),
        Just("* "),
        Just("1. "),
        Just("2) "),
        Just("> "),
        Just("# "),
        Just("```"),
        Just("~~~"),
        Just("---"),
        Just("==="),
        Just("    "),
        Just("  "),
        Just("\t"),
        Just("<div>"),
        Just("<b>"),
        Just("</b>"),
        Just("<!--"),
        Just("-->"),
        Just("<pre>"),
        Just("</pre>"),
        Just("[a]: b"),
        Just("| a | b |"),
        Just("|--|--|"),
        Just("text"),
        Just(" "),
        Just("\u{e4}"),
        Just("\r\n"),
        Just("_"),
        Just("+"),
        Just("1"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn cuts_change_nothing(text in markdown(), mut cuts in prop::collection::vec(0_usize..200, 0..20)) {
        cuts.sort_unstable();
        let whole = blocks(&text);
        prop_assert_eq!(whole.concat(), text.clone());
        prop_assert_eq!(split_at(&text, &cuts), whole.clone());
        let each: Vec<usize> = (0..text.len()).collect();
        prop_assert_eq!(split_at(&text, &each), whole);
    }

    /// A block given alone is one block: the boundary before it did not depend on what came before.
    #[test]
    fn a_block_stands_alone(text in markdown()) {
        for block in blocks(&text) {
            prop_assert_eq!(blocks(&block), [block.clone()]);
        }
    }
}
