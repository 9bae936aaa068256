//! What each small format means, and that what is not understood is told.

use super::{parse_env_lines, parse_flat_yaml, split_front_matter};
use proptest::prelude::*;

#[test]
fn env_lines_have_exports_quotes_and_comments() {
    let found = parse_env_lines(
        "# a comment\n\nexport A=1\nB = two words \nC=\"x \\\"y\\\"\\n\"\nD='it''s'\nE=\nno line\nF G=1\nH=\"open\n",
    );
    let text = |name| found.values.get(name).map(String::as_str);
    assert_eq!(text("A"), Some("1"));
    assert_eq!(text("B"), Some("two words"));
    assert_eq!(text("C"), Some("x \"y\"\n"));
    assert_eq!(text("D"), Some("it's"));
    assert_eq!(text("E"), Some(""));
    assert_eq!(found.text("E"), None);
    assert_eq!(found.unread_lines, [8, 9, 10]);
    assert_eq!(found.unread().as_deref(), Some("8, 9, 10"));
}

#[test]
fn flat_yaml_is_read_and_nested_values_are_told() {
    let found = parse_flat_yaml(
        "---\nlisten_addr: \":0\"\nmodel_name: llama3 # a comment\nurl: http://a:1/b\nempty:\ncount: 5\nquoted: 'a: b' # c\nlist: [8, 22]\nnested:\n  inner: 1\n- item\nblock: |\nbad: \"open\n",
    );
    let text = |name| found.values.get(name).map(String::as_str);
    assert_eq!(text("listen_addr"), Some(":0"));
    assert_eq!(text("model_name"), Some("llama3"));
    assert_eq!(text("url"), Some("http://a:1/b"));
    assert_eq!(text("empty"), Some(""));
    assert_eq!(text("count"), Some("5"));
    assert_eq!(text("quoted"), Some("a: b"));
    assert_eq!(text("list"), Some("[8, 22]"));
    assert_eq!(found.unread_lines, [10, 11, 12, 13]);
}

#[test]
fn front_matter_is_split_from_the_text() {
    let text = "---\nname: Daily\nenabled: true\n---\n\nDo it.\n---\nmore\n";
    let (front, body) = split_front_matter(text).unwrap();
    assert_eq!(front.text("name"), Some("Daily"));
    assert_eq!(body, "Do it.\n---\nmore");
    let windows = "---\r\nname: A\r\n---\r\nText\r\n";
    let (front, body) = split_front_matter(windows).unwrap();
    assert_eq!((front.text("name"), body), (Some("A"), "Text"));
    for none in [
        "",
        "---",
        "---\nname: A\n",
        "text\n---\nname: A\n---\n",
        "----\nx\n---\n",
    ] {
        assert!(split_front_matter(none).is_none(), "{none:?}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_a_parser(text in "(?s).{0,200}") {
        let _ = parse_env_lines(&text);
        let _ = parse_flat_yaml(&text);
        let _ = split_front_matter(&text);
    }

    #[test]
    fn a_plain_value_comes_back_as_it_was_written(value in "[a-zA-Z0-9_./:-]{1,40}") {
        let env = format!("NAME={value}");
        let found = parse_env_lines(&env);
        prop_assert_eq!(found.text("NAME"), Some(value.as_str()));
        // A value of YAML may not begin with a dash.
        let yaml = format!("name: x{value}");
        let expected = format!("x{value}");
        let found = parse_flat_yaml(&yaml);
        prop_assert_eq!(found.text("name"), Some(expected.as_str()));
    }
}
