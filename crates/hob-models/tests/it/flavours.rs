//! Every provider that is a row of data, with its own ways, as its row configures it.

use crate::house::{CANARY, after, ask, book, calls, schema, user, words};
use hob_models::ModelCandidate;
use hob_sim::{Answer, Flavour, Sim, SimRequest};
use hob_wire::rooms::agent::{ThinkingLevel, ToolChoice};
use serde_json::json;

fn row(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Openai => "openai",
        Flavour::OpenRouter => "openrouter",
        Flavour::Groq => "groq",
        Flavour::DeepSeek => "deepseek",
        Flavour::Mistral => "mistral",
        Flavour::Xai => "xai",
        Flavour::Ollama => "ollama",
        Flavour::LmStudio => "lmstudio",
    }
}

/// The row at the server's address, in chat completions.
fn candidate(sim: &Sim, flavour: Flavour, model: &str) -> ModelCandidate {
    let name = row(flavour);
    let url = sim.url_as(flavour);
    let kind = match flavour {
        Flavour::Openai => "kind = \"openai\"\n",
        _ => "",
    };
    let config = format!("[models.{name}]\n{kind}url = \"{url}\"\nkey_env = \"SIM_KEY\"\n");
    let book = book(&config, &[("SIM_KEY", CANARY)]);
    let wanted = format!("{name}/{model}");
    book.resolve(Some(&wanted)).expect("resolves").remove(0)
}

fn two_steps(asked: &SimRequest) -> Answer {
    match asked.results().len() {
        0 => Answer::words("I look.")
            .thinking("Two things.")
            .calls([("read", json!({ "path": "a" })), ("time", json!({}))]),
        _ => Answer::words("Done.").thinking("Enough."),
    }
}

#[tokio::test]
async fn a_turn_with_tools_goes_round_at_every_row() {
    for flavour in Flavour::ALL {
        let sim = Sim::start(two_steps);
        let candidate = candidate(&sim, flavour, "some-model");
        let mut prompt = user("look");
        prompt.tool_choice = Some(ToolChoice::Required);
        prompt.options.max_output_tokens = Some(200);
        prompt.options.thinking = Some(ThinkingLevel::Low);
        let (_, reply) = ask(&candidate, &prompt).await;
        let reply = reply.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        let found: Vec<_> = calls(&reply).iter().map(|call| call.args.clone()).collect();
        assert_eq!(found, [json!({ "path": "a" }), json!({})], "{flavour:?}");
        assert!(!reply.usage_estimated, "{flavour:?}: {:?}", reply.usage);
        prompt.tool_choice = None;
        let next = after(&prompt, &reply, &["A", "noon"]);
        let (_, reply) = ask(&candidate, &next).await;
        let reply = reply.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        assert_eq!(words(&reply), "Done.", "{flavour:?}");
        assert_eq!(sim.refused(), [""; 0], "{flavour:?}");
    }
}

#[tokio::test]
async fn ids_and_thoughts_of_others_are_taken_everywhere() {
    let first = Sim::start(two_steps);
    let began = candidate(&first, Flavour::OpenRouter, "m");
    let prompt = user("look");
    let (_, reply) = ask(&began, &prompt).await;
    let next = after(&prompt, &reply.expect("answers"), &["A", "noon"]);
    for flavour in Flavour::ALL {
        let sim = Sim::start(two_steps);
        let (_, reply) = ask(&candidate(&sim, flavour, "m"), &next).await;
        let reply = reply.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        assert_eq!(words(&reply), "Done.", "{flavour:?}");
        assert_eq!(sim.refused(), [""; 0], "{flavour:?}");
    }
}

#[tokio::test]
async fn a_schema_is_asked_for_in_each_rows_way() {
    for flavour in Flavour::ALL {
        let sim = Sim::start(|_| Answer::words("{\"answer\":\"yes\"}"));
        let mut prompt = user("well?");
        prompt.tools.clear();
        prompt.schema = Some(schema());
        let (_, reply) = ask(&candidate(&sim, flavour, "m"), &prompt).await;
        reply.unwrap_or_else(|error| panic!("{flavour:?}: {error}"));
        assert_eq!(sim.refused(), [""; 0], "{flavour:?}");
    }
}
