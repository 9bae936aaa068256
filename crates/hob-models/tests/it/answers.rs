//! Answers of every kind, in every protocol.

use crate::house::{
    after, ask, book, calls, candidate, named, schema, shown, sim_book, user, words,
};
use hob_models::{Prompt, PromptMessage, ReplyDelta, StopReason};
use hob_sim::{Answer, AnswerEnding, Dialect, Sim, SimRequest};
use hob_wire::content::{ContentPart, Role};
use hob_wire::rooms::agent::{SamplingParams, ThinkingLevel};
use serde_json::json;

#[tokio::test]
async fn words_stream_and_are_counted() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| Answer::words("Hello, dear house.").usage(40, 5));
        let (pieces, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
        let reply = reply.expect("answers");
        assert_eq!(words(&reply), "Hello, dear house.", "{dialect:?}");
        assert_eq!(shown(&pieces), "Hello, dear house.");
        assert!(pieces.len() > 1, "it streams");
        assert_eq!(reply.stop, StopReason::End);
        assert_eq!(reply.model, "sim/sim-large");
        let usage = reply.usage.expect("is counted");
        assert_eq!((usage.input_tokens, usage.output_tokens), (40, 5));
        assert!(!reply.usage_estimated);
        assert_eq!(sim.refused(), [""; 0]);
        assert_eq!(sim.asked()[0].system, "You are hob.");
        assert_eq!(sim.asked()[0].tools, ["read", "time"]);
    }
}

/// Calls two tools at once, thinking aloud, then one, then answers.
fn three_steps(asked: &SimRequest) -> Answer {
    match asked.results().len() {
        0 => Answer::words("I look.")
            .thinking("Two things to see.")
            .calls([("read", json!({ "path": "a" })), ("time", json!({}))]),
        2 => Answer::asks("read", json!({ "path": "b" })).thinking("One more."),
        _ => Answer::words("Done."),
    }
}

#[tokio::test]
async fn calls_thoughts_and_results_go_round() {
    for (dialect, model) in [
        (Dialect::OpenaiChat, "sim-large"),
        (Dialect::OpenaiResponses, "gpt-5.4"),
        (Dialect::Anthropic, "claude-sonnet-4-5"),
        (Dialect::Anthropic, "claude-sonnet-5-5"),
        (Dialect::Gemini, "gemini-2.5-flash"),
        (Dialect::Gemini, "gemini-3-flash-preview"),
    ] {
        let sim = Sim::start(three_steps);
        let candidate = named(&sim, dialect, model, "");
        let mut prompt = user("look around");
        prompt.options.thinking = Some(ThinkingLevel::Low);
        let (pieces, reply) = ask(&candidate, &prompt).await;
        let reply = reply.unwrap_or_else(|error| panic!("{model}: {error}; {:?}", sim.refused()));
        let found: Vec<_> = calls(&reply)
            .iter()
            .map(|call| (call.name.clone(), call.args.clone()))
            .collect();
        let expected = [
            ("read".to_owned(), json!({ "path": "a" })),
            ("time".to_owned(), json!({})),
        ];
        assert_eq!(found, expected, "{model}");
        assert_eq!(reply.stop, StopReason::Tools);
        assert_eq!(words(&reply), "I look.");
        let thought: String = pieces
            .iter()
            .filter_map(|piece| match piece {
                ReplyDelta::Thinking(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thought, "Two things to see.", "{model}");

        let prompt = after(&prompt, &reply, &["A", "noon"]);
        let (_, reply) = ask(&candidate, &prompt).await;
        let reply = reply.unwrap_or_else(|error| panic!("{model}: {error}; {:?}", sim.refused()));
        assert_eq!(calls(&reply)[0].args, json!({ "path": "b" }));
        let prompt = after(&prompt, &reply, &["B"]);
        let (_, reply) = ask(&candidate, &prompt).await;
        let reply = reply.unwrap_or_else(|error| panic!("{model}: {error}; {:?}", sim.refused()));
        assert_eq!(words(&reply), "Done.");
        assert_eq!(sim.refused(), [""; 0], "{model}");
        let asked = sim.asked();
        let results: Vec<_> = asked[2]
            .results()
            .iter()
            .map(|one| one.text.clone())
            .collect();
        assert_eq!(results, ["A", "noon", "B"]);
    }
}

#[tokio::test]
async fn images_and_schemas_arrive() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| Answer::words("{\"answer\":\"a cat\"}"));
        let model = match dialect {
            Dialect::Anthropic => "claude-sonnet-4-5",
            _ => "sim-large",
        };
        let prompt = Prompt {
            messages: vec![PromptMessage {
                role: Role::User,
                parts: vec![
                    ContentPart::Text {
                        text: "what is this?".into(),
                    },
                    ContentPart::Image {
                        mime_type: "image/png".into(),
                        data: "iVBORw0KGgo=".into(),
                    },
                ],
            }],
            schema: Some(schema()),
            options: SamplingParams {
                temperature: Some(0.2),
                max_output_tokens: Some(500),
                ..SamplingParams::default()
            },
            ..user("")
        };
        let (_, reply) = ask(&named(&sim, dialect, model, ""), &prompt).await;
        let reply =
            reply.unwrap_or_else(|error| panic!("{dialect:?}: {error}; {:?}", sim.refused()));
        assert_eq!(words(&reply), "{\"answer\":\"a cat\"}");
        let asked = &sim.asked()[0];
        assert_eq!(asked.messages[0].images, ["image/png"], "{dialect:?}");
        assert_eq!(asked.schema, Some(schema()), "{dialect:?}");
    }
}

