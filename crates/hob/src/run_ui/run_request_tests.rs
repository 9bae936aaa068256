//! What a command line orders.

use super::*;
use clap::{Args, FromArgMatches};

#[test]
fn a_picture_is_known_by_its_bytes() {
    let home = tempfile::tempdir().expect("a directory");
    let file = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        std::fs::write(&path, bytes).expect("writable");
        path.display().to_string()
    };
    let png = file("cat.jpg", b"\x89PNG\r\n\x1a\nrest");
    let read = images(&[png]).expect("a picture");
    assert_eq!(read[0].mime_type, "image/png");
    assert_eq!(read[0].data, "iVBORw0KGgpyZXN0");
    let text = file("notes.png", b"just words");
    let refused = images(&[text]).expect_err("not an image");
    assert!(
        refused.sentence.contains("not an image"),
        "{}",
        refused.sentence
    );
    let huge = file(
        "huge.png",
        &[b"\x89PNG".as_slice(), &vec![0; IMAGE_BYTES_MAX]].concat(),
    );
    let refused = images(&[huge]).expect_err("too large");
    assert!(refused.sentence.contains("2.0 MiB"), "{}", refused.sentence);
    let missing = images(&["/nowhere.png".to_owned()]);
    assert!(
        missing
            .expect_err("missing")
            .sentence
            .contains("/nowhere.png")
    );
}

#[test]
fn a_schema_is_a_json_object() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("schema.json");
    let file = path.display().to_string();
    let read = |text: &str| {
        std::fs::write(&path, text).expect("writable");
        schema(Some(&file))
    };
    let object = read(r#"{"type": "object"}"#).expect("a schema");
    assert_eq!(object, Some(serde_json::json!({ "type": "object" })));
    assert!(read("[1]").is_err() && read("{").is_err());
    assert_eq!(schema(None).expect("none"), None);
}

#[test]
fn tools_are_all_some_or_none() {
    let tools = |line: &[&str]| {
        let command = TaskArgs::augment_args(clap::Command::new("task")).no_binary_name(true);
        let matches = command.try_get_matches_from(line)?;
        TaskArgs::from_arg_matches(&matches).map(|args| args.tools())
    };
    let named = tools(&["--tools", "read,time", "--tools", "write"]);
    let expected = ["read", "time", "write"].map(str::to_owned).to_vec();
    assert_eq!(named.expect("names"), Some(expected));
    assert_eq!(tools(&["--no-tools"]).expect("none"), Some(Vec::new()));
    assert_eq!(tools(&[]).expect("all"), None);
    assert!(tools(&["--tools", "read", "--no-tools"]).is_err());
}
