//! Keywords and the agents they select.

use super::{AgentPacks, PACKS, RouteReason, route};
use crate::agentloop::pack_file::PackFile;

fn agent(message: &str) -> &'static str {
    PACKS[route(message).0].name
}

#[test]
fn words_lead_to_agents() {
    for (message, expected) in [
        ("Hello there", "chat.quick"),
        ("", "chat.quick"),
        ("What is the capital of France?", "chat.quick"),
        ("Why do I get this ERROR?", "debug.triage"),
        ("it is not working", "debug.triage"),
        ("Fix the error in main.rs", "code.change"),
        ("Which architecture would you choose?", "code.arch"),
        ("What time is it?", "tool.use"),
        ("see https://example.org", "tool.use"),
    ] {
        assert_eq!(agent(message), expected, "{message}");
    }
}

#[test]
fn a_word_stands_by_itself() {
    for message in ["sometimes", "prefix", "mistimed", "read_me", "profile"] {
        assert_eq!(agent(message), "chat.quick", "{message}");
    }
    assert_eq!(route("(time)").1, RouteReason::Keyword("time"));
    assert_eq!(route("hello").1, RouteReason::NoKeyword);
}

#[test]
fn what_comes_late_is_the_matter() {
    let pasted = format!("Summarise this: {}", "x ".repeat(4_000)) + " error";
    assert_eq!(agent(&pasted), "chat.quick");
}

#[test]
fn the_table_is_sound() {
    for pack in PACKS {
        let packs = AgentPacks::built_in();
        assert_eq!(packs.find(pack.name), Some(&pack.to_pack()));
        for word in pack.keywords {
            assert_eq!(*word, word.to_lowercase());
            assert!(!word.is_empty());
        }
    }
    assert!(PACKS[0].tools.is_empty());
    assert_eq!(AgentPacks::built_in().find("code.wreck"), None);
}

#[test]
fn a_file_changes_what_it_names_and_adds_what_is_new() {
    let mut packs = AgentPacks::built_in();
    let file = |name: &str| PackFile {
        name: name.to_owned(),
        ..PackFile::default()
    };
    let changed = PackFile {
        prompt: Some("Speak Latin.".to_owned()),
        ..file("debug.triage")
    };
    let bare = PackFile {
        tools: Some(Vec::new()),
        ..file("tool.use")
    };
    packs.extend([changed, bare, file("mine")]);
    let triage = packs.find("debug.triage").unwrap();
    assert_eq!(triage.prompt, "Speak Latin.");
    assert_eq!(triage.tools, PACKS[1].to_pack().tools);
    assert!(packs.find("tool.use").unwrap().tools.is_empty());
    assert_eq!(
        packs.find("mine").unwrap().about,
        "An agent of this workspace."
    );
    // A workspace's own agent has no keywords, and the places of the others stay.
    let names: Vec<&str> = packs.iter().map(|pack| pack.name.as_str()).collect();
    assert_eq!(names[5..], ["mine"]);
    assert_eq!(packs.route("why this error").0.prompt, "Speak Latin.");
}

proptest::proptest! {
    #[test]
    fn any_text_is_routed(text in ".*") {
        let (place, reason) = route(&text);
        proptest::prop_assert_eq!(reason == RouteReason::NoKeyword, place == 0);
    }
}
