//! Each dialect's stream and whole answer, read by the tiny reader.

use crate::reader::{events, told};
use crate::wire::{ask, path, post, simple};
use hob_sim::{Answer, AnswerEnding, Dialect, Sim, UsageLie};
use serde_json::{Value, json};

fn rich() -> Answer {
    Answer::words("It is late, go to bed.")
        .thinking("What would help? Sleep.")
        .calls([
            (
                "look",
                json!({ "path": "/tmp/ä\"b", "deep": { "n": [1, 2] } }),
            ),
            ("time", json!({})),
        ])
        .usage(31, 17)
}

#[test]
fn a_stream_says_all_of_the_answer() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| rich());
        let heard = ask(&sim, dialect, true);
        assert_eq!(heard.status, 200);
        assert!(heard.whole);
        let kind = heard.header("content-type").expect("a type");
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        let told = told(dialect, &events(&heard.body));
        assert!(told.ended, "{dialect:?}");
        assert_eq!(told.thinking, "What would help? Sleep.", "{dialect:?}");
        assert_eq!(told.words, "It is late, go to bed.", "{dialect:?}");
        assert_eq!(told.usage, Some((json!(31), json!(17))), "{dialect:?}");
        let names: Vec<&str> = told.calls.iter().map(|call| call.1.as_str()).collect();
        assert_eq!(names, ["look", "time"], "{dialect:?}");
        let args: Value = serde_json::from_str(&told.calls[0].2).expect("whole arguments");
        assert_eq!(args["path"], "/tmp/ä\"b", "{dialect:?}");
        assert_eq!(args["deep"]["n"], json!([1, 2]), "{dialect:?}");
        assert_eq!(told.calls[1].2, "{}", "{dialect:?}");
        assert_ne!(told.calls[0].0, told.calls[1].0, "{dialect:?}");
        let stop = match dialect {
            Dialect::OpenaiChat => "tool_calls",
            Dialect::OpenaiResponses => "completed",
            Dialect::Anthropic => "tool_use",
            Dialect::Gemini => "STOP",
        };
        assert_eq!(told.stop, stop);
        let signs = matches!(dialect, Dialect::Anthropic | Dialect::Gemini);
        assert_eq!(!told.signature.is_empty(), signs, "{dialect:?}");
    }
}

