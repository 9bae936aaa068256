//! What the modest model is asked, and what others are.

use super::{Order, Request, takes_tools};
use crate::agent::conversation::Spoken;
use hob_kit::clock::Clock;
use hob_kit::mask::Mask;
use hob_kit::settings::{Catalog, Settings};
use hob_kit::world::Env;
use hob_models::{Book, Candidate, EnvKeys, NoServices, Served, Sources, ToolWord};
use hob_net::{Http, NetParts};
use hob_wire::rooms::agent::{Sampling, ToolChoice};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::ServiceRole;
use hob_wire::{Content, Role};
use std::sync::Arc;

fn candidate(modest: bool) -> Candidate {
    let catalog = Arc::new(Catalog::new(&[hob_models::KEYS]));
    let settings = Settings::load(&catalog, "test", "", &Env::default()).expect("loads");
    let served = Served {
        service: "llm".to_owned(),
        role: ServiceRole::Llm,
        model: Some("tiny".to_owned()),
        modest,
        kind: ProviderKind::Openai,
        running: false,
    };
    let sources = Sources {
        http: Http::new(NetParts::new(Clock::manual(0))).expect("starts"),
        keys: Arc::new(EnvKeys::new(Env::default(), Mask::new())),
        services: Arc::new(NoServices),
        served: Arc::new(vec![served]),
    };
    let found = Book::new(&settings, sources).resolve(None);
    found.expect("resolves").remove(0)
}

fn request() -> Request {
    let says = |role, text: &str, own| Spoken::new(role, Content::Text(text.to_owned()), own);
    // Together far more than the modest model is shown.
    let long = "many words ".repeat(1_000);
    Request {
        system: vec!["You are hob.".to_owned(), "The workspace.".to_owned()],
        spoken: vec![
            says(Role::User, &long, false),
            says(Role::Assistant, &long, false),
            says(Role::User, "What is the capital of France?", true),
        ],
        client_tools: vec![ToolWord {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: serde_json::json!({ "type": "object" }),
        }],
        tool_choice: Some(ToolChoice::Required),
        ..Request::default()
    }
}

#[test]
fn the_modest_model_is_told_one_line_shown_little_and_given_no_tools() {
    let modest = candidate(true);
    assert!(!takes_tools(&modest));
    let prompt = Order::new(modest, request()).prompt;
    assert_eq!(prompt.system, ["You are a helpful assistant."]);
    assert_eq!(prompt.options.temperature, Some(0.0));
    assert!(prompt.tools.is_empty() && prompt.tool_choice.is_none());
    assert_eq!(prompt.messages.len(), 1);
}

#[test]
fn what_the_caller_says_itself_stands() {
    let request = Request {
        callers_system: vec!["Speak like a pirate.".to_owned()],
        options: Sampling {
            temperature: Some(0.7),
            max_output_tokens: Some(9),
            ..Sampling::default()
        },
        ..request()
    };
    let prompt = Order::new(candidate(true), request).prompt;
    assert_eq!(prompt.system, ["Speak like a pirate."]);
    assert_eq!(prompt.options.temperature, Some(0.7));
    assert_eq!(prompt.options.max_output_tokens, Some(9));
}

#[test]
fn any_other_model_of_a_service_is_asked_like_all() {
    let larger = candidate(false);
    assert!(takes_tools(&larger));
    let prompt = Order::new(larger, request()).prompt;
    assert_eq!((prompt.system.len(), prompt.messages.len()), (2, 3));
    assert_eq!((prompt.tools.len(), prompt.options.temperature), (1, None));
}
