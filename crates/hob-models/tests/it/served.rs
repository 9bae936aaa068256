//! Models of local services: reached at each call, with what they must be shown.

use crate::house::{CANARY, ask, user, words};
use hob_core::failover::ErrorClass;
use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::secret::Secret;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_models::{
    EnvKeys, KEYS, ModelCandidate, ModelCatalog, ModelSources, ServedModel, ServiceEndpoint,
    ServiceEndpointFuture, ServiceResolver,
};
use hob_net::{HttpClient, HttpOptions};
use hob_sim::{Answer, Sim, SimParts};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::ServiceRole;
use std::sync::{Arc, Mutex};

/// A door that leads to one address, and counts who is inside.
#[derive(Clone, Default)]
struct OneDoor {
    url: Option<String>,
    server: Option<String>,
    inside: Arc<()>,
    reached: Arc<Mutex<Vec<String>>>,
}

impl ServiceResolver for OneDoor {
    fn reach<'a>(&'a self, service: &'a str) -> ServiceEndpointFuture<'a> {
        self.reached.lock().expect("sound").push(service.to_owned());
        let reached = match &self.url {
            Some(url) => Ok(ServiceEndpoint {
                url: url.clone(),
                password: Some(Secret::new(CANARY)),
                server: self.server.clone(),
                lease: Some(Box::new(Arc::clone(&self.inside))),
            }),
            None => Err("It did not become ready within 60 s.".to_owned()),
        };
        Box::pin(std::future::ready(reached))
    }
}

fn llm(model: Option<&str>, running: bool) -> ServedModel {
    ServedModel {
        service: "llm".to_owned(),
        role: ServiceRole::Llm,
        model: model.map(str::to_owned),
        modest: false,
        kind: ProviderKind::Openai,
        running,
        context_tokens: None,
    }
}

fn book(door: &OneDoor, served: ServedModel) -> ModelCatalog {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let settings = Settings::load(&catalog, "config.toml", "", &EnvVars::default()).expect("loads");
    let sources = ModelSources {
        http: HttpClient::new(HttpOptions::new(Clock::system())).expect("starts"),
        keys: Arc::new(EnvKeys::new(EnvVars::default(), SecretMask::new())),
        services: Arc::new(door.clone()),
        served: Arc::new(vec![served]),
    };
    ModelCatalog::new(&settings, sources)
}

fn local(book: &ModelCatalog) -> ModelCandidate {
    book.resolve(Some("local")).expect("resolves").remove(0)
}

/// A server that asks for the password, and a door to it.
fn house(models: &[&str]) -> (Sim, OneDoor) {
    let parts = SimParts {
        key: Some(CANARY.to_owned()),
        models: models.iter().map(|name| (*name).to_owned()).collect(),
        ..SimParts::default()
    };
    let sim = Sim::with(parts, |_| Answer::words("hi")).expect("starts");
    let door = OneDoor {
        url: Some(format!("http://{}", sim.address())),
        ..OneDoor::default()
    };
    (sim, door)
}

#[tokio::test]
async fn a_service_is_reached_right_before_each_call_and_left_after_it() {
    let (sim, door) = house(&[]);
    let candidate = local(&book(&door, llm(Some("tiny"), false)));
    assert!(door.reached.lock().expect("sound").is_empty());
    let outside = Arc::strong_count(&door.inside);
    for calls in 1..=2 {
        let (_, reply) = ask(&candidate, &user("hi")).await;
        let reply = reply.expect("answers");
        assert_eq!(
            (words(&reply).as_str(), reply.model.as_str()),
            ("hi", "llm/tiny")
        );
        assert_eq!(door.reached.lock().expect("sound").len(), calls);
        assert_eq!(Arc::strong_count(&door.inside), outside);
    }
    assert_eq!(sim.asked()[0].model, "tiny");
}

#[tokio::test]
async fn a_service_is_in_use_while_it_answers_and_no_longer_when_nobody_listens() {
    let (_sim, door) = house(&[]);
    let candidate = local(&book(&door, llm(Some("tiny"), false)));
    let inside = Arc::clone(&door.inside);
    let outside = Arc::strong_count(&inside);
    let mut seen = 0;
    let mut on = |_| seen = seen.max(Arc::strong_count(&inside));
    candidate.ask(&user("hi"), &mut on).await.expect("answers");
    assert_eq!(seen, outside + 1);
    let mut ignore = |_| ();
    let prompt = user("hi");
    let mut asked = Box::pin(candidate.ask(&prompt, &mut ignore));
    let begun = futures_util::poll!(&mut asked);
    assert!(begun.is_pending());
    assert_eq!(Arc::strong_count(&inside), outside + 1);
    drop(asked);
    assert_eq!(Arc::strong_count(&inside), outside);
}

#[tokio::test]
async fn the_window_shown_is_the_window_used() {
    let (_sim, door) = house(&["tiny"]);
    // The demo is used with less than the server would take.
    for (modest, expected) in [(true, 2_048), (false, 4_096)] {
        let served = ServedModel {
            modest,
            context_tokens: Some(4_096),
            ..llm(Some("tiny"), false)
        };
        let book = book(&door, served);
        let shown = book.models(Some("llm")).await.models;
        assert_eq!(shown[0].context_tokens, Some(expected));
        assert_eq!(local(&book).facts().context_tokens, Some(expected));
    }
}

#[tokio::test]
async fn a_model_nobody_named_is_the_first_the_service_lists() {
    let (sim, door) = house(&["first", "second"]);
    let (_, reply) = ask(&local(&book(&door, llm(None, true))), &user("hi")).await;
    assert_eq!(reply.expect("answers").model, "llm/default");
    assert_eq!(sim.asked()[0].model, "first");
    let (sim, door) = house(&[]);
    let (_, reply) = ask(&local(&book(&door, llm(None, true))), &user("hi")).await;
    reply.expect("answers");
    assert_eq!(sim.asked()[0].model, "default");
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_says_why_and_is_not_asked_again() {
    let candidate = local(&book(&OneDoor::default(), llm(Some("tiny"), false)));
    let (_, reply) = ask(&candidate, &user("hi")).await;
    let error = reply.expect_err("is not there");
    assert_eq!(error.message, "llm: It did not become ready within 60 s.");
    // Of this class the next model of a list is tried at once.
    assert_eq!(error.class, ErrorClass::Request);
}

#[tokio::test]
async fn a_list_starts_nothing_and_shows_all_that_a_running_service_has() {
    let (_sim, door) = house(&["first", "second"]);
    let ids = |listing: &hob_models::ModelListing| -> Vec<String> {
        listing
            .models
            .iter()
            .map(|model| model.id.clone())
            .collect()
    };
    let cold = book(&door, llm(Some("tiny"), false)).models(None).await;
    assert_eq!(ids(&cold), ["llm/tiny"]);
    assert!(door.reached.lock().expect("sound").is_empty());
    let warm = book(&door, llm(Some("tiny"), true)).models(None).await;
    assert_eq!(ids(&warm), ["llm/first", "llm/second"]);
    assert!(warm.problems.is_empty(), "{:?}", warm.problems);
}
