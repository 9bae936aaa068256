//! Every name, once, and nothing else.

use super::*;

fn filled(text: &str, port: Option<u16>) -> String {
    let filling = StartValues {
        port,
        home: Path::new("/home/{port}"),
        dir: Path::new("/d"),
        password: Some("pw"),
    };
    filling.fill(OsStr::new(text)).into_string().unwrap()
}

#[test]
fn known_names_are_filled_in_and_others_stay() {
    let cases = [
        ("--port={port}", "--port=81"),
        ("{dir}/x:{password}", "/d/x:pw"),
        // What was filled in is not read again.
        ("{home}", "/home/{port}"),
        ("{{port}}", "{81}"),
        ("{other} { {port", "{other} { {port"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(filled(text, Some(81)), expected, "{text}");
    }
}

#[test]
fn a_service_without_a_port_keeps_the_word() {
    assert_eq!(filled("a {port}", None), "a {port}");
}