#[test]
fn a_whole_answer_says_the_same() {
    let sim = Sim::start(|_| rich());
    let chat = ask(&sim, Dialect::OpenaiChat, false).json();
    let message = &chat["choices"][0]["message"];
    assert_eq!(chat["object"], "chat.completion");
    assert_eq!(message["content"], "It is late, go to bed.");
    assert_eq!(message["tool_calls"][1]["function"]["arguments"], "{}");
    assert_eq!(chat["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(chat["usage"]["total_tokens"], 48);

    let anthropic = ask(&sim, Dialect::Anthropic, false).json();
    let kinds = |list: &Value| -> Vec<String> {
        let items = list.as_array().expect("a list").iter();
        items.map(|one| one["type"].to_string()).collect()
    };
    let blocks = ["\"thinking\"", "\"text\"", "\"tool_use\"", "\"tool_use\""];
    assert_eq!(kinds(&anthropic["content"]), blocks);
    assert_eq!(anthropic["content"][2]["input"]["deep"]["n"][0], 1);
    assert_eq!(anthropic["stop_reason"], "tool_use");

    let responses = ask(&sim, Dialect::OpenaiResponses, false).json();
    let items = [
        "\"reasoning\"",
        "\"message\"",
        "\"function_call\"",
        "\"function_call\"",
    ];
    assert_eq!(kinds(&responses["output"]), items);
    assert_eq!(responses["status"], "completed");
    assert_eq!(responses["usage"]["output_tokens"], 17);

    let gemini = ask(&sim, Dialect::Gemini, false).json();
    let parts = &gemini["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["thought"], true);
    assert_eq!(parts[2]["functionCall"]["name"], "look");
    assert_eq!(gemini["usageMetadata"]["totalTokenCount"], 48);
}

#[test]
fn anthropic_keeps_its_order_of_events() {
    let sim = Sim::start(|_| Answer::words("hi").thinking("hm").call("t", json!({})));
    let heard = ask(&sim, Dialect::Anthropic, true);
    let mut kinds: Vec<String> = events(&heard.body)
        .into_iter()
        .map(|event| event.kind)
        .collect();
    kinds.dedup();
    let block = [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ];
    let mut wanted = vec!["message_start", "content_block_start", "ping"];
    wanted.extend(&block[1..]);
    wanted.extend(block);
    wanted.extend(block);
    wanted.extend(["message_delta", "message_stop"]);
    assert_eq!(kinds, wanted);
}

#[test]
fn responses_count_their_events() {
    let sim = Sim::start(|_| rich());
    let heard = ask(&sim, Dialect::OpenaiResponses, true);
    for (at, event) in events(&heard.body).iter().enumerate() {
        let data: Value = serde_json::from_str(&event.data).expect("JSON");
        assert_eq!(data["sequence_number"], at);
    }
}

#[test]
fn chat_tells_usage_only_when_asked() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let mut body = simple(Dialect::OpenaiChat, true);
    let told_with = told(
        Dialect::OpenaiChat,
        &events(&post(&sim, path(Dialect::OpenaiChat, true), &body).body),
    );
    assert!(told_with.usage.is_some());
    body.as_object_mut()
        .expect("a body")
        .remove("stream_options");
    let heard = post(&sim, path(Dialect::OpenaiChat, true), &body);
    assert!(!heard.text().contains("usage"));
}

#[test]
fn gemini_without_events_is_one_array() {
    let sim = Sim::start(|_| Answer::words("a b c"));
    let path = "/v1beta/models/g:streamGenerateContent";
    let heard = post(&sim, path, &simple(Dialect::Gemini, true));
    let list = heard.json();
    assert_eq!(list.as_array().map(Vec::len), Some(4));
}

#[test]
fn endings_have_each_their_word() {
    for (ending, words) in [
        (
            AnswerEnding::Length,
            ["length", "incomplete", "max_tokens", "MAX_TOKENS"],
        ),
        (
            AnswerEnding::Content,
            ["content_filter", "incomplete", "refusal", "SAFETY"],
        ),
    ] {
        let sim = Sim::start(move |_| Answer::words("so far").ending(ending));
        for (dialect, word) in Dialect::ALL.into_iter().zip(words) {
            let heard = ask(&sim, dialect, true);
            assert_eq!(told(dialect, &events(&heard.body)).stop, word);
        }
    }
}

#[test]
fn usage_lies_when_told_to() {
    for dialect in Dialect::ALL {
        for (lie, wanted) in [
            (UsageLie::Negative, Some((json!(-12), json!(-345)))),
            (UsageLie::NanString, Some((json!("NaN"), json!("NaN")))),
            (UsageLie::Zero, Some((json!(0), json!(0)))),
            (UsageLie::Missing, None),
        ] {
            let sim = Sim::start(move |_| Answer::words("hi").lying_usage(lie));
            let heard = ask(&sim, dialect, true);
            let told = told(dialect, &events(&heard.body));
            assert_eq!(told.usage, wanted, "{dialect:?} {lie:?}");
            assert!(told.ended);
        }
        let sim = Sim::start(|_| Answer::words("hi").lying_usage(UsageLie::Huge));
        let heard = ask(&sim, dialect, true);
        let (input, _) = told(dialect, &events(&heard.body)).usage.expect("a lie");
        assert!(
            input
                .as_u64()
                .is_some_and(|input| input > 1_000_000_000_000)
        );
    }
}

#[test]
fn the_same_conversation_gets_the_same_bytes() {
    let (one, other) = (Sim::start(|_| rich()), Sim::start(|_| rich()));
    for dialect in Dialect::ALL {
        let first = ask(&one, dialect, true).body;
        assert_eq!(first, ask(&other, dialect, true).body);
        assert_eq!(first, ask(&one, dialect, true).body);
    }
}
