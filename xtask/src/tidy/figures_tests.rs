//! Figures of a small made-up project.

use super::*;

fn page(path: &str, text: &str) -> ProjectFile {
    ProjectFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn names_comments_and_openings_are_counted() {
    let one = "/// What it is.\nstruct Desk;\n// Why.\nstruct TokenCache;\n";
    let two =
        "/// A desk\n/// What follows is the same comment.\nenum Desk {}\n//! no\nfn f() {}\n";
    let test = "struct Desk;\nstruct Other;\n";
    let figures = CodeFigures::of(&[
        page("crates/a/src/one.rs", one),
        page("crates/a/src/two.rs", &two.replace("//! no\n", "")),
        page("crates/a/src/one_tests.rs", test),
    ]);
    let table = figures.table();
    let has = |row: &str, figure: &str| {
        let found = table.lines().find(|line| line.starts_with(row));
        let found = found.unwrap_or_else(|| panic!("no row {row} in\n{table}"));
        assert!(
            found.ends_with(figure),
            "{found} does not end with {figure}"
        );
    };
    has("production lines", " 8");
    has("types ", " 3");
    has("types that share", "66.7 %");
    has("one-word", "66.7 %");
    has("doc comments", "50.0 %");
    has("line comments", "125.0");
    has("file lines", "4/4/4");
    assert_eq!(figures.most_shared(5), "Desk 2");
}

#[test]
fn a_run_of_capitals_is_one_word() {
    assert_eq!(words_in("JSON"), 1);
    assert_eq!(words_in("Desk"), 1);
    assert_eq!(words_in("TokenCache"), 2);
    assert_eq!(words_in("SessionRowReader"), 3);
}

#[test]
fn long_functions_are_counted() {
    let body = "    let _ = 1;\n".repeat(70);
    let text = format!("fn long() {{\n{body}}}\nfn short() {{}}\n");
    let figures = CodeFigures::of(&[page("crates/a/src/one.rs", &text)]);
    assert!(figures.table().contains("50.0 %"), "{}", figures.table());
}
