//! Every fault, seen on the wire.

use crate::reader::{events, told};
use crate::wire::{ask, begin, hear_until, path, post, simple};
use hob_sim::{Answer, Dialect, Fault, GarbageKind, RetryAfter, Sim};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn faulty(fault: Fault) -> Sim {
    Sim::start(move |_| {
        Answer::words("one two three four")
            .calls([("t", json!({ "a": "b" })), ("u", json!({}))])
            .fault(fault.clone())
    })
}

#[test]
fn statuses_have_the_providers_shape() {
    for (code, types) in [
        (
            400,
            [
                "invalid_request_error",
                "invalid_request_error",
                "INVALID_ARGUMENT",
            ],
        ),
        (
            401,
            [
                "invalid_request_error",
                "authentication_error",
                "UNAUTHENTICATED",
            ],
        ),
        (429, ["requests", "rate_limit_error", "RESOURCE_EXHAUSTED"]),
        (500, ["server_error", "api_error", "INTERNAL"]),
        (
            503,
            [
                "service_unavailable_error",
                "overloaded_error",
                "UNAVAILABLE",
            ],
        ),
        (
            529,
            [
                "service_unavailable_error",
                "overloaded_error",
                "UNAVAILABLE",
            ],
        ),
    ] {
        let sim = Sim::start(move |_| Answer::status(code));
        for dialect in Dialect::ALL {
            for stream in [true, false] {
                let heard = ask(&sim, dialect, stream);
                assert_eq!(heard.status, code);
                assert_eq!(heard.header("retry-after"), None);
                let body = heard.json();
                let error = &body["error"];
                assert!(error["message"].is_string());
                let kind = match dialect {
                    Dialect::OpenaiChat | Dialect::OpenaiResponses => (&error["type"], types[0]),
                    Dialect::Anthropic => {
                        assert_eq!(body["type"], "error");
                        (&error["type"], types[1])
                    }
                    Dialect::Gemini => {
                        assert_eq!(error["code"], code);
                        (&error["status"], types[2])
                    }
                };
                assert_eq!(kind.0, kind.1);
            }
        }
        assert_eq!(sim.cut_streams(), 0);
    }
}

#[test]
fn retry_after_in_each_form() {
    let given = |retry| {
        let sim = Sim::start(move |_| Answer::status_retry(429, retry));
        ask(&sim, Dialect::Gemini, true)
    };
    let seconds = given(RetryAfter::Seconds(7));
    assert_eq!(seconds.header("retry-after"), Some("7"));
    let details = &seconds.json()["error"]["details"][0];
    assert_eq!(details["retryDelay"], "7s");
    let date = given(RetryAfter::DateIn(Duration::from_secs(90)));
    let date = date.header("retry-after").expect("a date");
    let words: Vec<&str> = date.split(' ').collect();
    assert_eq!((words.len(), words[5]), (6, "GMT"), "{date}");
    let millis = given(RetryAfter::Millis(250));
    assert_eq!(millis.header("retry-after-ms"), Some("250"));
    let odd = given(RetryAfter::Nonsense);
    assert!(
        odd.header("retry-after")
            .is_some_and(|value| value.parse::<u64>().is_err())
    );
}

#[test]
fn a_cut_at_every_byte() {
    for dialect in Dialect::ALL {
        for stream in [true, false] {
            static CUT: AtomicUsize = AtomicUsize::new(usize::MAX);
            let sim = Sim::start(|_| {
                let cut = Fault::CutAt(CUT.load(Ordering::SeqCst));
                Answer::words("a").call("t", json!({})).fault(cut)
            });
            CUT.store(usize::MAX, Ordering::SeqCst);
            let whole = ask(&sim, dialect, stream).body;
            for bytes in 0..whole.len() {
                CUT.store(bytes, Ordering::SeqCst);
                let heard = ask(&sim, dialect, stream);
                assert!(!heard.whole, "{dialect:?} {bytes}");
                assert_eq!(heard.body.len(), bytes, "{dialect:?}");
                assert_eq!(heard.body, whole[..bytes]);
            }
            assert_eq!(sim.cut_streams(), 0, "the server cut, not the client");
        }
    }
}

#[test]
fn hanging_up_before_the_head() {
    let sim = faulty(Fault::HangUp);
    let heard = ask(&sim, Dialect::OpenaiChat, true);
    assert_eq!((heard.status, heard.body.len()), (0, 0));
}

#[test]
fn binary_is_no_text() {
    for dialect in Dialect::ALL {
        let heard = ask(&faulty(Fault::Garbage(GarbageKind::Binary)), dialect, true);
        assert!(heard.whole);
        assert!(std::str::from_utf8(&heard.body).is_err());
    }
}

