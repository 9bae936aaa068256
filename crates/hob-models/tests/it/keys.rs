//! Keys go where they belong, and show nowhere.

use crate::house::{CANARY, ask, book, candidate, sim_book, user};
use hob_core::failover::ErrorClass;
use hob_sim::{Answer, Dialect, Sim, SimParts};

#[tokio::test]
async fn the_key_goes_into_its_header_and_nowhere_else() {
    for dialect in Dialect::ALL {
        let parts = SimParts {
            key: Some(CANARY.to_owned()),
            ..SimParts::default()
        };
        let sim = Sim::with(parts, |_| Answer::words("hi")).expect("starts");
        let (_, reply) = ask(&candidate(&sim, dialect), &user("hi")).await;
        reply.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert!(!sim.asked()[0].body.to_string().contains(CANARY));
        assert!(
            sim_book(&sim, dialect, "")
                .models(None)
                .await
                .problems
                .is_empty()
        );
    }
}

#[tokio::test]
async fn no_error_and_no_debug_shows_the_key() {
    for dialect in Dialect::ALL {
        let parts = SimParts {
            key: Some("another-key".to_owned()),
            ..SimParts::default()
        };
        let sim = Sim::with(parts, |_| Answer::words("hi")).expect("starts");
        let candidate = candidate(&sim, dialect);
        let (_, reply) = ask(&candidate, &user("hi")).await;
        let error = reply.expect_err("is refused");
        assert_eq!(error.class, ErrorClass::Auth, "{dialect:?}");
        let book = sim_book(&sim, dialect, "");
        let listing = book.models(None).await;
        let all = format!(
            "{error} {error:?} {candidate:?} {book:?} {listing:?} {:?} {:?}",
            book.providers(),
            book.aliases()
        );
        assert!(!all.contains(CANARY), "{dialect:?}: {all}");
        assert_eq!(listing.problems[0].1.class, ErrorClass::Auth);
    }
}

#[tokio::test]
async fn a_missing_key_is_said_before_anything_is_sent() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!("[models.x]\nkind = \"openai\"\nurl = \"{url}\"\nkey_env = \"NO_KEY\"\n");
    let book = book(&config, &[]);
    let candidate = book.resolve(Some("x/m")).expect("resolves").remove(0);
    let (_, reply) = ask(&candidate, &user("hi")).await;
    let error = reply.expect_err("fails");
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(error.message.contains("NO_KEY"), "{error}");
    assert_eq!(sim.asked_count(), 0);
    assert!(!book.providers()[0].ready);
}
