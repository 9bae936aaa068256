//! Keywords and the agents they select.

use super::{PACKS, RouteReason, find, route};

#[test]
fn words_lead_to_agents() {
    for (message, agent) in [
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
        assert_eq!(route(message).0.name, agent, "{message}");
    }
}

#[test]
fn a_word_stands_by_itself() {
    for message in ["sometimes", "prefix", "mistimed", "read_me", "profile"] {
        assert_eq!(route(message).0.name, "chat.quick", "{message}");
    }
    assert_eq!(route("(time)").1, RouteReason::Keyword("time"));
    assert_eq!(route("hello").1, RouteReason::NoKeyword);
}

#[test]
fn what_comes_late_is_the_matter() {
    let pasted = format!("Summarise this: {}", "x ".repeat(4_000)) + " error";
    assert_eq!(route(&pasted).0.name, "chat.quick");
}

#[test]
fn the_table_is_sound() {
    for pack in PACKS {
        assert_eq!(find(pack.name), Some(&pack));
        for word in pack.keywords {
            assert_eq!(*word, word.to_lowercase());
            assert!(!word.is_empty());
        }
    }
    assert!(PACKS[0].tools.is_empty());
    assert_eq!(find("code.wreck"), None);
}

proptest::proptest! {
    #[test]
    fn any_text_is_routed(text in ".*") {
        let (pack, reason) = route(&text);
        proptest::prop_assert_eq!(reason == RouteReason::NoKeyword, pack.name == "chat.quick");
    }
}
