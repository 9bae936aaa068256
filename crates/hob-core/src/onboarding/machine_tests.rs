//! The steps of each choice, and what must hold whatever happens between them.

use super::super::facts::{LocalModelCandidate, MachineRoom, ProviderKeyState, RunningServer};
use super::super::options::{DECLINED, OPTION_DEMO, OPTION_PASTE, options};
use super::*;
use proptest::prelude::*;

const GB: u64 = 1_000_000_000;

fn key(provider: &str, state: ProviderKeyState) -> ProviderKey {
    ProviderKey {
        provider: provider.to_owned(),
        variable: format!("{}_KEY", provider.to_uppercase()),
        model: "good".to_owned(),
        state,
    }
}

fn server(address: &str, models: &[&str]) -> RunningServer {
    RunningServer {
        address: address.to_owned(),
        what: format!("A server at {address}"),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
    }
}

fn facts() -> OnboardingFacts {
    OnboardingFacts {
        keys: vec![
            key("first", ProviderKeyState::Missing),
            key("second", ProviderKeyState::Missing),
        ],
        candidates: vec![LocalModelCandidate {
            name: "best".to_owned(),
            bytes: 2 * GB,
            memory: 3 * GB,
            tools: true,
            licence: "MIT".to_owned(),
        }],
        room: MachineRoom {
            memory_bytes: 16 * GB,
            disk_bytes: 16 * GB,
        },
        demo: DemoModel::Installable {
            model: "tiny".to_owned(),
            download_bytes: 1,
            licence: "MIT".to_owned(),
        },
        ..OnboardingFacts::default()
    }
}

fn choice(option: &str) -> OnboardingChoice {
    OnboardingChoice {
        option: option.to_owned(),
        ..OnboardingChoice::default()
    }
}

fn pasted(provider: &str) -> OnboardingChoice {
    OnboardingChoice {
        provider: Some(provider.to_owned()),
        has_key: true,
        ..choice(OPTION_PASTE)
    }
}

/// All effects of a choice in which everything succeeds.
fn effects(facts: &OnboardingFacts, choice: &OnboardingChoice) -> Vec<OnboardingEffect> {
    let mut machine = OnboardingMachine::new(facts, choice).expect("is planned");
    let mut all = Vec::new();
    machine.begin(&mut all);
    while let Some(last) = all.last().cloned() {
        let event = match last {
            OnboardingEffect::Finish(_) => return all,
            OnboardingEffect::TryKey { .. } => OnboardingEvent::KeyTried(KeyTrial::Accepted),
            _ => OnboardingEvent::Done,
        };
        machine.step(event, &mut all);
    }
    all
}

fn ready(model: &str) -> OnboardingEffect {
    OnboardingEffect::Finish(OnboardingEnd::Ready {
        model: model.to_owned(),
    })
}

fn default(model: &str) -> OnboardingEffect {
    OnboardingEffect::SetDefault {
        model: model.to_owned(),
    }
}

#[test]
fn a_pasted_key_is_tried_then_kept() {
    let provider = || "first".to_owned();
    assert_eq!(
        effects(&facts(), &pasted("first")),
        [
            OnboardingEffect::TryKey {
                provider: provider()
            },
            OnboardingEffect::StoreKey {
                provider: provider()
            },
            OnboardingEffect::StopOffering,
            ready("first/good"),
        ]
    );
}

#[test]
fn the_default_is_set_only_if_another_model_would_be_used() {
    // The first provider has a key, so its model would be used.
    let mut with_key = facts();
    with_key.keys[0].state = ProviderKeyState::Environment;
    let last = |facts: &OnboardingFacts, choice: &OnboardingChoice| {
        let all = effects(facts, choice);
        all.contains(&default("second/good"))
    };
    assert!(last(&with_key, &pasted("second")));
    assert!(!last(&facts(), &pasted("second")));
    let configured = OnboardingFacts {
        has_default: true,
        ..facts()
    };
    assert!(last(&configured, &pasted("second")));
    assert_eq!(
        effects(&with_key, &choice("key:first")),
        [OnboardingEffect::StopOffering, ready("first/good")]
    );
}

