//! What a command line orders.

use super::*;
use crate::commands::ask;

fn matches(line: &[&str]) -> ArgMatches {
    let command = ask::command().no_binary_name(true);
    command
        .try_get_matches_from(line)
        .expect("it is understood")
}

#[test]
fn a_picture_is_known_by_its_bytes() {
    let home = tempfile::tempdir().expect("a directory");
    let file = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        std::fs::write(&path, bytes).expect("writable");
        path.display().to_string()
    };
    let png = file("cat.jpg", b"\x89PNG\r\n\x1a\nrest");
    let read = images(&matches(&["--image", &png, "what?"])).expect("a picture");
    assert_eq!(read[0].mime_type, "image/png");
    assert_eq!(read[0].data, "iVBORw0KGgpyZXN0");
    let text = file("notes.png", b"just words");
    let refused = images(&matches(&["--image", &text, "what?"])).expect_err("not an image");
    assert!(
        refused.sentence.contains("not an image"),
        "{}",
        refused.sentence
    );
    let huge = file(
        "huge.png",
        &[b"\x89PNG".as_slice(), &vec![0; IMAGE_BYTES_MAX]].concat(),
    );
    let refused = images(&matches(&["--image", &huge, "what?"])).expect_err("too large");
    assert!(refused.sentence.contains("2.0 MiB"), "{}", refused.sentence);
    let missing = images(&matches(&["--image", "/nowhere.png", "what?"]));
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
        schema(&matches(&["--schema", &file, "what?"]))
    };
    let object = read(r#"{"type": "object"}"#).expect("a schema");
    assert_eq!(object, Some(serde_json::json!({ "type": "object" })));
    assert!(read("[1]").is_err() && read("{").is_err());
    assert_eq!(schema(&matches(&["what?"])).expect("none"), None);
}

#[test]
fn tools_are_all_some_or_none() {
    let line = matches(&["--tools", "read,time", "--tools", "write", "what?"]);
    let names: Vec<&String> = line.get_many("tools").expect("names").collect();
    assert_eq!(names, ["read", "time", "write"]);
    let command = ask::command().no_binary_name(true);
    let both = command.try_get_matches_from(["--tools", "read", "--no-tools", "what?"]);
    assert!(both.is_err());
}
