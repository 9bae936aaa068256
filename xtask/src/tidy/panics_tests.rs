//! The panic rule fires on every way to give up, also inside macros, and spares tests.

use super::check;
use crate::tidy::fixtures::source;

fn found(path: &str, text: &str) -> Vec<(usize, String)> {
    let findings = check(&source(path, text)).into_iter();
    findings.map(|found| (found.line, found.what)).collect()
}

#[test]
fn each_way_to_give_up_is_found() {
    for text in [
        "fn a() { b().unwrap(); }",
        "fn a() { format!(\"{}\", b().unwrap()); }",
        "fn a() { b().expect(\"c\"); }",
        "fn a() { vec![b().expect(\"c\")]; }",
        "fn a() { panic!(\"b\") }",
        "fn a() { select! { x => todo!() } }",
        "impl A { fn a(&self) { unimplemented!() } }",
        "trait A { fn a(&self) { self.b().unwrap(); } }",
        "const A: u32 = B.unwrap();",
        "macro_rules! a { () => { b().unwrap() }; }",
        "fn a() { dbg!(1); }",
    ] {
        assert_eq!(found("crates/a/src/a.rs", text).len(), 1, "{text}");
    }
}

#[test]
fn the_line_is_the_callers() {
    let text = "fn a() {\n    let b = 1;\n    c()\n        .unwrap();\n}\n";
    assert_eq!(found("a.rs", text)[0].0, 4);
}

#[test]
fn tests_may_give_up() {
    let text = "fn a() { b().unwrap(); panic!(); }";
    assert!(found("crates/a/src/a_tests.rs", text).is_empty());
    assert!(found("crates/a/tests/it/a.rs", text).is_empty());
    for text in [
        "#[cfg(test)] mod tests { fn a() { b().unwrap(); } }",
        "#[tokio::test] async fn a() { b().unwrap(); }",
        "#[test] fn a() { b().unwrap(); }",
    ] {
        assert!(found("crates/a/src/a.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn a_stated_invariant_permits_an_expect_but_no_unwrap() {
    let above = "#[expect(clippy::expect_used, reason = \"the row is there\")]";
    let text = format!("{above} fn a() {{ b().expect(\"row\"); }}");
    assert!(found("a.rs", &text).is_empty());
    let text = format!("fn a() {{ {above} let c = b().expect(\"row\"); }}");
    assert!(found("a.rs", &text).is_empty());
    let text = format!("{above} fn a() {{ b().unwrap(); }}");
    assert_eq!(found("a.rs", &text).len(), 1);
    let text = format!("{above} fn a() {{}} fn b() {{ c().expect(\"row\"); }}");
    assert_eq!(found("a.rs", &text).len(), 1, "it ends with its item");
}

#[test]
fn a_silenced_lint_needs_a_reason() {
    let text = "#[allow(clippy::panic)] fn a() {}";
    assert_eq!(
        found("a.rs", text)[0].1,
        "a lint is silenced without a reason"
    );
    let text = "#[allow(clippy::panic, reason = \"b\")] fn a() { panic!() }";
    assert!(found("a.rs", text).is_empty());
}

#[test]
fn words_that_only_look_alike_pass() {
    for text in [
        "fn a() { b().unwrap_or(1); }",
        "fn a() { unwrap(); }",
        "fn a() { parser.expect_comma(); }",
        "fn a() { b(\"x.unwrap()\"); }",
        "fn a() { assert!(b); }",
    ] {
        assert!(found("a.rs", text).is_empty(), "{text}");
    }
}
