//! The rule fires on a product's name in any spelling, outside the folders that may have it.

use super::check;
use crate::tidy::fixtures::{page, workspace};

fn found(path: &str, text: &str) -> Vec<usize> {
    let dialects = ["agentloop", "archy", "looprunner", "pryx", "vargos"];
    let dialects = dialects.map(|name| format!("crates/hob-dialects/src/{name}/mod.rs"));
    let mut pages = vec![page("crates/hob-dialects/src/lib.rs", "")];
    pages.extend(dialects.iter().map(|path| page(path, "")));
    pages.push(page(path, text));
    let findings = check(&workspace(Vec::new()), &pages);
    findings.into_iter().map(|found| found.line).collect()
}

#[test]
fn every_spelling_is_found_with_its_line() {
    for text in [
        "// as AgentLoop does",
        "struct LoopRunnerClient;",
        "// Loop Runner's order",
        "let loop_runner = 1;",
        "\"VARGOS_PORT\"",
        "fn archy_socket() {}",
        "PRYX_LISTEN_ADDR",
    ] {
        let text = format!("//! A file.\n{text}\n");
        assert_eq!(found("crates/hob-gateway/src/a.rs", &text), [2], "{text}");
    }
    assert_eq!(found("crates/hob-wire/src/archy.rs", "//! Types.\n"), [1]);
}

#[test]
fn dialects_docs_and_ordinary_words_pass() {
    for path in [
        "crates/hob-dialects/src/archy/mod.rs",
        "crates/hob-bench/src/rows/archy.rs",
        "crates/hob/tests/it/archy/mod.rs",
        "docs/archy.md",
    ] {
        assert!(found(path, "Archy").is_empty(), "{path}");
    }
    let text = "// a hierarchy of loops; the loop is run";
    assert!(found("crates/hob-core/src/a.rs", text).is_empty());
}
