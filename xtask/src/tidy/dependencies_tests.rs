//! The paper rule fires on a crate without a row, a row without a crate, and a row half written.

use super::check;
use crate::tidy::fixtures::{member, page, workspace};

const ROW: &str = "# Paper\n\n| crate | what | why | who else |\n|---|---|---|---|\n";

fn found(paper: &str, manifest: &str) -> Vec<String> {
    let members = vec![
        member("hob-wire", "words", &["ext:serde", "dev:ext:insta"]),
        member("hob-bus", "core", &["hob-wire"]),
    ];
    let pages = [
        page("docs/dependencies.md", paper),
        page("Cargo.toml", manifest),
    ];
    let findings = check(&workspace(members), &pages).into_iter();
    findings.map(|found| found.to_string()).collect()
}

#[test]
fn a_complete_paper_passes() {
    let paper = format!("{ROW}| `serde` | a | b | c |\n| `insta` | a | b | c |\n");
    let manifest = "[workspace.dependencies]\nhob-wire = { path = \"a\" }\nserde = \"1\"\n";
    assert_eq!(found(&paper, manifest), Vec::<String>::new());
}

#[test]
fn a_missing_row_is_found() {
    let paper = format!("{ROW}| `serde` | a | b | c |\n");
    assert!(found(&paper, "")[0].contains("`insta` is used and has no row"));
    assert_eq!(found("", "").len(), 2);
}

#[test]
fn a_stale_or_half_row_is_found() {
    let rows = "| `serde` | a | b | c |\n| `insta` | a |  | c |\n| `rig` | a | b | c |\n";
    let found = found(&format!("{ROW}{rows}"), "");
    assert!(
        found[0].starts_with("docs/dependencies.md:6: the row of `insta`"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("docs/dependencies.md:7: `rig`"),
        "{found:?}"
    );
}

#[test]
fn a_declaration_nobody_uses_is_found() {
    let paper = format!("{ROW}| `serde` | a | b | c |\n| `insta` | a | b | c |\n");
    let manifest = "[workspace.dependencies]\nserde = \"1\"\nrig = \"1\"\n\n[profile.dev]\nx = 1\n";
    let found = found(&paper, manifest);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("Cargo.toml:3: `rig`"), "{found:?}");
}
