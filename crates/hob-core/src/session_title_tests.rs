//! Titles of sessions from their first message.

use super::*;

fn of(text: &str) -> Option<String> {
    title(&MessageContent::from(text))
}

#[test]
fn the_first_line_with_words_is_the_title() {
    assert_eq!(of("what is   this?").as_deref(), Some("what is this?"));
    assert_eq!(
        of("\n \n review this\n\n<stdin>\nx\n</stdin>").as_deref(),
        Some("review this")
    );
    assert_eq!(of(" \n\t"), None);
}

#[test]
fn a_long_line_ends_after_a_word() {
    let long = "word ".repeat(40);
    let title = of(&long).expect("words");
    assert!(title.chars().count() <= TITLE_CHARS_MAX, "{title}");
    assert!(title.ends_with("word…"), "{title}");
    let one = of(&"ü".repeat(9_000)).expect("a word");
    assert_eq!(one.chars().count(), TITLE_CHARS_MAX);
    let exact = "x".repeat(TITLE_CHARS_MAX);
    assert_eq!(of(&exact), Some(exact));
}

#[test]
fn of_parts_the_first_text_counts() {
    let image = ContentPart::Image {
        mime_type: "image/png".to_owned(),
        data: String::new(),
    };
    let text = ContentPart::Text {
        text: "what is in the picture?".to_owned(),
    };
    assert_eq!(
        title(&MessageContent::Parts(vec![image.clone(), text])).as_deref(),
        Some("what is in the picture?")
    );
    assert_eq!(title(&MessageContent::Parts(vec![image])), None);
}
