//! Screens become pictures.

use super::*;

#[test]
fn colours_become_spans_and_markup_is_escaped() {
    assert_eq!(spans("a <b> & c"), "a &lt;b&gt; &amp; c");
    assert_eq!(
        spans("\u{1b}[32m+new\u{1b}[0m plain \u{1b}[2mdim"),
        "<tspan fill=\"#98c379\">+new</tspan> plain <tspan fill=\"#8a919e\">dim</tspan>"
    );
    let picture = svg("one\ntwo\n\n");
    assert_eq!(picture.matches("<text").count(), 2, "{picture}");
    assert!(picture.ends_with("</svg>\n"));
}
