//! What pages become.

use super::{ExtractedPage, extract};
use hob_net::Url;
use proptest::prelude::*;

fn told(html: &str) -> ExtractedPage {
    let base = Url::parse("https://example.com/docs/page?x=1").expect("is a URL");
    extract(html, &base, false, 100_000)
}

fn plain(html: &str) -> String {
    let base = Url::parse("https://example.com/").expect("is a URL");
    extract(html, &base, true, 100_000).text
}

#[test]
fn an_ordinary_page_becomes_ordinary_markdown() {
    let page = told(
        "<!doctype html><html><head><title>A &amp; B\n page</title><style>x{}</style></head><body>
         <h1>Big <em>news</em></h1>
         <p>First   line<br>second, <b>bold</b> and <code>x = 1</code>.</p>
         <ul><li>one<li><a href='/two'>two</a><ol><li>deep</li><li>deeper</li></ol></li></ul>
         <blockquote><p>said</p><p>more</p></blockquote>
         <pre><code>fn main() {\n    run();\n}</code></pre>
         <hr><p>end</p></body></html>",
    );
    assert_eq!(page.title.as_deref(), Some("A & B page"));
    assert_eq!(
        page.text,
        "# Big *news*\n\nFirst line\nsecond, **bold** and `x = 1`.\n\n- one\n- [two](https://example.com/two)\n  1. deep\n  2. deeper\n\n> said\n>\n> more\n\n```\nfn main() {\n    run();\n}\n```\n\n---\n\nend"
    );
    assert!(!page.is_cut);
}

#[test]
fn links_are_absolute_and_only_of_the_web() {
    let links = |href: &str| told(&format!("<a href=\"{href}\">x</a>")).text;
    assert_eq!(links("../a b"), "[x](https://example.com/a%20b)");
    assert_eq!(links("//other.org/y"), "[x](https://other.org/y)");
    assert_eq!(
        links("#part"),
        "[x](https://example.com/docs/page?x=1#part)"
    );
    assert_eq!(links("mailto:a@b.c"), "[x](mailto:a@b.c)");
    for href in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " \tjava\nscript:alert(1)",
        "data:text/html,hi",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://x/y",
        "",
    ] {
        assert_eq!(links(href), "x", "{href}");
    }
    let based = told("<base href='https://cdn.net/z/'><a href=q>x</a><img src=i.png alt='a  b'>");
    assert_eq!(
        based.text,
        "[x](https://cdn.net/z/q)![a b](https://cdn.net/z/i.png)"
    );
    let bad_base = told("<base href='javascript:x'><a href=q>x</a>");
    assert_eq!(bad_base.text, "[x](https://example.com/docs/q)");
    assert_eq!(
        told("<img src=data:image/png;base64,AAAA alt=pic><img src=x>").text,
        "pic"
    );
    assert_eq!(
        told("<a href=/1>one<a href=/2>two").text,
        "[one](https://example.com/1)[two](https://example.com/2)"
    );
    assert_eq!(told("a <a href=/1> </a> b").text, "a b");
}

#[test]
fn what_nobody_sees_is_left_out() {
    for hidden in [
        "<script>canary</script>",
        "<script>if (a < b) { '</div>canary' }</script>",
        "<style>canary</style>",
        "<!-- canary -->",
        "<noscript>canary</noscript>",
        "<template><p>canary</p></template>",
        "<iframe>canary</iframe>",
        "<svg><text>canary</text></svg>",
        "<p hidden>canary</p>",
        "<div hidden=''><div>canary</div>canary</div>",
        "<p style='display: none'>canary</p>",
        "<p style='color:red; DISPLAY : NONE !important;'>canary</p>",
        "<span style=visibility:hidden>canary</span>",
        "<span style='font-size:0'>canary</span>",
        "<div aria-hidden=true>canary</div>",
        "<input type=hidden value=canary>",
        "<select><option>canary</select>",
    ] {
        let page = told(&format!("before {hidden} after"));
        assert!(!page.text.contains("canary"), "{hidden}: {}", page.text);
        assert!(page.text.starts_with("before"), "{hidden}");
        assert!(page.text.ends_with("after"), "{hidden}: {}", page.text);
    }
    assert_eq!(told("<p hidden>no<p>yes").text, "yes");
    assert_eq!(told("a <svg/> b").text, "a b");
}

#[test]
fn tables_have_rows_and_a_head() {
    let table = "<table><tr><th>a<th>b</tr><tr><td><p>1</p><p>2</p></td><td>x<table><tr><td>in</table></td></tr></table>after";
    assert_eq!(
        told(table).text,
        "| a | b |\n| --- | --- |\n| 1 2 | x in |\n\nafter"
    );
    assert_eq!(plain(table), "a\tb\n1 2\tx in\n\nafter");
}

#[test]
fn plain_text_has_no_marks() {
    let html = "<h2>T</h2><p><b>x</b> <a href=/y>y</a> <code>z</code></p><ul><li>i</ul><blockquote>q</blockquote>";
    assert_eq!(plain(html), "T\n\nx y z\n\n- i\n\nq");
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    let text = told("<pre>a\n````\nb</pre>").text;
    assert_eq!(text, "`````\na\n````\nb\n`````");
}

#[test]
fn depth_and_length_do_no_harm() {
    for tag in [
        "div",
        "ul",
        "blockquote",
        "table",
        "b",
        "a href=/x",
        "svg",
        "pre",
    ] {
        let page = told(&format!("{}words", format!("<{tag}>").repeat(40_000)));
        assert!(page.text.len() < 200_000, "{tag}: {}", page.text.len());
    }
    let long = told(&"<p>word</p>".repeat(50_000));
    assert!(
        long.is_cut && long.text.len() < 100_100,
        "{}",
        long.text.len()
    );
}

proptest! {
    #[test]
    fn no_page_breaks_it(html in "(<(/?)(p|div|ul|ol|li|table|tr|td|a href=x|b|pre|h2|blockquote|script|svg|title|p hidden)>|[a-z` \n&;]{0,6}|<|>|\"|')*") {
        let page = told(&html);
        prop_assert!(!page.text.contains("\n\n\n") || html.contains("pre"));
    }
}