#[test]
fn a_server_is_preferred_and_its_model_chosen() {
    let facts = OnboardingFacts {
        servers: vec![server("a:1", &["m"]), server("b:2", &["x", "y"])],
        ..facts()
    };
    assert_eq!(
        effects(&facts, &choice("server:a:1")),
        [OnboardingEffect::StopOffering, ready("llm/m")]
    );
    let second = OnboardingChoice {
        model: Some("y".to_owned()),
        ..choice("server:b:2")
    };
    assert_eq!(
        effects(&facts, &second),
        [
            OnboardingEffect::PreferServer {
                address: "b:2".to_owned()
            },
            default("llm/y"),
            OnboardingEffect::StopOffering,
            ready("llm/y"),
        ]
    );
    let unknown = OnboardingChoice {
        model: Some("z".to_owned()),
        ..second
    };
    let refused = OnboardingMachine::new(&facts, &unknown);
    assert_eq!(refused, Err(OnboardingRefusal::UnknownModel));
}

#[test]
fn the_demo_and_a_download_are_begun() {
    let installing = |model: &str| {
        OnboardingEffect::Finish(OnboardingEnd::Installing {
            model: model.to_owned(),
        })
    };
    assert_eq!(
        effects(&facts(), &choice(OPTION_DEMO)),
        [
            OnboardingEffect::InstallDemo,
            OnboardingEffect::StopOffering,
            installing("llm/tiny"),
        ]
    );
    let installed = OnboardingFacts {
        demo: DemoModel::Installed {
            model: "tiny".to_owned(),
        },
        has_default: true,
        ..facts()
    };
    assert_eq!(
        effects(&installed, &choice(OPTION_DEMO)),
        [
            default("llm/tiny"),
            OnboardingEffect::StopOffering,
            ready("llm/tiny"),
        ]
    );
    let name = "best".to_owned();
    assert_eq!(
        effects(&facts(), &choice("pull:best")),
        [
            OnboardingEffect::PullModel { name },
            OnboardingEffect::StopOffering,
            installing("best"),
        ]
    );
}

#[test]
fn a_no_is_remembered() {
    assert_eq!(
        effects(&facts(), &choice(DECLINED)),
        [
            OnboardingEffect::StopOffering,
            OnboardingEffect::Finish(OnboardingEnd::Declined),
        ]
    );
}

#[test]
fn a_refused_key_is_not_kept_and_the_choice_is_offered_again() {
    let mut machine = OnboardingMachine::new(&facts(), &pasted("first")).expect("planned");
    let mut out = Vec::new();
    machine.begin(&mut out);
    let refused = KeyTrial::Refused("It is wrong.".to_owned());
    machine.step(OnboardingEvent::KeyTried(refused), &mut out);
    let end = OnboardingEnd::Failed("It is wrong.".to_owned());
    assert_eq!(out[1..], [OnboardingEffect::Finish(end)]);
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    use OnboardingRefusal as No;
    let mut facts = facts();
    facts.keys[1].state = ProviderKeyState::Environment;
    let refusal = |choice: &OnboardingChoice| OnboardingMachine::new(&facts, choice).err();
    for (choice, no) in [
        (choice(""), No::UnknownOption),
        (choice("key:first"), No::UnknownOption),
        (choice("key:nobody"), No::UnknownOption),
        (choice("server:127.0.0.1:1"), No::UnknownOption),
        (choice("pull:large"), No::UnknownOption),
        (choice(OPTION_PASTE), No::UnknownProvider),
        (pasted("nobody"), No::UnknownProvider),
        (pasted("second"), No::KeyInEnvironment),
        (
            OnboardingChoice {
                has_key: false,
                ..pasted("first")
            },
            No::MissingKey,
        ),
    ] {
        assert_eq!(refusal(&choice), Some(no), "{choice:?}");
    }
}

fn any_state() -> impl Strategy<Value = ProviderKeyState> {
    prop_oneof![
        Just(ProviderKeyState::Missing),
        Just(ProviderKeyState::Environment),
        Just(ProviderKeyState::Kept),
    ]
}

