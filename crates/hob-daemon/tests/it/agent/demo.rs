//! The limits of the demo model, and answers of local models that repeat themselves.

use super::house::{House, folder, saying, thinking, waiting};
use super::services::{chat_params, house, served};
use hob_models::ServedModel;
use hob_sim::{Answer, AnswerEnding, Sim};
use hob_wire::rooms::agent::{
    AgentChatParams, AgentRunParams, Chat, ChatMessage, RunEndCause, SamplingParams,
};
use hob_wire::rooms::service::ServiceRole;
use hob_wire::{ContentPart, ErrorCode, MessageContent, Role};

/// A line as the demo model repeated it 43 times.
const LINE: &str = "The capital of Italy is Rome.\n";

fn demo(folder: &std::path::Path, sim: &Sim) -> House {
    house(folder, "", &[(served("llm", ServiceRole::Llm), Some(sim))])
}

/// A model of a service that is no demo.
fn local(folder: &std::path::Path, sim: &Sim) -> House {
    let service = ServedModel {
        modest: false,
        ..served("llm", ServiceRole::Llm)
    };
    house(folder, "", &[(service, Some(sim))])
}

#[tokio::test]
async fn a_demo_is_named_before_it_answers_and_capped() {
    let sim = thinking(|_| Answer::words("Rome is").ending(AnswerEnding::Length));
    let folder = folder();
    let house = demo(folder.path(), &sim);
    let reply = house.run(waiting("chat:a", "The capital of Italy?")).await;
    assert_eq!(reply.response.as_deref(), Some("Rome is"));
    let named = house.heard("run.server");
    assert_eq!(named.len(), 1, "{named:?}");
    assert_eq!(
        (&named[0]["demo"], &named[0]["model"]),
        (&true.into(), &"tiny".into())
    );
    let asked = &sim.asked()[0].body;
    assert_eq!(asked["max_tokens"], 256);
    assert!(asked["repeat_penalty"].as_f64() > Some(1.0), "{asked}");
    let notes = house.status(&reply).await.notes;
    assert!(notes[0].contains("at most 256 tokens"), "{notes:?}");
    house.close().await;
}

#[tokio::test]
async fn a_caller_cannot_raise_the_cap_of_the_demo() {
    let sim = saying("Rome.");
    let folder = folder();
    let house = demo(folder.path(), &sim);
    for (asked, sent) in [(4_000, 256), (20, 20)] {
        let chat = AgentChatParams {
            model: Some("local".to_owned()),
            options: SamplingParams {
                max_output_tokens: Some(asked),
                ..SamplingParams::default()
            },
            messages: vec![ChatMessage {
                role: Role::User,
                content: MessageContent::Text("And of Spain?".to_owned()),
            }],
            ..chat_params()
        };
        house.caller().call::<Chat>(&chat).await.expect("answers");
        let last = sim.asked().pop().expect("was asked");
        assert_eq!(last.body["max_tokens"], sent);
    }
    house.close().await;
}

#[tokio::test]
async fn what_needs_tools_or_a_larger_window_is_refused_by_the_demo() {
    let sim = saying("Rome.");
    let folder = folder();
    let house = demo(folder.path(), &sim);
    let with_tools = AgentRunParams {
        tools: Some(vec!["terminal".to_owned()]),
        ..waiting("chat:a", "What is my uptime?")
    };
    let too_long = waiting("chat:b", &"many words ".repeat(2_000));
    for params in [with_tools, too_long] {
        let refused = house.try_run(params).await.expect_err("is refused");
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(
            refused.message.contains("hob onboard"),
            "{}",
            refused.message
        );
        let reason = &refused.details.expect("has details")["reason"];
        assert_eq!(reason, "demo-model");
    }
    assert!(sim.asked().is_empty());
    // Nothing of it was kept, and a plain question is answered.
    let reply = house.run(waiting("chat:a", "The capital of Italy?")).await;
    assert_eq!(reply.response.as_deref(), Some("Rome."));
    assert_eq!(sim.asked()[0].messages.len(), 1);
    house.close().await;
}

#[tokio::test]
async fn a_local_model_that_repeats_a_line_is_stopped_and_said_so() {
    let sim = thinking(|_| Answer::words(LINE.repeat(43)));
    let folder = folder();
    let house = demo(folder.path(), &sim);
    let reply = house.run(waiting("chat:a", "The capital of Italy?")).await;
    assert_eq!(reply.success, Some(false));
    assert_eq!(reply.cause, Some(RunEndCause::RepeatedText));
    assert_eq!(reply.response.as_deref(), Some(LINE.repeat(2).as_str()));
    let view = house.status(&reply).await;
    assert!(
        view.notes[0].contains("repeat itself: “The capital"),
        "{:?}",
        view.notes
    );
    assert!(view.cost.output_tokens > 0, "{:?}", view.cost);
    house.close().await;
}

#[tokio::test]
async fn better_local_models_may_repeat_lines_elsewhere_but_not_in_a_row() {
    let refrain = "La la la la la la.\nFirst.\nLa la la la la la.\nSecond.\nLa la la la la la.\n";
    let sim = thinking(move |asked| match asked.last_user() {
        "Sing." => Answer::words(refrain),
        _ => Answer::words(LINE.repeat(43)),
    });
    let folder = folder();
    let house = local(folder.path(), &sim);
    let sung = house.run(waiting("chat:a", "Sing.")).await;
    assert_eq!(sung.response.as_deref(), Some(refrain));
    assert!(sim.asked()[0].body.get("repeat_penalty").is_none());
    let looped = house.run(waiting("chat:b", "The capital of Italy?")).await;
    assert_eq!(looped.cause, Some(RunEndCause::RepeatedText));
    house.close().await;
}

#[tokio::test]
async fn a_chat_ends_where_the_model_repeats_itself() {
    let sim = thinking(|_| Answer::words(LINE.repeat(43)));
    let folder = folder();
    let house = local(folder.path(), &sim);
    let chat = AgentChatParams {
        model: Some("local".to_owned()),
        messages: vec![ChatMessage {
            role: Role::User,
            content: MessageContent::Text("The capital of Italy?".to_owned()),
        }],
        ..chat_params()
    };
    let reply = house.caller().call::<Chat>(&chat).await.expect("answers");
    assert_eq!(reply.cause, RunEndCause::RepeatedText);
    let text = LINE.repeat(2);
    assert_eq!(reply.content, [ContentPart::Text { text }]);
    house.close().await;
}

#[tokio::test]
async fn remote_models_may_say_what_they_like() {
    let sim = thinking(|_| Answer::words(LINE.repeat(43)));
    let folder = folder();
    let house = House::open(folder.path(), &super::house::config(&sim, ""));
    let reply = house.run(waiting("chat:a", "The capital of Italy?")).await;
    assert_eq!(reply.response.as_deref(), Some(LINE.repeat(43).as_str()));
    house.close().await;
}
