//! Prompts for the small built-in model and for others.

use super::{ModelCall, PromptInput, takes_tools};
use crate::agent::conversation::ContextMessage;
use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_models::{
    EnvKeys, ModelCandidate, ModelCatalog, ModelSources, NoServices, ServedModel, ToolDefinition,
};
use hob_net::{HttpClient, HttpOptions};
use hob_wire::rooms::agent::{SamplingParams, ToolChoice};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::ServiceRole;
use hob_wire::{MessageContent, Role};
use std::sync::Arc;

fn candidate(modest: bool) -> ModelCandidate {
    let catalog = Arc::new(SettingsCatalog::new(&[hob_models::KEYS]));
    let settings = Settings::load(&catalog, "test", "", &EnvVars::default()).expect("loads");
    let served = ServedModel {
        service: "llm".to_owned(),
        role: ServiceRole::Llm,
        model: Some("tiny".to_owned()),
        modest,
        kind: ProviderKind::Openai,
        running: false,
        context_tokens: None,
    };
    let sources = ModelSources {
        http: HttpClient::new(HttpOptions::new(Clock::manual(0))).expect("starts"),
        keys: Arc::new(EnvKeys::new(EnvVars::default(), SecretMask::new())),
        services: Arc::new(NoServices),
        served: Arc::new(vec![served]),
    };
    let found = ModelCatalog::new(&settings, sources).resolve(None);
    found.expect("resolves").remove(0)
}

fn request() -> PromptInput {
    let says = |role, text: &str, own| {
        ContextMessage::new(role, MessageContent::Text(text.to_owned()), own)
    };
    // Together far more than the modest model is shown.
    let long = "many words ".repeat(1_000);
    PromptInput {
        system: vec!["You are hob.".to_owned(), "The workspace.".to_owned()],
        messages: vec![
            says(Role::User, &long, false),
            says(Role::Assistant, &long, false),
            says(Role::User, "What is the capital of France?", true),
        ],
        client_tools: vec![ToolDefinition {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: serde_json::json!({ "type": "object" }),
        }],
        tool_choice: Some(ToolChoice::Required),
        ..PromptInput::default()
    }
}

#[test]
fn a_small_model_gets_a_short_prompt_and_no_tools() {
    let modest = candidate(true);
    assert!(!takes_tools(&modest));
    let prompt = ModelCall::new(modest, request()).prompt;
    assert_eq!(prompt.system, ["You are a helpful assistant."]);
    assert_eq!(prompt.options.temperature, Some(0.0));
    assert!(prompt.tools.is_empty() && prompt.tool_choice.is_none());
    assert_eq!(prompt.messages.len(), 1);
}

#[test]
fn the_callers_own_options_stay() {
    let request = PromptInput {
        callers_system: vec!["Speak like a pirate.".to_owned()],
        options: SamplingParams {
            temperature: Some(0.7),
            max_output_tokens: Some(9),
            ..SamplingParams::default()
        },
        ..request()
    };
    let prompt = ModelCall::new(candidate(true), request).prompt;
    assert_eq!(prompt.system, ["Speak like a pirate."]);
    assert_eq!(prompt.options.temperature, Some(0.7));
    assert_eq!(prompt.options.max_output_tokens, Some(9));
}

#[test]
fn any_other_model_of_a_service_gets_the_full_prompt() {
    let larger = candidate(false);
    assert!(takes_tools(&larger));
    let prompt = ModelCall::new(larger, request()).prompt;
    assert_eq!((prompt.system.len(), prompt.messages.len()), (2, 3));
    assert_eq!((prompt.tools.len(), prompt.options.temperature), (1, None));
}