fn any_facts() -> impl Strategy<Value = OnboardingFacts> {
    let demo = prop_oneof![
        Just(DemoModel::Unavailable),
        Just(facts().demo),
        Just(DemoModel::Installed {
            model: "tiny".to_owned()
        }),
    ];
    let keys = proptest::collection::vec(any_state(), 0..4);
    (keys, 0_usize..3, demo, any::<bool>()).prop_map(|(states, servers, demo, has_default)| {
        let keys = states.into_iter().enumerate();
        OnboardingFacts {
            keys: keys
                .map(|(at, state)| key(&format!("p{at}"), state))
                .collect(),
            servers: (0..servers)
                .map(|at| server(&format!("s:{at}"), &["m", "n"]))
                .collect(),
            demo,
            has_default,
            ..facts()
        }
    })
}

fn any_event() -> impl Strategy<Value = OnboardingEvent> {
    prop_oneof![
        4 => Just(OnboardingEvent::Done),
        3 => Just(OnboardingEvent::KeyTried(KeyTrial::Accepted)),
        1 => Just(OnboardingEvent::KeyTried(KeyTrial::Untried)),
        1 => Just(OnboardingEvent::KeyTried(KeyTrial::Refused("no".to_owned()))),
        1 => Just(OnboardingEvent::Failed("broken".to_owned())),
        1 => Just(OnboardingEvent::Cancelled),
    ]
}

proptest! {
    #[test]
    fn every_offered_option_can_be_chosen(facts in any_facts()) {
        for option in options(&facts) {
            let provider = option.providers.first().cloned();
            let choice = OnboardingChoice {
                has_key: provider.is_some(),
                provider,
                ..choice(&option.id)
            };
            let all = effects(&facts, &choice);
            let ends = matches!(
                all.last(),
                Some(OnboardingEffect::Finish(OnboardingEnd::Ready { .. } | OnboardingEnd::Installing { .. }))
            );
            prop_assert!(ends, "{}: {all:?}", option.id);
        }
    }

    #[test]
    fn a_person_who_stops_anywhere_keeps_a_state_that_works(
        facts in any_facts(),
        at in any::<prop::sample::Index>(),
        events in proptest::collection::vec(any_event(), 0..12),
    ) {
        let offered = options(&facts);
        prop_assume!(!offered.is_empty());
        let option = at.get(&offered);
        let provider = option.providers.first().cloned();
        let choice = OnboardingChoice { has_key: provider.is_some(), provider, ..choice(&option.id) };
        let mut machine = OnboardingMachine::new(&facts, &choice).expect("is offered");
        let mut out = Vec::new();
        machine.begin(&mut out);
        let mut accepted = false;
        for event in events {
            let tries = matches!(out.last(), Some(OnboardingEffect::TryKey { .. }));
            accepted |= tries && matches!(&event, OnboardingEvent::KeyTried(KeyTrial::Accepted | KeyTrial::Untried));
            machine.step(event, &mut out);
        }
        let place = |wanted: fn(&OnboardingEffect) -> bool| out.iter().position(wanted);
        let finish = place(|it| matches!(it, OnboardingEffect::Finish(_)));
        prop_assert!(finish.is_none_or(|at| at == out.len() - 1), "{out:?}");
        let store = place(|it| matches!(it, OnboardingEffect::StoreKey { .. }));
        prop_assert!(store.is_none() || accepted, "{out:?}");
        // The default points to a pasted key's model only once the key is kept.
        let default = place(|it| matches!(it, OnboardingEffect::SetDefault { .. }));
        if option.id == OPTION_PASTE && let Some(default) = default {
            prop_assert!(store.is_some_and(|store| store < default), "{out:?}");
        }
        // A choice that did not come to its end is offered again.
        let stop = place(|it| matches!(it, OnboardingEffect::StopOffering));
        let failed = matches!(out.last(), Some(OnboardingEffect::Finish(OnboardingEnd::Failed(_))));
        prop_assert!(!failed || stop.is_none() || stop == Some(out.len() - 2), "{out:?}");
    }
}