#[test]
fn an_endless_line_has_no_end() {
    let bytes = 100 * 1_024 * 1_024 + 3;
    let sim = faulty(Fault::Garbage(GarbageKind::EndlessLine { bytes }));
    let mut stream = begin(&sim, Dialect::OpenaiChat);
    let begun = hear_until(&mut stream, "data: \r\n");
    let mut heard = begun.len();
    let mut last = *begun.last().expect("a byte");
    let mut block = vec![0; 1_024 * 1_024];
    loop {
        let got = stream.read(&mut block).expect("it comes");
        let Some(newest) = block[..got].last() else {
            break;
        };
        heard += got;
        // The only ends of line are those between HTTP's chunks, which a body has no part in.
        let lines = count(&block[..got], b'\n');
        let returns = count(&block[..got], b'\r');
        let across = usize::from(last == b'\r');
        let cut = usize::from(*newest == b'\r');
        assert_eq!(lines + cut, returns + across);
        last = *newest;
    }
    assert!(heard > bytes, "{heard}");
}

fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.split(|byte| *byte == wanted).count() - 1
}

#[test]
fn the_wrong_order_is_back_to_front() {
    let right = events(
        &ask(
            &Sim::start(|_| Answer::words("one two")),
            Dialect::Anthropic,
            true,
        )
        .body,
    );
    let sim =
        Sim::start(|_| Answer::words("one two").fault(Fault::Garbage(GarbageKind::WrongOrder)));
    let mut wrong = events(&ask(&sim, Dialect::Anthropic, true).body);
    assert_eq!(wrong[0].kind, "message_stop");
    wrong.reverse();
    assert_eq!(wrong, right);
}

#[test]
fn duplicates_come_twice_and_share_an_id() {
    for dialect in Dialect::ALL {
        let sim = faulty(Fault::Garbage(GarbageKind::DuplicateIds));
        let body = ask(&sim, dialect, true).body;
        let events = events(&body);
        for pair in events.chunks(2) {
            assert_eq!(pair[0], pair[1], "{dialect:?}");
        }
        let whole = ask(&sim, dialect, false);
        if dialect == Dialect::Anthropic {
            // One piece cannot say things twice: it is no JSON at all instead.
            assert!(serde_json::from_slice::<Value>(&whole.body).is_err());
        }
    }
}

#[test]
fn mixed_ends_of_line_still_say_it_all() {
    for dialect in Dialect::ALL {
        let sim = faulty(Fault::Garbage(GarbageKind::CrlfMix));
        let body = ask(&sim, dialect, true).body;
        let text = String::from_utf8(body.clone()).expect("UTF-8");
        let ends = |end: &str| text.matches(end).count();
        assert!(ends("\r\n") > 0 && ends("\r") > ends("\r\n") && ends("\n") > ends("\r\n"));
        let told = told(dialect, &events(&body));
        assert_eq!(told.words, "one two three four", "{dialect:?}");
        assert!(told.ended);
    }
}

#[test]
fn bad_json_is_in_one_event() {
    for dialect in Dialect::ALL {
        let sim = faulty(Fault::Garbage(GarbageKind::BadJson));
        let events = events(&ask(&sim, dialect, true).body);
        let broken = events
            .iter()
            .filter(|event| event.data != "[DONE]")
            .filter(|event| serde_json::from_str::<Value>(&event.data).is_err());
        assert_eq!(broken.count(), 1, "{dialect:?}");
        let whole = ask(&sim, dialect, false);
        assert!(serde_json::from_slice::<Value>(&whole.body).is_err());
    }
}

#[test]
fn a_page_instead_of_an_answer() {
    let sim = faulty(Fault::Garbage(GarbageKind::Html));
    for stream in [true, false] {
        let heard = ask(&sim, Dialect::OpenaiResponses, stream);
        assert_eq!(
            (heard.status, heard.header("content-type")),
            (200, Some("text/html"))
        );
        assert!(heard.text().starts_with("<!DOCTYPE html>"));
    }
}

#[test]
fn endless_words_go_round() {
    for dialect in Dialect::ALL {
        let sim = faulty(Fault::Endless);
        let mut stream = begin(&sim, dialect);
        let mut bytes = Vec::new();
        for _ in 0..20 {
            bytes.extend(hear_until(&mut stream, "three"));
        }
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.matches("one ").count() >= 10, "{dialect:?}");
        assert!(!text.contains("[DONE]") && !text.contains("message_stop"));
    }
}

