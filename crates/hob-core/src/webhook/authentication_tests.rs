//! Authentication of webhook calls, by each of the three proofs.

use super::{
    REPLAY_MS, ReplayKey, WebhookAuthError, job_secret, mac, sign_body, uses_bearer, verify,
    verify_bearer,
};
use data_encoding::HEXLOWER;
use std::collections::BTreeMap;

const NOW: u64 = 1_800_000_000_000;
const BODY: &[u8] = br#"{"action":"opened"}"#;

fn headers(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn made() -> String {
    job_secret(b"the key of the house", "job-1", "n1")
}

#[test]
fn a_secret_is_of_its_house_job_and_nonce() {
    let all = [
        made(),
        job_secret(b"another key", "job-1", "n1"),
        job_secret(b"the key of the house", "job-2", "n1"),
        job_secret(b"the key of the house", "job-1", "n2"),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(one.starts_with("hobhook_") && one.len() > 40);
        assert!(all[index + 1..].iter().all(|other| other != one));
    }
    assert_eq!(made(), made());
}

#[test]
fn a_bearer_token_opens() {
    let good = headers(&[("authorization", &format!("Bearer {}", made()))]);
    assert_eq!(verify(&made(), &good, BODY, NOW), Ok(ReplayKey::Absent));
    let named = headers(&[
        ("authorization", &format!("bearer {}", made())),
        ("idempotency-key", "a b/1"),
    ]);
    assert_eq!(
        verify(&made(), &named, BODY, NOW),
        Ok(ReplayKey::Delivery("id-ab1".to_owned()))
    );
    for wrong in [
        "Bearer ",
        "Bearer nonsense",
        "Basic abc",
        "nonsense",
        &made(),
    ] {
        let wrong = headers(&[("authorization", wrong)]);
        assert_eq!(
            verify(&made(), &wrong, BODY, NOW),
            Err(WebhookAuthError::Invalid),
            "{wrong:?}"
        );
    }
    assert_eq!(
        verify(&made(), &headers(&[]), BODY, NOW),
        Err(WebhookAuthError::Missing)
    );
}

#[test]
fn a_signature_with_a_time_opens_for_a_while() {
    let at_s = NOW / 1_000;
    let signed =
        |at_s, body: &[u8]| headers(&[("x-hob-signature", &sign_body(&made(), at_s, body))]);
    let mark = verify(&made(), &signed(at_s, BODY), BODY, NOW).unwrap();
    assert_eq!(
        verify(&made(), &signed(at_s, BODY), BODY, NOW + 5_000),
        Ok(mark.clone())
    );
    assert_ne!(
        verify(&made(), &signed(at_s + 1, BODY), BODY, NOW),
        Ok(mark)
    );
    assert_eq!(
        verify(&made(), &signed(at_s, b"else"), BODY, NOW),
        Err(WebhookAuthError::Invalid)
    );
    let later = NOW + REPLAY_MS + 1_000;
    assert_eq!(
        verify(&made(), &signed(at_s, BODY), BODY, later),
        Err(WebhookAuthError::Stale)
    );
    let future = NOW - REPLAY_MS - 1_000;
    assert_eq!(
        verify(&made(), &signed(at_s, BODY), BODY, future),
        Err(WebhookAuthError::Stale)
    );
    for wrong in ["", "t=1", "v1=00", "t=x,v1=00", "t=1,v1=zz", "t=1,v1="] {
        let wrong = headers(&[("x-hob-signature", wrong)]);
        assert_eq!(
            verify(&made(), &wrong, BODY, NOW),
            Err(WebhookAuthError::Invalid),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_signature_of_the_body_is_known_by_the_body_alone() {
    // A signature made by another program: printf %s BODY | openssl dgst -sha256 -hmac It's...
    let given = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let secret = "It's a Secret to Everybody";
    let known = headers(&[("x-hub-signature-256", given)]);
    let opened = verify(secret, &known, b"Hello, World!", NOW).unwrap();
    assert!(
        matches!(&opened, ReplayKey::Signed(mark) if mark.starts_with("body-")),
        "{opened:?}"
    );
    // Headers that nobody signed do not make another call of it.
    let upper = given["sha256=".len()..].to_uppercase();
    for more in [
        ("x-github-delivery", "72d3162e-cc78"),
        ("x-github-delivery", "fresh"),
        ("x-gitea-delivery", "fresh"),
        ("x-request-id", "fresh"),
        ("idempotency-key", "fresh"),
        ("authorization", "Bearer nonsense"),
    ] {
        for given in [given, upper.as_str(), &given["sha256=".len()..]] {
            let again = headers(&[("x-hub-signature-256", given), more]);
            let again = verify(secret, &again, b"Hello, World!", NOW + 86_400_000);
            assert_eq!(again.as_ref(), Ok(&opened), "{more:?}");
        }
    }
    // Another body is another call, and what is kept lasts for weeks.
    let other = HEXLOWER.encode(&mac(secret.as_bytes(), &[b"Hello, World?"]));
    let other = headers(&[("x-hub-signature-256", &other)]);
    let other = verify(secret, &other, b"Hello, World?", NOW).unwrap();
    assert_ne!(other, opened);
    assert!(opened.remembered_ms() >= 7 * 86_400_000);
    let wrong = verify("another", &known, b"Hello, World!", NOW);
    assert_eq!(wrong, Err(WebhookAuthError::Invalid));
    // A wrong signature is not saved by a good token beside it.
    let both = headers(&[
        ("x-hub-signature-256", "sha256=00"),
        ("authorization", &format!("Bearer {}", made())),
    ]);
    assert_eq!(
        verify(&made(), &both, BODY, NOW),
        Err(WebhookAuthError::Invalid)
    );
}

#[test]
fn a_signature_with_a_time_is_no_second_call_as_one_without() {
    let at_s = NOW / 1_000;
    let timed = headers(&[("x-hob-signature", &sign_body(&made(), at_s, BODY))]);
    let first = verify(&made(), &timed, BODY, NOW).unwrap();
    // The same signed bytes, shown as a body of their own when the time has passed.
    let body = [format!("{at_s}.").as_bytes(), BODY].concat();
    let (_, signature) = timed["x-hob-signature"].split_once("v1=").unwrap();
    let stolen = headers(&[("x-hub-signature-256", signature)]);
    let again = verify(&made(), &stolen, &body, NOW + 2 * REPLAY_MS);
    assert_eq!(again, Ok(first));
}

#[test]
fn only_the_secret_itself_can_be_judged_before_the_body() {
    let bearer = format!("Bearer {}", made());
    let right = headers(&[("authorization", &bearer)]);
    assert!(uses_bearer(&right));
    assert_eq!(verify_bearer(&made(), &right), Ok(()));
    let wrong = headers(&[("authorization", "Bearer nonsense")]);
    assert_eq!(
        verify_bearer(&made(), &wrong),
        Err(WebhookAuthError::Invalid)
    );
    for name in ["x-hob-signature", "x-hub-signature-256"] {
        let both = headers(&[("authorization", &bearer), (name, "")]);
        assert!(!uses_bearer(&both), "{name}");
    }
}
