//! Masking for a model, also when a stream cuts a secret at any byte.

use super::*;
use proptest::prelude::*;

const KEY: &str = "sk-live-0123456789abcdefXYZ";
const OWNER: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn mask() -> SecretMask {
    let mask = SecretMask::new();
    mask.add(KEY);
    mask.add(OWNER);
    mask
}

fn token() -> String {
    format!("hob_1a2b3c4d_{}", "0123456789abcdef".repeat(3))
}

fn streamed(mask: &SecretMask, text: &[u8], step: usize) -> Vec<u8> {
    let mut stream = mask.stream();
    let mut output = Vec::new();
    for chunk in text.chunks(step) {
        output.extend_from_slice(&stream.push(chunk));
        assert!(stream.held.len() < mask.exact_matcher().longest_bytes);
    }
    output.extend(stream.finish());
    output
}

#[test]
fn known_values_and_tokens_are_masked() {
    let mask = mask();
    let text = format!("key={KEY}; owner {OWNER}\n{}.", token());
    let expected = "key=[masked]; owner [masked]\nhob_1a2b3c4d_[masked].";
    assert_eq!(mask.apply_exact(&text), expected);
    assert_eq!(
        mask.apply_exact(&format!("x{KEY}{KEY}x")),
        "x[masked][masked]x"
    );
}

#[test]
fn what_only_looks_like_a_secret_stays_byte_for_byte() {
    let lock = include_str!("../../../Cargo.lock");
    assert!(lock.len() > 10_000 && lock.contains("checksum = \""));
    let mask = mask();
    assert!(matches!(mask.apply_exact(lock), Cow::Borrowed(_)));
    assert_eq!(streamed(&mask, lock.as_bytes(), 4_093), lock.as_bytes());
    let other = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    for text in [
        other,
        "Bearer abcdefghijklmnopqrstuvwxyz",
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        "hob_1a2b3c4d_0123",
        "hob_e2e_tests_of_the_gateway",
        "hob_ hob_hob_",
        "päckchen ünïcode 日本語",
        "",
    ] {
        assert_eq!(mask.apply_exact(text), text);
        assert_eq!(streamed(&mask, text.as_bytes(), 3), text.as_bytes());
    }
}

#[test]
fn short_and_common_values_blot_out_nothing() {
    let mask = SecretMask::new();
    for common in [
        "key",
        "secret",
        "password",
        "not-needed",
        "sk-no-key-required",
        "1234567",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "00000000",
    ] {
        mask.add(common);
        let text = format!("the word {common} stays");
        assert_eq!(mask.apply_exact(&text), text);
    }
    mask.add("pass-word-1");
    mask.add("correct-horse-battery-staple");
    let text = "pass-word-1 correct-horse-battery-staple";
    assert_eq!(mask.apply_exact(text), "[masked] [masked]");
}

#[test]
fn a_secret_within_a_longer_one_is_masked_whole_in_a_stream_too() {
    let mask = SecretMask::new();
    mask.add("secret-1234");
    mask.add("secret-1234-and-more");
    for (text, expected) in [
        ("a secret-1234-and-more b", "a [masked] b"),
        ("a secret-1234-and-mo", "a [masked]-and-mo"),
        ("a secret-1234", "a [masked]"),
    ] {
        for step in 1..=text.len() {
            let output = streamed(&mask, text.as_bytes(), step);
            assert_eq!(
                String::from_utf8_lossy(&output),
                expected,
                "in steps of {step}"
            );
        }
    }
}

#[test]
fn only_what_may_become_a_secret_is_held_back() {
    let mut stream = mask().stream();
    assert_eq!(&*stream.push(b"Password: "), b"Password: ");
    assert_eq!(&*stream.push(b"key=sk-li"), b"key=");
    assert_eq!(&*stream.push(b"ne!"), b"sk-line!".as_slice());
    assert_eq!(&*stream.push(b"hob_1a2b"), b"");
    assert_eq!(&*stream.push(b"-"), b"hob_1a2b-".as_slice());
    assert_eq!(&*stream.push(&KEY.as_bytes()[..20]), b"");
    assert_eq!(stream.finish(), &KEY.as_bytes()[..20]);
}

#[test]
fn a_secret_learnt_in_the_middle_of_a_stream_is_masked_from_then_on() {
    let mask = SecretMask::new();
    let mut stream = mask.stream();
    assert_eq!(&*stream.push(KEY.as_bytes()), KEY.as_bytes());
    mask.add(KEY);
    assert_eq!(&*stream.push(KEY.as_bytes()), MASKED.as_bytes());
}

#[test]
fn a_secret_wrapped_by_a_terminal_is_masked() {
    let mask = mask();
    let screen = format!(
        "$ cat owner.token\n{}\n{}\n$ é\n",
        &OWNER[..40],
        &OWNER[40..]
    );
    assert_eq!(
        mask.apply_to_screen(&screen),
        "$ cat owner.token\n[masked]\n$ é\n"
    );
    let plain = "$ ls\none two\n";
    assert!(matches!(mask.apply_to_screen(plain), Cow::Borrowed(_)));
}

#[test]
fn a_reader_gives_the_same_bytes_whatever_is_asked_for() {
    let text = format!("{}{KEY}\n{}end", "line\n".repeat(5_000), "x".repeat(20_000));
    let expected = text.replace(KEY, MASKED);
    for step in [1, 7, 8_192, 100_000] {
        let mut reader = MaskedRead::new(text.as_bytes(), &mask());
        let mut output = Vec::new();
        let mut buffer = vec![0; step];
        loop {
            match reader.read(&mut buffer).expect("reads") {
                0 => break,
                count => output.extend_from_slice(&buffer[..count]),
            }
        }
        assert!(output == expected.as_bytes(), "in steps of {step}");
    }
}

#[test]
fn without_an_automaton_the_same_is_found() {
    let mut matcher = SecretMatcher::new([KEY, "secret-1234", "secret-1234-more"].into_iter());
    let text = format!("{KEY} secret-1234-more secret-1234 hob_ {}", token());
    let fast: Vec<_> = Arc::new(SecretMatcher::new(
        [KEY, "secret-1234", "secret-1234-more"].into_iter(),
    ))
    .ranges(text.as_bytes())
    .collect();
    matcher.automaton = None;
    let slow: Vec<_> = Arc::new(matcher).ranges(text.as_bytes()).collect();
    assert_eq!(fast.len(), 4);
    assert_eq!(fast, slow);
}

proptest! {
    #[test]
    fn no_way_of_cutting_lets_a_secret_pass(
        before in "[a-z0-9é_ \n]{0,40}",
        between in "[sk0h_]{0,6}",
        which in 0_usize..3,
        step in 1_usize..90,
    ) {
        let secrets = [KEY.to_owned(), OWNER.to_owned(), token()];
        let secret = &secrets[which];
        let text = format!("{before}{secret}{between}{secret}\n");
        let output = String::from_utf8(streamed(&mask(), text.as_bytes(), step)).expect("text");
        let hidden = &secret[secret.len() - 20..];
        prop_assert!(!output.contains(hidden), "{}", output);
        prop_assert_eq!(output, mask().apply_exact(&text));
    }

    #[test]
    fn any_bytes_pass_unchanged_without_a_secret(bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1_usize..50) {
        prop_assert_eq!(streamed(&mask(), &bytes, step), bytes);
    }
}
