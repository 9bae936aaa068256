//! What is remembered, and the word about the modest model.

use super::*;
use crate::render::text::width;

#[test]
fn what_was_said_once_is_remembered_and_a_broken_file_is_not_in_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.ensure().expect("makes it");
    assert_eq!(ShownNotices::read(&home), ShownNotices::default());
    let told = ShownNotices {
        modest: true,
        ..ShownNotices::default()
    };
    told.clone().save(&home);
    assert_eq!(ShownNotices::read(&home), told);
    std::fs::write(home.notices(), "[").expect("writes");
    assert_eq!(ShownNotices::read(&home), ShownNotices::default());
}

#[test]
fn each_server_is_named_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.ensure().expect("makes it");
    let first = |line: &str| ShownNotices::is_first_server(&home, line);
    assert!(first("Asking a."));
    assert!(!first("Asking a."));
    assert!(first("Asking b.") && !first("Asking a."));
    // A home of the former version remembers no servers.
    std::fs::write(home.notices(), r#"{"modest":true,"declined":false}"#).expect("writes");
    assert!(first("Asking a."));
    assert!(ShownNotices::read(&home).modest, "the rest is kept");
    for number in 0..2 * SERVERS_MAX {
        assert!(first(&format!("Asking {number}.")));
    }
    assert_eq!(ShownNotices::read(&home).servers.len(), SERVERS_MAX);
}

#[test]
fn the_word_names_the_model_and_ways_to_a_better_one() {
    let words = modest_notice("SmolLM2-135M");
    assert!(words[0].starts_with("SmolLM2-135M is a modest model"));
    for way in ["API_KEY", "Ollama", "llm.model"] {
        assert!(words[1].contains(way), "{way}");
    }
    let lines: Vec<String> = words.iter().flat_map(|it| wrap(it, 80)).collect();
    assert!(lines.len() <= 4 && lines.iter().all(|it| width(it) <= 80));
}
