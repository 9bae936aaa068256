//! What goes wrong at providers becomes an error of the right class, in bounded time and memory.

use crate::house::{ask, calls, candidate, named, shown, user, words};
use hob_core::failover::ErrorClass;
use hob_models::ReplyDelta;
use hob_sim::{Answer, Dialect, Fault, GarbageKind, RetryAfter, Sim, UsageLie};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn statuses_have_their_class_and_hint() {
    let cases = [
        (400, ErrorClass::Request),
        (401, ErrorClass::Auth),
        (403, ErrorClass::Auth),
        (404, ErrorClass::Request),
        (429, ErrorClass::Rate),
        (500, ErrorClass::Overload),
        (503, ErrorClass::Overload),
        (529, ErrorClass::Overload),
    ];
    for dialect in Dialect::ALL {
        for (code, class) in cases {
            let sim = Sim::start(move |_| Answer::status(code));
            let (pieces, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let error = reply.expect_err("fails");
            assert_eq!(error.class, class, "{dialect:?} {code}: {error}");
            assert!(pieces.is_empty());
        }
        let hints = [
            (RetryAfter::Seconds(7), 7_000..=7_000),
            (RetryAfter::Millis(250), 250..=250),
            (RetryAfter::DateIn(Duration::from_secs(90)), 80_000..=91_000),
        ];
        for (hint, range) in hints {
            let sim = Sim::start(move |_| Answer::status_retry(429, hint));
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let wait = reply
                .expect_err("fails")
                .retry_after_ms
                .expect("has a hint");
            assert!(range.contains(&wait), "{dialect:?} {hint:?}: {wait}");
        }
    }
}

#[tokio::test]
async fn a_cut_is_never_an_answer_and_no_half_call_appears() {
    for dialect in Dialect::ALL {
        let answer = || Answer::words("Let me see.").call("read", json!({ "path": "a.txt" }));
        let sim = Sim::start(move |_| answer());
        let (all, whole) = ask(&candidate(&sim, dialect), &user("hi")).await;
        let whole = whole.expect("answers");
        let expected = calls(&whole)[0].args.clone();
        // The server counts bytes; a step that shares no factor with event sizes meets them all.
        let mut whole_answers = 0;
        for cut in (0..2_600).step_by(37) {
            let sim = Sim::start(move |_| answer().fault(Fault::CutAt(cut)));
            let (pieces, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            assert!(
                shown(&all).starts_with(&shown(&pieces)),
                "{dialect:?} {cut}"
            );
            match reply {
                Ok(reply) => {
                    whole_answers += 1;
                    assert_eq!(calls(&reply)[0].args, expected, "{dialect:?} {cut}");
                }
                Err(error) => assert_eq!(error.class, ErrorClass::Network, "{error}"),
            }
        }
        assert!(
            whole_answers < 70,
            "{dialect:?}: most cuts are within the answer"
        );
    }
}

#[tokio::test]
async fn an_end_left_out_is_a_cut() {
    for dialect in Dialect::ALL {
        for fault in [Fault::NoEnd, Fault::HangUp] {
            let said = fault.clone();
            let sim = Sim::start(move |_| Answer::words("so far").fault(said.clone()));
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let error = reply.expect_err("fails");
            assert_eq!(
                error.class,
                ErrorClass::Network,
                "{dialect:?} {fault:?}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn garbage_is_a_typed_error_or_harmless() {
    for dialect in Dialect::ALL {
        let cases = [
            (GarbageKind::Binary, ErrorClass::Protocol),
            (
                GarbageKind::EndlessLine { bytes: 20 << 20 },
                ErrorClass::Protocol,
            ),
            (GarbageKind::BadJson, ErrorClass::Protocol),
            (GarbageKind::Html, ErrorClass::Protocol),
        ];
        for (garbage, class) in cases {
            let sim = Sim::start(move |_| Answer::words("a b c d").fault(Fault::Garbage(garbage)));
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let Err(error) = reply else {
                panic!("{dialect:?} {garbage:?}: is no answer")
            };
            assert_eq!(error.class, class, "{dialect:?} {garbage:?}: {error}");
        }
        let sim = Sim::start(|_| {
            Answer::words("a b c")
                .call("read", json!({ "path": "x" }))
                .fault(Fault::Garbage(GarbageKind::CrlfMix))
        });
        let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
        let reply = reply.expect("is understood");
        assert_eq!(words(&reply), "a b c", "{dialect:?}");
        assert_eq!(calls(&reply)[0].args, json!({ "path": "x" }));
    }
}

/// Whatever order and ids a server makes up: no call appears that it never made, and ids never
/// meet.
#[tokio::test]
async fn wrong_order_and_ids_make_no_false_call() {
    let faults = [
        Fault::WrongIds,
        Fault::Garbage(GarbageKind::WrongOrder),
        Fault::Garbage(GarbageKind::DuplicateIds),
    ];
    for dialect in Dialect::ALL {
        for fault in &faults {
            let said = fault.clone();
            let sim = Sim::start(move |_| {
                let calls = [("read", json!({ "path": "a" })), ("time", json!({}))];
                Answer::words("hm").calls(calls).fault(said.clone())
            });
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let Ok(reply) = reply else { continue };
            let mut ids: Vec<_> = calls(&reply).iter().map(|call| call.id.clone()).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), calls(&reply).len(), "{dialect:?} {fault:?}");
            for call in calls(&reply) {
                let sound = match call.name.as_str() {
                    "read" => call.args == json!({ "path": "a" }),
                    "time" => call.args == json!({}),
                    _ => false,
                };
                assert!(
                    sound || call.args.is_string(),
                    "{dialect:?} {fault:?}: {call:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn silence_ends_after_its_bound() {
    for dialect in Dialect::ALL {
        for fault in [
            Fault::Silence { headers: false },
            Fault::Silence { headers: true },
            Fault::StallAfter(1),
        ] {
            let said = fault.clone();
            let sim = Sim::start(move |_| Answer::words("one two three").fault(said.clone()));
            let more = "[model]\nsilence_timeout = \"300ms\"\n";
            let (_, reply) = ask(&named(&sim, dialect, "m", more), &user("hi")).await;
            let error = reply.expect_err("fails");
            assert_eq!(
                error.class,
                ErrorClass::Timeout,
                "{dialect:?} {fault:?}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn a_drip_and_an_endless_answer_meet_the_bound_of_the_call() {
    for fault in [
        Fault::Drip {
            every: Duration::from_millis(100),
        },
        Fault::Endless,
    ] {
        let sim = Sim::start(move |_| Answer::tokens(10_000).fault(fault.clone()));
        let more = "[model]\ncall_timeout = \"1s\"\n";
        let candidate = named(&sim, Dialect::OpenaiChat, "m", more);
        let (pieces, reply) = ask(&candidate, &user("hi")).await;
        let class = reply.expect_err("fails").class;
        assert!(
            matches!(class, ErrorClass::Timeout | ErrorClass::Protocol),
            "{class:?}"
        );
        assert!(!pieces.is_empty());
    }
}

#[tokio::test]
async fn an_error_within_the_stream_has_its_class() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| Answer::words("one two three").fault(Fault::ErrorAfter(2)));
        let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
        let error = reply.expect_err("fails");
        assert_eq!(error.class, ErrorClass::Overload, "{dialect:?}: {error}");
    }
}

#[tokio::test]
async fn lies_about_usage_are_not_believed() {
    for dialect in Dialect::ALL {
        for lie in [
            UsageLie::Negative,
            UsageLie::NanString,
            UsageLie::Huge,
            UsageLie::Zero,
            UsageLie::Missing,
        ] {
            let sim = Sim::start(move |_| Answer::tokens(60).lying_usage(lie));
            let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
            let reply = reply.unwrap_or_else(|error| panic!("{dialect:?} {lie:?}: {error}"));
            assert!(
                reply.usage_estimated,
                "{dialect:?} {lie:?}: {:?}",
                reply.usage
            );
            let usage = reply.usage.expect("is counted");
            assert!((10..2_000).contains(&usage.input_tokens));
            assert!((10..2_000).contains(&usage.output_tokens));
        }
    }
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    for dialect in Dialect::ALL {
        let sim = Sim::start(|_| Answer::words("one two three").fault(Fault::StallAfter(1)));
        let candidate = candidate(&sim, dialect);
        let prompt = user("hi");
        let (sender, mut heard) = tokio::sync::mpsc::channel(64);
        let mut on = move |piece: ReplyDelta| drop(sender.try_send(piece));
        {
            let asked = candidate.ask(&prompt, &mut on);
            tokio::pin!(asked);
            tokio::select! {
                reply = &mut asked => panic!("{reply:?}"),
                piece = heard.recv() => assert!(piece.is_some()),
            }
            assert_eq!(sim.open_streams(), 1);
        }
        let closed = async {
            while sim.cut_streams() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let closed = tokio::time::timeout(crate::house::LONG, closed).await;
        closed.unwrap_or_else(|_| panic!("{dialect:?}: the server noticed nothing"));
    }
}
