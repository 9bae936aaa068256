//! Texts, pages, pictures and what is neither.

use super::*;
use hob_wire::work::ToolContext;
use serde_json::Value;
use std::path::Path;

fn in_folder(folder: &Path, args: Value) -> ToolExecuteResult {
    let work = PreparedCall {
        tool: "read".to_owned(),
        fingerprint: String::new(),
        args,
        context: ToolContext {
            workspace: folder.to_str().map(str::to_owned),
            ..ToolContext::default()
        },
        state: None,
    };
    let env = ToolEnv::new(hob_kit::clock::Clock::manual(0), []);
    read(&work, &env)
}

fn words(answer: &ToolExecuteResult) -> &str {
    match &answer.content[..] {
        [ContentPart::Text { text }] => text,
        other => panic!("one text: {other:?}"),
    }
}

fn of_text(text: &[u8], args: Value) -> ToolExecuteResult {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), text).expect("writes");
    let mut args = args;
    args["path"] = json!("a.txt");
    in_folder(folder.path(), args)
}

#[test]
fn a_text_is_read_as_it_is() {
    let answer = of_text("one\ntwo\nthrée".as_bytes(), json!({}));
    assert_eq!(words(&answer), "one\ntwo\nthrée");
    assert!(!answer.is_error);
    assert_eq!(answer.metadata.expect("has some")["lastLine"], 3);
}

#[test]
fn a_page_says_where_it_goes_on() {
    let lines: Vec<String> = (1..=10).map(|number| format!("line {number}")).collect();
    let text = lines.join("\n") + "\n";
    let answer = of_text(text.as_bytes(), json!({ "offset": 4, "limit": 2 }));
    assert_eq!(
        words(&answer),
        "line 4\nline 5\n(lines 4 to 5; more follow: go on with offset 6)"
    );
    let last = of_text(text.as_bytes(), json!({ "offset": 9, "limit": 2 }));
    assert_eq!(words(&last), "line 9\nline 10\n");
    let beyond = of_text(text.as_bytes(), json!({ "offset": 11 }));
    assert!(beyond.is_error && words(&beyond).contains("has 10 lines"));
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    let answer = of_text(b"", json!({}));
    assert_eq!(
        (words(&answer), answer.is_error),
        ("'a.txt' is empty.", false)
    );
}

#[test]
fn a_long_line_is_cut_and_says_so() {
    let text = format!("{}\nshort\n", "x".repeat(10_000));
    let answer = of_text(text.as_bytes(), json!({}));
    let (long, short) = words(&answer).split_once('\n').expect("two lines");
    assert!(
        long.ends_with("x… (8001 more bytes in this line)"),
        "{long}"
    );
    assert_eq!(short, "short\n");
}

#[test]
fn a_large_file_gives_a_page_at_a_time() {
    let text = "0123456789".repeat(50) + "\n";
    let answer = of_text(text.repeat(2_000).as_bytes(), json!({ "limit": 2_000 }));
    assert!(words(&answer).len() < 130 * 1_024);
    assert!(words(&answer).contains("more follow"));
}

#[test]
fn what_is_neither_text_nor_picture_is_described() {
    let answer = of_text(b"\x7fELF\0\0\0\0", json!({}));
    assert!(answer.is_error);
    assert!(words(&answer).contains("(8 bytes)"), "{}", words(&answer));
    let latin = of_text(b"gr\xfc\xdfe", json!({}));
    assert_eq!(words(&latin), "gr\u{fffd}\u{fffd}e");
}

#[test]
fn a_picture_becomes_a_part_the_model_sees() {
    let answer = of_text(b"\x89PNG\r\n\x1a\n\0\0\0", json!({}));
    let expected = ContentPart::Image {
        mime_type: "image/png".to_owned(),
        data: "iVBORw0KGgoAAAA=".to_owned(),
    };
    assert_eq!(answer.content, [expected]);
    for (head, mime_type) in [
        (&b"\xff\xd8\xff\xe0"[..], "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        let answer = of_text(head, json!({}));
        assert_eq!(answer.metadata.expect("has some")["mimeType"], mime_type);
    }
}

#[test]
fn a_picture_too_large_is_refused() {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.resize(3_000_000, 0);
    let answer = of_text(&bytes, json!({}));
    assert!(answer.is_error && words(&answer).contains("Make it smaller"));
}

#[test]
fn what_lies_outside_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in ["../x", "/etc/passwd", "/proc/self/fd/0"] {
        let answer = in_folder(folder.path(), json!({ "path": path }));
        assert!(answer.is_error);
        assert!(
            words(&answer).contains("leads out of the workspace"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_secret_is_masked_before_its_line_is_cut() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let trial = crate::trial::TestWorkspace::with_secret(KEY);
    // A line is cut after 2,000 bytes, wherever the secret stands.
    for before in 1_970..2_010 {
        trial.put(
            "a.txt",
            format!("{}{KEY}{}\n", "x".repeat(before), "y".repeat(99)),
        );
        let (text, is_error) = trial.say("read", json!({ "path": "a.txt" })).await;
        assert!(!is_error && !text.contains("sk-"), "after {before}: {text}");
    }
    let lock = include_str!("../../../../Cargo.lock");
    trial.put("Cargo.lock", lock);
    let mut read = String::new();
    for offset in (1..=lock.lines().count()).step_by(1_000) {
        let args = json!({ "path": "Cargo.lock", "offset": offset });
        let (text, _) = trial.say("read", args).await;
        let (page, _) = text
            .split_once("\n(lines ")
            .unwrap_or((text.trim_end(), ""));
        read.push_str(page);
        read.push('\n');
    }
    assert!(read == lock, "checksums are not secrets");
}
