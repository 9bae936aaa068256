//! What a frame writes: nothing twice, nothing that erases.

use super::*;
use ratatui_core::style::Style;

fn frame(text: &str) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 2));
    buffer.set_string(0, 0, text, Style::new());
    buffer
}

fn written(writer: &mut FrameWriter, text: &str) -> String {
    String::from_utf8(writer.bytes(frame(text), (0, 1), "hob")).unwrap()
}

#[test]
fn only_changes_are_written_and_nothing_erases() {
    let mut writer = FrameWriter::new(10, 2);
    let first = written(&mut writer, "hello");
    assert!(first.starts_with(BEGIN) && first.contains("hello     "));
    assert!(first.contains("\u{1b}]2;hob\u{7}"));
    assert_eq!(written(&mut writer, "hello"), "");
    let second = written(&mut writer, "hallo");
    assert_eq!(
        second,
        format!("{BEGIN}\u{1b}[1;2H\u{1b}[0ma\u{1b}[0m\u{1b}[2;1H{END}")
    );
    writer.renew();
    let third = written(&mut writer, "漢é");
    for bytes in [&first, &second, &third] {
        for order in ["\u{1b}[2J", "\u{1b}[3J", "\u{1b}[J", "r\u{1b}"] {
            assert!(!bytes.contains(order), "{bytes:?}");
        }
    }
    // Only the caret moved.
    let moved = writer.bytes(frame("漢é"), (3, 0), "hob");
    assert_eq!(
        String::from_utf8(moved).unwrap(),
        format!("{BEGIN}\u{1b}[0m\u{1b}[1;4H{END}")
    );
}
