//! Tables of the options for different machines.

use super::super::facts::MachineRoom;
use super::*;

const GB: u64 = 1_000_000_000;

fn key(provider: &str, state: ProviderKeyState) -> ProviderKey {
    ProviderKey {
        provider: provider.to_owned(),
        variable: format!("{}_API_KEY", provider.to_uppercase()),
        model: "good".to_owned(),
        state,
    }
}

fn candidate(name: &str, gigabytes: u64, tools: bool) -> LocalModelCandidate {
    LocalModelCandidate {
        name: name.to_owned(),
        bytes: gigabytes * GB,
        memory: (gigabytes + 1) * GB,
        tools,
        licence: "Apache-2.0".to_owned(),
    }
}

fn facts() -> OnboardingFacts {
    OnboardingFacts {
        keys: vec![
            key("first", ProviderKeyState::Missing),
            key("second", ProviderKeyState::Environment),
            key("third", ProviderKeyState::Kept),
        ],
        candidates: vec![
            candidate("best", 3, true),
            candidate("large", 40, true),
            candidate("small", 1, true),
            candidate("plain", 2, false),
            candidate("more", 2, true),
        ],
        room: MachineRoom {
            memory_bytes: 16 * GB,
            disk_bytes: 100 * GB,
        },
        demo: DemoModel::Installable {
            model: "tiny".to_owned(),
            download_bytes: 127_000_000,
            licence: "MIT".to_owned(),
        },
        ..OnboardingFacts::default()
    }
}

fn ids(facts: &OnboardingFacts) -> Vec<String> {
    options(facts).into_iter().map(|option| option.id).collect()
}

#[test]
fn the_best_option_comes_first_and_the_demo_last() {
    let server = RunningServer {
        address: "127.0.0.1:11434".to_owned(),
        what: "Ollama 0.12.0 at 127.0.0.1:11434".to_owned(),
        models: vec!["llama3:8b".to_owned()],
    };
    assert_eq!(
        ids(&facts()),
        [
            "key:second",
            "key:third",
            "pull:best",
            "pull:small",
            "pull:plain",
            "paste",
            "demo"
        ]
    );
    let facts = OnboardingFacts {
        servers: vec![server],
        ..facts()
    };
    // Where a server runs, the service of local models never starts the demo.
    let found = ids(&facts);
    assert_eq!(found[2], "server:127.0.0.1:11434");
    assert!(!found.contains(&"demo".to_owned()), "{found:?}");
}

#[test]
fn a_local_model_is_offered_only_where_memory_and_disk_hold_it() {
    let with_room = |memory: u64, disk: u64| OnboardingFacts {
        room: MachineRoom {
            memory_bytes: memory,
            disk_bytes: disk,
        },
        ..facts()
    };
    let names = |memory, disk| -> Vec<String> {
        let facts = with_room(memory, disk);
        fitting(&facts).iter().map(|it| it.name.clone()).collect()
    };
    // The order of the catalogue stays; it says which is best.
    assert_eq!(names(16 * GB, 100 * GB), ["best", "small", "plain"]);
    assert_eq!(names(3 * GB, 100 * GB), ["small"]);
    assert_eq!(names(3 * GB - 1, 100 * GB), Vec::<String>::new());
    assert_eq!(names(16 * GB, 2 * GB), ["small"]);
    assert_eq!(names(16 * GB, 2 * GB - 1), Vec::<String>::new());
    assert_eq!(names(0, 0), Vec::<String>::new());
}

#[test]
fn a_key_in_the_environment_cannot_be_replaced_by_a_pasted_one() {
    let all = options(&facts());
    let paste = all.iter().find(|option| option.id == OPTION_PASTE);
    assert_eq!(paste.expect("offered").providers, ["first", "third"]);
    let set = OnboardingFacts {
        keys: vec![key("only", ProviderKeyState::Environment)],
        ..OnboardingFacts::default()
    };
    assert_eq!(ids(&set), ["key:only"]);
}

#[test]
fn an_empty_machine_offers_nothing() {
    assert!(ids(&OnboardingFacts::default()).is_empty());
}

#[test]
fn each_option_says_if_it_can_use_tools() {
    for option in options(&facts()) {
        let expected = !matches!(option.id.as_str(), "demo" | "pull:plain");
        assert_eq!(option.tools, Some(expected), "{}", option.id);
    }
}
