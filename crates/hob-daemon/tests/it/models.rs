//! `model.*` through the bus, with a real config file and scripted providers.

use crate::fixture::{Fixture, code, serve_models};
use hob_bus::Caller;
use hob_kit::host_environment::EnvVars;
use hob_sim::{Answer, Dialect, Sim, SimParts};
use hob_wire::ErrorCode;
use hob_wire::rooms::model::{
    Add, List, ModelAddParams, ModelListParams, ModelListResult, ModelRemoveParams, ModelSetParams,
    ModelTestParams, ProviderKind, Remove, Set, Test,
};

/// A key that no answer, file or error may show.
const KEY: &str = "sk-canary-0123456789abcdef";

struct House {
    fixture: Fixture,
    caller: Caller,
}

fn house(text: &str) -> House {
    let fixture = Fixture::new();
    let env = EnvVars::from_pairs([("LAB_KEY", KEY)]);
    serve_models(&fixture.context, env, &[hob_models::KEYS], text);
    let caller = fixture.caller();
    House { fixture, caller }
}

impl House {
    async fn list(&self, provider: Option<&str>) -> ModelListResult {
        let provider = provider.map(str::to_owned);
        let listed = self
            .caller
            .call::<List>(&ModelListParams {
                provider,
                ..ModelListParams::default()
            })
            .await;
        listed.expect("lists")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.fixture.home.config_file()).expect("is there")
    }
}

fn adding(name: &str, url: &str) -> ModelAddParams {
    ModelAddParams {
        name: name.to_owned(),
        kind: ProviderKind::Openai,
        url: Some(url.to_owned()),
        key_env: None,
    }
}

fn ready() -> Sim {
    Sim::start(|_| Answer::words("ready").usage(12, 3))
}

