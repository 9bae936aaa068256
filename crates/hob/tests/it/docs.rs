//! Pages under `docs/` that the program itself writes: the command line and the settings.

#[path = "../../../hob-wire/tests/it/page.rs"]
mod page;

use page::keep;
use std::path::Path;

#[test]
fn the_command_page_is_what_the_program_says() {
    keep("cli.md", &hob::tree::manual::text());
}

#[test]
fn the_settings_pages_are_what_the_program_says() {
    keep("config.md", &hob::settings::catalog().reference_text());
    keep("config.toml", &hob::settings::catalog().default_text());
}

#[test]
fn every_command_of_the_readme_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["README.md", "docs/getting-started.md", "docs/tour.md"];
    let pages = pages.map(|page| std::fs::read_to_string(root.join(page)).expect("the page"));
    let readme = pages.join("\n");
    let mut is_code = false;
    let mut tried = 0;
    for line in readme.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code && line.starts_with("hob ") {
            let words = shell_words(line);
            let words = words.into_iter().map(Into::into).collect();
            let words = hob::tree::implicit_ask::insert_ask(words);
            let understood = hob::tree::command().try_get_matches_from(&words);
            assert!(understood.is_ok(), "{line}: {}", understood.unwrap_err());
            tried += 1;
        }
    }
    assert!(tried > 10, "the tour has only {tried} commands");
}

/// The words of a command line as a shell would pass them on: up to a comment or a redirection.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && !rest.starts_with(['#', '>', '|', '<']) {
        let (word, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split_once(quote).expect("a closed quote"),
            _ => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}
