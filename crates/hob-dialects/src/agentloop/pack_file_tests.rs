//! Headers of agents' files.

use super::{PackFile, parse};

#[test]
fn a_header_names_and_limits_an_agent() {
    let text = "---\nname: code.arch\ndescription: \"Draws boxes.\"\n# a remark\n\
        tools: [fs.read, 'fs.list']\nmax_tool_calls: 2\ntemperature: 0.1\n---\n\nDraw boxes.\n";
    let expected = PackFile {
        name: "code.arch".to_owned(),
        about: Some("Draws boxes.".to_owned()),
        tools: Some(vec!["fs.read".to_owned(), "fs.list".to_owned()]),
        prompt: Some("Draw boxes.".to_owned()),
    };
    assert_eq!(parse(text, "x"), Some(expected));
    let listed = "---\r\ntools:\r\n- fs.read\r\n- time.now\r\nname: a b\r\n---\r\nGo.";
    let file = parse(listed, "x").unwrap();
    assert_eq!(
        (file.name.as_str(), file.prompt.as_deref()),
        ("a b", Some("Go."))
    );
    assert_eq!(file.tools.unwrap(), ["fs.read", "time.now"]);
}

#[test]
fn what_is_missing_is_left_open() {
    let plain = parse("Only a prompt.", "release.notes").unwrap();
    assert_eq!(plain.name, "release.notes");
    assert_eq!((plain.about, plain.tools), (None, None));
    assert_eq!(plain.prompt.as_deref(), Some("Only a prompt."));
    // No list at all, and a list without tools, are two things.
    assert_eq!(
        parse("---\ntools:\n---\n", "x").unwrap().tools,
        Some(Vec::new())
    );
    assert_eq!(parse("---\nname: y\n---\n", "x").unwrap().prompt, None);
    // A header that does not end is text.
    let open = parse("---\nname: y\n", "x").unwrap();
    assert_eq!(
        (open.name.as_str(), open.prompt.as_deref()),
        ("x", Some("---\nname: y"))
    );
}

#[test]
fn what_cannot_be_an_agent_is_none() {
    for (text, stem) in [
        ("", "x"),
        (" \n\u{feff}", "x"),
        ("---\nname: a/b\n---\nGo.", "x"),
        ("---\nname: \u{1b}[31m\n---\nGo.", "x"),
        ("Go.", "\u{7}"),
        ("Go.", ""),
    ] {
        assert_eq!(parse(text, stem), None, "{text:?} {stem:?}");
    }
    assert_eq!(parse("Go.", &"n".repeat(65)), None);
    let many = format!("---\ntools: {}\n---\n", "t,".repeat(500));
    assert_eq!(parse(&many, "x").unwrap().tools.unwrap().len(), 64);
    let long = format!("---\ndescription: {}\n---\n", "é".repeat(500));
    assert_eq!(
        parse(&long, "x").unwrap().about.unwrap().chars().count(),
        200
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in "(---\n)?(.|\n){0,200}", stem in ".{0,20}") {
        if let Some(file) = parse(&text, &stem) {
            proptest::prop_assert!(!file.name.is_empty());
        }
    }
}