#[tokio::test]
async fn a_provider_is_added_listed_tested_set_and_removed() {
    let sim = ready();
    let house = house("# mine\n");
    let mut params = adding("lab", &sim.url(Dialect::OpenaiChat));
    params.key_env = Some("LAB_KEY".to_owned());
    let added = house.caller.call::<Add>(&params).await.expect("adds");
    assert!(added.ready, "{:?}", added.message);
    assert_eq!(added.key_env.as_deref(), Some("LAB_KEY"));
    assert!(house.text().contains("# mine\n"));
    assert!(house.text().contains("[models.lab]"), "{}", house.text());
    assert!(!house.text().contains(KEY));

    let listed = house.list(None).await;
    let ids: Vec<&str> = listed
        .models
        .iter()
        .map(|model| model.id.as_str())
        .collect();
    assert_eq!(ids, ["lab/sim-small", "lab/sim-large"]);

    let set = ModelSetParams {
        alias: "default".to_owned(),
        models: vec!["lab/sim-small".to_owned()],
    };
    let alias = house.caller.call::<Set>(&set).await.expect("sets");
    assert_eq!(alias.models, ["lab/sim-small"]);
    let test = ModelTestParams {
        model: "default".to_owned(),
    };
    let tested = house.caller.call::<Test>(&test).await.expect("tests");
    assert!(tested.ok, "{}", tested.message);
    assert_eq!(
        (tested.model.as_str(), tested.message.as_str()),
        ("lab/sim-small", "ready")
    );
    assert!(
        tested
            .first_token_ms
            .is_some_and(|first| first <= tested.total_ms)
    );
    assert_eq!(sim.asked_count(), 1, "one word is asked for once");

    let remove = ModelRemoveParams {
        name: "lab".to_owned(),
    };
    house.caller.call::<Remove>(&remove).await.expect("removes");
    assert!(house.list(None).await.providers.is_empty());
    assert!(!house.text().contains("127.0.0.1"), "{}", house.text());
    let again = house.caller.call::<Remove>(&remove).await;
    assert_eq!(code(again), ErrorCode::NotFound);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_dead_provider_costs_its_own_models_and_nothing_else() {
    let sim = ready();
    let picky = SimParts {
        key: Some("another".to_owned()),
        ..SimParts::default()
    };
    let picky = Sim::with(picky, |_| Answer::words("no")).expect("starts");
    // Nobody listens where somebody just did.
    let dead = ready().url(Dialect::OpenaiChat);
    let house = house(&format!(
        "[models.lab]\nkind = \"openai\"\nurl = \"{}\"\n\
         [models.dead]\nkind = \"openai\"\nurl = \"{dead}\"\n\
         [models.picky]\nkind = \"openai\"\nurl = \"{}\"\nkey_env = \"LAB_KEY\"\n\
         [models.keyless]\nkind = \"openai\"\nurl = \"{dead}\"\nkey_env = \"NO_SUCH_KEY\"\n",
        sim.url(Dialect::OpenaiChat),
        picky.url(Dialect::OpenaiChat),
    ));
    let listed = house.list(None).await;
    assert!(listed.models.iter().all(|model| model.provider == "lab"));
    assert_eq!(listed.models.len(), 2);
    for provider in &listed.providers {
        assert_eq!(provider.ready, provider.name == "lab", "{provider:?}");
        let message = provider.message.as_deref().unwrap_or_default();
        assert_eq!(message.is_empty(), provider.ready, "{provider:?}");
        assert!(!message.contains(KEY), "{message}");
    }
    let keyless = listed.providers.iter().find(|it| it.name == "keyless");
    let message = keyless.and_then(|it| it.message.as_deref());
    assert!(message.is_some_and(|words| words.contains("NO_SUCH_KEY")));
    assert_eq!(house.list(Some("lab")).await.providers.len(), 1);
    let names = ModelListParams {
        names_only: true,
        ..ModelListParams::default()
    };
    let names = house.caller.call::<List>(&names).await.expect("lists");
    assert!(names.models.is_empty(), "nobody is asked");
    assert_eq!(names.providers.len(), listed.providers.len());
    assert_eq!(names.aliases, listed.aliases);
    let nobody = ModelListParams {
        provider: Some("nobody".to_owned()),
        ..ModelListParams::default()
    };
    let missing = house.caller.call::<List>(&nobody).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_test_that_fails_says_why_and_an_alias_goes_on_to_the_next() {
    let sim = ready();
    let dead = ready().url(Dialect::OpenaiChat);
    let house = house(&format!(
        "[models.lab]\nkind = \"openai\"\nurl = \"{}\"\n\
         [models.dead]\nkind = \"openai\"\nurl = \"{dead}\"\n\
         [model]\nfast = [\"dead/m\", \"lab/m\"]\nsmart = [\"dead/m\"]\n",
        sim.url(Dialect::OpenaiChat),
    ));
    let test = |model: &str| ModelTestParams {
        model: model.to_owned(),
    };
    let fast = house
        .caller
        .call::<Test>(&test("fast"))
        .await
        .expect("tests");
    assert_eq!((fast.ok, fast.model.as_str()), (true, "lab/m"));
    let smart = house
        .caller
        .call::<Test>(&test("smart"))
        .await
        .expect("tests");
    assert!(!smart.ok);
    assert!(smart.message.starts_with("dead: "), "{}", smart.message);
    for wanted in ["nobody/m", "word", "default"] {
        let missing = house.caller.call::<Test>(&test(wanted)).await;
        assert_eq!(code(missing), ErrorCode::NotFound, "{wanted}");
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_refused_changes_nothing_and_repeats_no_key() {
    let house = house("");
    let good = || adding("lab", "http://127.0.0.1:9/v1");
    let changes: [fn(&mut ModelAddParams); 8] = [
        |add| add.name = "a/b".to_owned(),
        |add| add.name = "default".to_owned(),
        |add| add.name = String::new(),
        |add| add.url = Some("ftp://x".to_owned()),
        |add| add.url = Some(format!("http://me:{KEY}@x/v1")),
        |add| add.url = Some(format!("http://x/v1?key={KEY}")),
        |add| add.key_env = Some(KEY.to_owned()),
        |add| add.key_env = Some("AIzaSyCanary0123".to_owned()),
    ];
    for change in changes {
        let mut params = good();
        change(&mut params);
        let refused = house.caller.call::<Add>(&params).await;
        let refused = refused.expect_err("is refused");
        assert_eq!(refused.code, ErrorCode::InvalidParams);
        assert!(!refused.message.contains(KEY), "{refused}");
        assert!(!refused.message.contains("Canary"), "{refused}");
    }
    for (alias, model, expected) in [
        ("best", "lab/m", ErrorCode::InvalidParams),
        ("fast", "smart", ErrorCode::InvalidParams),
        ("fast", "nobody/m", ErrorCode::NotFound),
        ("fast", "word", ErrorCode::NotFound),
    ] {
        let set = ModelSetParams {
            alias: alias.to_owned(),
            models: vec![model.to_owned()],
        };
        assert_eq!(
            code(house.caller.call::<Set>(&set).await),
            expected,
            "{alias} {model}"
        );
    }
    assert_eq!(house.text(), "");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_provider_is_changed_as_a_whole() {
    let house = house("");
    let mut first = adding("lab", "http://127.0.0.1:9/v1");
    first.key_env = Some("LAB_KEY".to_owned());
    house.caller.call::<Add>(&first).await.expect("adds");
    let second = adding("lab", "http://127.0.0.1:10/v1");
    let changed = house.caller.call::<Add>(&second).await.expect("changes");
    assert_eq!(changed.url, "http://127.0.0.1:10/v1");
    assert_eq!(changed.key_env, None, "what is not named again is gone");
    assert!(!house.text().contains("key_env"), "{}", house.text());
    house.fixture.close().await;
}
