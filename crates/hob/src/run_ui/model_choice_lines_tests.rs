//! The list of options as a person sees it, and the keys that answer it.

use super::*;
use crate::render::text::width;

const NOW: u64 = 1_700_000_000_000;

fn option(id: &str, kind: OnboardKind, title: &str) -> OnboardOption {
    OnboardOption {
        id: id.to_owned(),
        kind,
        title: title.to_owned(),
        models: Vec::new(),
        providers: Vec::new(),
        tools: None,
        download_bytes: None,
        memory_bytes: None,
        licence: None,
    }
}

fn all() -> Vec<OnboardOption> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    vec![
        OnboardOption {
            models: names(&["anthropic/claude-sonnet-5-5"]),
            tools: Some(true),
            ..option(
                "key:anthropic",
                OnboardKind::Key,
                "anthropic, with the key in ANTHROPIC_API_KEY",
            )
        },
        OnboardOption {
            models: names(&["a", "b", "c", "d", "e", "\u{1b}[31mred"]),
            ..option(
                "server:127.0.0.1:11434",
                OnboardKind::Server,
                "Ollama 0.12.0 at 127.0.0.1:11434",
            )
        },
        OnboardOption {
            tools: Some(true),
            download_bytes: Some(2_497_281_120),
            memory_bytes: Some(3_700_000_000),
            licence: Some("Apache-2.0".to_owned()),
            ..option(
                "pull:qwen3-4b",
                OnboardKind::Pull,
                "qwen3-4b on this machine",
            )
        },
        OnboardOption {
            providers: names(&["openai", "gemini"]),
            tools: Some(true),
            ..option("paste", OnboardKind::Paste, "A key of a provider, to paste")
        },
        OnboardOption {
            models: names(&["SmolLM2-135M-Instruct"]),
            tools: Some(false),
            download_bytes: Some(126_698_538),
            licence: Some("MIT; Apache-2.0".to_owned()),
            ..option(
                "demo",
                OnboardKind::Demo,
                "A demo model, to check that hob works",
            )
        },
    ]
}

#[test]
fn the_list_says_what_each_option_needs_and_can_do() {
    let found = OnboardOptionsResult {
        offer: true,
        model: None,
        demo: false,
        options: all(),
        notes: vec!["'127.0.0.1:1234' belongs to another user.".to_owned()],
    };
    let screen = ScreenStyle::plain(NOW);
    let lines = list(&found, &found.options, &screen);
    insta::assert_snapshot!(lines.join("\n"));
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains('\u{1b}')));
}

#[test]
fn keys_choose_by_number_and_enter_takes_the_first() {
    let options = all();
    assert_eq!(keys(2), ['1', '2', 'n', '\n', '\r']);
    let chosen = |key| option_of(key, &options).map(|one| one.id.as_str());
    assert_eq!(chosen('\n'), Some("key:anthropic"));
    assert_eq!(chosen('\r'), Some("key:anthropic"));
    assert_eq!(chosen('5'), Some("demo"));
    for none in ['n', '0', '6', '9'] {
        assert_eq!(chosen(none), None, "{none}");
    }
    assert_eq!(number_of(&options[3], &options), "4");
}