#[tokio::test]
async fn endings_are_told_apart() {
    for dialect in Dialect::ALL {
        for (ending, stop) in [
            (AnswerEnding::Length, StopReason::Length),
            (AnswerEnding::Content, StopReason::Content),
        ] {
            let sim = Sim::start(move |_| Answer::words("So far").ending(ending));
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            assert_eq!(reply.expect("answers").stop, stop, "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn a_model_without_tools_is_given_them_as_text() {
    let brain = |asked: &SimRequest| {
        assert!(asked.tools.is_empty());
        if asked.last_user().contains("TOOL_RESULT") {
            return Answer::words("It is noon.");
        }
        Answer::words(
            "Let me see.\nTOOL_CALL: {\"name\":\"time\",\"args\":{}}\nTOOL_CALL: {\"name\":\n",
        )
    };
    let sim = Sim::start(brain);
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!("[models.small]\nkind = \"openai\"\nurl = \"{url}\"\ntools = \"text\"\n");
    let book = book(&config, &[]);
    let candidate = book.resolve(Some("small/m")).expect("resolves").remove(0);
    assert!(!candidate.facts().native_tools);
    let prompt = user("what time is it?");
    let (pieces, reply) = ask(&candidate, &prompt).await;
    let reply = reply.expect("answers");
    assert_eq!(shown(&pieces), "Let me see.\n");
    assert_eq!(words(&reply), "Let me see.\n");
    assert_eq!(reply.stop, StopReason::Tools);
    let found = calls(&reply);
    assert_eq!(
        (found[0].name.as_str(), &found[0].args),
        ("time", &json!({}))
    );
    assert_eq!(found[1].name, "unreadable");
    assert!(found[1].args.is_string());
    let next = after(&prompt, &reply, &["noon", "no such call"]);
    let (_, reply) = ask(&candidate, &next).await;
    assert_eq!(words(&reply.expect("answers")), "It is noon.");
    assert!(sim.asked()[0].system.contains("\"name\":\"read\""));
    assert_eq!(sim.refused(), [""; 0]);
}

#[tokio::test]
async fn ollama_is_asked_at_v1() {
    let sim = Sim::start(|_| Answer::words("woof"));
    let config = format!("[models.ollama]\nurl = \"http://{}\"\n", sim.address());
    let book = book(&config, &[]);
    let candidate = book
        .resolve(Some("ollama/llama3"))
        .expect("resolves")
        .remove(0);
    let (_, reply) = ask(&candidate, &user("hi")).await;
    assert_eq!(words(&reply.expect("answers")), "woof");
    assert_eq!(sim.asked()[0].header("authorization"), None);
    let listing = book.models(Some("ollama")).await;
    assert_eq!(listing.models[0].id, "ollama/sim-small");
}

#[tokio::test]
async fn models_are_listed_in_every_protocol_and_problems_named() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| Answer::words(""));
        let more = "[models.gone]\nurl = \"http://127.0.0.1:1/v1\"\n";
        let listing = sim_book(&sim, dialect, more).models(None).await;
        let ids: Vec<_> = listing
            .models
            .iter()
            .map(|model| model.id.as_str())
            .collect();
        assert_eq!(ids, ["sim/sim-small", "sim/sim-large"], "{dialect:?}");
        assert_eq!(listing.problems.len(), 1);
        assert_eq!(listing.problems[0].0, "gone");
    }
}

/// A turn one provider began goes on at any other, with the ids and thoughts of the first.
#[tokio::test]
async fn a_turn_goes_on_at_another_provider() {
    let models = [
        (Dialect::OpenaiChat, "sim-large"),
        (Dialect::OpenaiResponses, "gpt-5.4"),
        (Dialect::Anthropic, "claude-sonnet-4-5"),
        (Dialect::Gemini, "gemini-3-flash-preview"),
    ];
    for (first, first_model) in models {
        let sim = Sim::start(three_steps);
        let mut prompt = user("look around");
        prompt.options.thinking = Some(ThinkingLevel::Low);
        let (_, reply) = ask(&named(&sim, first, first_model, ""), &prompt).await;
        let prompt = after(&prompt, &reply.expect("answers"), &["A", "noon"]);
        for (second, model) in models {
            let sim = Sim::start(three_steps);
            let (_, reply) = ask(&named(&sim, second, model, ""), &prompt).await;
            let reply = reply.unwrap_or_else(|error| panic!("{first_model}, {model}: {error}"));
            assert_eq!(calls(&reply)[0].args, json!({ "path": "b" }));
            assert_eq!(sim.refused(), [""; 0], "{first_model}, {model}");
        }
    }
}
