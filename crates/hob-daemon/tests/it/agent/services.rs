//! Models of local services: reached over the bus, asked in the way that suits them.

use super::house::{House, config, folder, saying, waiting};
use hob_bus::Room;
use hob_models::ServedModel;
use hob_sim::{Flavour, Sim};
use hob_wire::rooms::agent::{AgentChatParams, AgentRunParams, Chat, ChatMessage, InlineImage};
use hob_wire::rooms::model::ProviderKind;
use hob_wire::rooms::service::{Reach, ServiceReachResult, ServiceRole, ServiceSelector};
use hob_wire::{ErrorCode, MessageContent, Role, RunId, WireError};
use std::sync::Arc;

pub(super) fn served(service: &str, role: ServiceRole) -> ServedModel {
    ServedModel {
        service: service.to_owned(),
        role,
        model: Some("tiny".to_owned()),
        modest: role == ServiceRole::Llm,
        kind: ProviderKind::Openai,
        running: true,
        context_tokens: None,
    }
}

/// A house in which these services answer at these servers; without one they fail to start.
pub(super) fn house(
    folder: &std::path::Path,
    config: &str,
    services: &[(ServedModel, Option<&Sim>)],
) -> House {
    let house = House::open(folder, config);
    let places: Vec<(String, Option<String>)> = services
        .iter()
        .map(|(served, sim)| {
            // The demo is served by llama.cpp, which takes more fields than OpenAI, as this one does.
            let url = sim.map(|sim| {
                if served.modest {
                    sim.url_as(Flavour::LmStudio)
                } else {
                    format!("http://{}", sim.address())
                }
            });
            (served.service.clone(), url)
        })
        .collect();
    let room = Room::new("services").method::<Reach, _, _>(move |_, params: ServiceSelector| {
        let place = places.iter().find(|(name, _)| *name == params.name);
        let url = place.and_then(|(_, url)| url.clone());
        async move {
            let failed = || WireError::new(ErrorCode::MethodError, "It ended with code 1.");
            Ok(ServiceReachResult {
                url: url.ok_or_else(failed)?,
                name: params.name,
                password: None,
                server: None,
            })
        }
    });
    house.bus.serve(room).expect("is served");
    let all = services.iter().map(|(served, _)| served.clone()).collect();
    house.served.send_replace(Arc::new(all));
    house
}

fn seeing(session: &str, words: &str) -> AgentRunParams {
    AgentRunParams {
        images: vec![InlineImage {
            mime_type: "image/png".to_owned(),
            data: "iVBORw0KGgo=".to_owned(),
        }],
        ..waiting(session, words)
    }
}

#[tokio::test]
async fn with_nothing_configured_the_local_model_answers_as_it_can() {
    let sim = saying("Paris.");
    let folder = folder();
    let house = house(
        folder.path(),
        "",
        &[(served("llm", ServiceRole::Llm), Some(&sim))],
    );
    let reply = house.run(waiting("chat:a", "The capital of France?")).await;
    assert_eq!(reply.response.as_deref(), Some("Paris."));
    let asked = &sim.asked()[0];
    assert_eq!(asked.system, "You are a helpful assistant.");
    assert!(asked.tools.is_empty(), "{:?}", asked.tools);
    assert_eq!(asked.body["temperature"], 0.0);
    assert_eq!(asked.model, "tiny");

    let chat = AgentChatParams {
        model: Some("local".to_owned()),
        messages: vec![ChatMessage {
            role: Role::User,
            content: MessageContent::Text("And of Spain?".to_owned()),
        }],
        ..chat_params()
    };
    let reply = house.caller().call::<Chat>(&chat).await.expect("answers");
    assert!(reply.success, "{:?}", reply.message);
    assert_eq!(reply.model.as_deref(), Some("llm/tiny"));
    assert_eq!(sim.asked()[1].system, "You are a helpful assistant.");
    house.close().await;
}

pub(super) fn chat_params() -> AgentChatParams {
    serde_json::from_value(serde_json::json!({
        "chatId": RunId(hob_kit::randomness::Randomness::seeded(7).uuid(1)),
        "messages": [],
    }))
    .expect("is complete")
}

#[tokio::test]
async fn a_service_that_does_not_start_is_told_and_the_next_model_asked() {
    let sim = saying("Here I am.");
    let folder = folder();
    let both = config(&sim, "").replace("[\"sim/small\"]", "[\"llm/tiny\", \"sim/small\"]");
    let house = house(
        folder.path(),
        &both,
        &[(served("llm", ServiceRole::Llm), None)],
    );
    let reply = house.run(waiting("chat:a", "Hello?")).await;
    assert_eq!(reply.response.as_deref(), Some("Here I am."));
    let notes = house.status(&reply).await.notes;
    assert!(notes[0].contains("llm: It ended with code 1."), "{notes:?}");

    let alone = AgentRunParams {
        model: Some("local".to_owned()),
        ..waiting("chat:b", "Hello?")
    };
    assert_eq!(house.run(alone).await.success, Some(false));
    let completed = &house.hears("run.completed", 2).await[1];
    let message = completed["message"].as_str().unwrap_or_default();
    assert!(message.contains("It ended with code 1."), "{message}");
    house.close().await;
}

#[tokio::test]
async fn pictures_go_to_a_running_service_that_sees_unless_a_model_is_named() {
    let (text, sees) = (saying("I read."), saying("A cat."));
    let folder = folder();
    let house = house(
        folder.path(),
        &config(&text, ""),
        &[(served("vlm", ServiceRole::Vlm), Some(&sees))],
    );
    let reply = house.run(seeing("chat:a", "What is this?")).await;
    assert_eq!(reply.response.as_deref(), Some("A cat."));
    assert_eq!(sees.asked()[0].messages[0].images.len(), 1);
    // The picture is still in sight when the talk goes on.
    let reply = house.run(waiting("chat:a", "Which colour?")).await;
    assert_eq!(reply.response.as_deref(), Some("A cat."));
    let reply = house.run(waiting("chat:b", "Hello?")).await;
    assert_eq!(reply.response.as_deref(), Some("I read."));
    let named = AgentRunParams {
        model: Some("default".to_owned()),
        ..seeing("chat:c", "What is this?")
    };
    assert_eq!(house.run(named).await.response.as_deref(), Some("I read."));

    let mut asleep = served("vlm", ServiceRole::Vlm);
    asleep.running = false;
    house.served.send_replace(Arc::new(vec![asleep]));
    let reply = house.run(seeing("chat:d", "What is this?")).await;
    assert_eq!(reply.response.as_deref(), Some("I read."));
    house.close().await;
}

#[tokio::test]
async fn a_picture_that_is_no_longer_shown_chooses_no_model() {
    let (text, sees) = (saying("I read."), saying("A cat."));
    let folder = folder();
    let small = format!("{}context_tokens = 4000\n", config(&text, ""));
    let vlm = [(served("vlm", ServiceRole::Vlm), Some(&sees))];
    let house = house(folder.path(), &small, &vlm);
    house.run(seeing("chat:a", "What is this?")).await;
    let reply = house.run(waiting("chat:a", "Which colour?")).await;
    assert_eq!(reply.response.as_deref(), Some("A cat."));
    for _ in 0..4 {
        let words = format!("Go on. {}", "word ".repeat(1_000));
        house.run(waiting("chat:a", &words)).await;
    }
    let reply = house.run(waiting("chat:a", "And now?")).await;
    assert_eq!(reply.response.as_deref(), Some("I read."));
    let last = text.asked().pop().expect("was asked");
    assert!(last.messages.iter().all(|said| said.images.is_empty()));
    house.close().await;
}