#[test]
fn silence_gives_the_head_or_not_even_that() {
    let sim = faulty(Fault::Silence { headers: true });
    let mut stream = begin(&sim, Dialect::Gemini);
    let head = hear_until(&mut stream, "\r\n\r\n");
    assert!(head.ends_with(b"\r\n\r\n"), "nothing follows the head");
    quiet(&mut stream);
    let sim = faulty(Fault::Silence { headers: false });
    quiet(&mut begin(&sim, Dialect::Gemini));
}

/// Nothing comes for a while, though the connection stands.
fn quiet(stream: &mut std::net::TcpStream) {
    let while_ms = Duration::from_millis(150);
    stream.set_read_timeout(Some(while_ms)).expect("set");
    let read = stream.read(&mut [0; 16]).expect_err("nothing comes");
    assert_eq!(read.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_stall_comes_after_its_tokens() {
    let sim = faulty(Fault::StallAfter(2));
    let mut stream = begin(&sim, Dialect::Anthropic);
    let bytes = hear_until(&mut stream, "two ");
    assert!(!String::from_utf8_lossy(&bytes).contains("three"));
    let rest = stream.set_read_timeout(Some(Duration::from_millis(150)));
    rest.expect("set");
    let mut more = [0; 512];
    while let Ok(got) = stream.read(&mut more) {
        assert!(!String::from_utf8_lossy(&more[..got]).contains("three"));
        assert!(got > 0, "the connection stands");
    }
}

#[test]
fn a_drip_takes_its_time() {
    let every = Duration::from_millis(60);
    let sim = Sim::start(move |_| Answer::words("a b c d").fault(Fault::Drip { every }));
    let begun = Instant::now();
    let heard = ask(&sim, Dialect::OpenaiChat, true);
    assert!(begun.elapsed() >= every * 3);
    assert!(told(Dialect::OpenaiChat, &events(&heard.body)).ended);
}

#[test]
fn wrong_ids_belong_to_nothing() {
    let sim = faulty(Fault::WrongIds);
    let data = |dialect| -> Vec<Value> {
        let events = events(&ask(&sim, dialect, true).body);
        let data = events
            .iter()
            .filter_map(|event| serde_json::from_str(&event.data).ok());
        data.collect()
    };
    let chat = data(Dialect::OpenaiChat);
    assert_ne!(chat[0]["id"], chat[1]["id"]);
    let indices = chat
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0]["index"].as_u64());
    assert!(indices.max() >= Some(40));
    let anthropic = data(Dialect::Anthropic);
    let of = |kind: &str| -> Vec<u64> {
        let found = anthropic.iter().filter(|event| event["type"] == kind);
        found.filter_map(|event| event["index"].as_u64()).collect()
    };
    let opened = of("content_block_start");
    assert!(
        of("content_block_delta")
            .iter()
            .all(|index| !opened.contains(index))
    );
    let responses = data(Dialect::OpenaiResponses);
    let item = &responses
        .iter()
        .find(|event| event["item"].is_object())
        .expect("one")["item"]["id"];
    let delta = responses
        .iter()
        .find(|event| event["delta"].is_string())
        .expect("one");
    assert_ne!(&delta["item_id"], item);
    let gemini = data(Dialect::Gemini);
    assert_ne!(gemini[0]["responseId"], gemini[1]["responseId"]);
}

#[test]
fn an_error_inside_the_stream_is_its_last_word() {
    for dialect in Dialect::ALL {
        let sim = faulty(Fault::ErrorAfter(2));
        let heard = ask(&sim, dialect, true);
        assert_eq!(heard.status, 200);
        let events = events(&heard.body);
        let text = heard.text();
        assert!(
            text.contains("two") && !text.contains("three"),
            "{dialect:?}"
        );
        let last: Value = serde_json::from_str(&events.last().expect("one").data).expect("JSON");
        let is_error = last["error"].is_object() || last["type"] == "error";
        assert!(is_error, "{dialect:?}");
    }
}

#[test]
fn no_end_ends_in_good_order_all_the_same() {
    for dialect in Dialect::ALL {
        let heard = ask(&faulty(Fault::NoEnd), dialect, true);
        assert!(heard.whole);
        let told = told(dialect, &events(&heard.body));
        assert!(!told.ended && told.stop.is_empty(), "{dialect:?}");
        assert_eq!(told.words, "one two three four");
    }
}

#[test]
fn arguments_need_not_be_json() {
    let sim = Sim::start(|_| Answer::default().call_raw(Some("my-id"), "t", "{\"a\": "));
    let heard = post(
        &sim,
        path(Dialect::Anthropic, true),
        &simple(Dialect::Anthropic, true),
    );
    let told = told(Dialect::Anthropic, &events(&heard.body));
    assert_eq!(
        told.calls[0],
        ("my-id".into(), "t".into(), "{\"a\": ".into())
    );
}
