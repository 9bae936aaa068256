//! Texts that are masked, and texts that are not.

use super::*;

fn masked(text: &str) -> String {
    SecretMask::new().apply(text).into_owned()
}

#[test]
fn tokens_are_masked_by_their_form() {
    let hex = "0123456789abcdef".repeat(4);
    for (text, expected) in [
        (format!("token {hex}."), "token [masked].".to_owned()),
        (format!("hob.token.{hex}"), "hob.token.[masked]".to_owned()),
        (
            format!("name=hob_1a2b3c4d_{} end", &hex[..48]),
            "name=hob_1a2b3c4d_[masked] end".to_owned(),
        ),
        (
            "Authorization: Bearer abc.def-ghi_jkl0123456789".to_owned(),
            "Authorization: Bearer [masked]".to_owned(),
        ),
        (
            "\"bearer abcdefghijklmnopq\"".to_owned(),
            "\"bearer [masked]\"".to_owned(),
        ),
        (
            "key=sk-ant-api03-abcdefghijklmnop!".to_owned(),
            "key=[masked]!".to_owned(),
        ),
    ] {
        assert_eq!(masked(&text), expected);
    }
}

#[test]
fn ordinary_words_stay() {
    let hex = "0123456789abcdef".repeat(4);
    for text in [
        "a bearer token is missing",
        "task-force-of-many-people-here",
        "sk-short",
        "hob_ is a prefix",
        "trace 0123456789abcdef",
        &format!("{}x", &hex),
        &hex[..63],
        "päckchen ünïcode 日本語",
        "",
    ] {
        assert_eq!(masked(text), *text);
    }
}

#[test]
fn known_secrets_are_masked_wherever_they_stand() {
    let mask = SecretMask::new();
    mask.add("hunter2hunter2");
    mask.add("with \"quotes\"\nand lines");
    mask.add("tiny");
    assert_eq!(mask.apply("xhunter2hunter2x"), "x[masked]x");
    assert_eq!(mask.apply("a with \"quotes\"\nand lines b"), "a [masked] b");
    let debug = format!("{:?}", "a with \"quotes\"\nand lines b");
    assert_eq!(mask.apply(&debug), "\"a [masked] b\"");
    assert_eq!(mask.apply("tiny words stay"), "tiny words stay");
    assert_eq!(mask.clone().apply("hunter2hunter2"), "[masked]");
}

#[test]
fn a_secret_within_a_secret_is_masked_whole() {
    let mask = SecretMask::new();
    mask.add("secret");
    mask.add("secret-and-more");
    assert_eq!(mask.apply("secret-and-more"), "[masked]");
}

#[test]
fn what_it_knows_is_bounded() {
    let mask = SecretMask::new();
    for number in 0..SECRETS_MAX + 10 {
        mask.add(&format!("secret-{number:08}"));
    }
    assert_eq!(
        mask.secrets.read().expect("is sound").known.len(),
        SECRETS_MAX
    );
    let last = format!("secret-{:08}", SECRETS_MAX + 9);
    assert_eq!(mask.apply(&last), MASKED);
    assert_eq!(
        mask.apply("secret-00000000"),
        "secret-00000000",
        "the oldest is forgotten"
    );
}

proptest::proptest! {
    #[test]
    fn any_text_passes_and_masking_again_changes_nothing(text in "\\PC{0,80}") {
        let once = masked(&text);
        proptest::prop_assert_eq!(masked(&once), once);
    }

    #[test]
    fn an_owner_token_never_passes(before in "[^0-9a-zA-Z_]{0,10}", token in "[0-9a-f]{64}", after in "[^0-9a-zA-Z_]{0,10}") {
        let output = masked(&format!("{before}{token}{after}"));
        proptest::prop_assert!(!output.contains(&token));
    }
}
