//! What of a tool's output stands on the screen.

use super::*;

fn screen() -> ScreenStyle {
    ScreenStyle {
        width: Some(40),
        ..ScreenStyle::plain(0)
    }
}

#[test]
fn the_last_lines_replace_the_former_ones() {
    let mut tail = OutputTail::default();
    tail.push_output("c1", false, "one\ntwo\nthr");
    assert_eq!(tail.draw(&screen()), "  │ one\n  │ two\n  │ thr\n");
    tail.push_output("c1", false, "ee\n");
    assert_eq!(
        tail.draw(&screen()),
        "\u{1b}[3F\u{1b}[J  │ one\n  │ two\n  │ three\n"
    );
    for number in 4..=20 {
        tail.push_output("c1", false, &format!("{number}\n"));
    }
    assert_eq!(
        tail.draw(&screen()),
        "\u{1b}[3F\u{1b}[J  │ … 14 lines before\n  │ 15\n  │ 16\n  │ 17\n  │ 18\n  │ 19\n  │ 20\n"
    );
    tail.settle();
    tail.push_output("c2", true, "new\n");
    assert_eq!(tail.draw(&screen()), "  │ new\n");
}

#[test]
fn a_small_screen_shows_fewer() {
    let mut tail = OutputTail::default();
    tail.push_output("c1", false, "1\n2\n3\n4\n5\n6\n7\n8\n");
    let small = ScreenStyle {
        rows: Some(9),
        ..screen()
    };
    let drawn = tail.draw(&small);
    assert_eq!(drawn, "  │ … 5 lines before\n  │ 6\n  │ 7\n  │ 8\n");
}

#[test]
fn streams_and_calls_do_not_break_each_others_lines() {
    let mut tail = OutputTail::default();
    tail.push_output("c1", false, "out");
    tail.push_output("c1", true, "err\n");
    tail.push_output("c2", false, "other\n");
    tail.push_output("c1", false, "put\n");
    assert_eq!(tail.draw(&screen()), "  │ err\n  │ other\n  │ output\n");
}

#[test]
fn nothing_printed_moves_the_cursor() {
    let mut tail = OutputTail::default();
    let nasty =
        "\u{1b}[31mred\u{1b}[0m\n10%\r20%\n\u{1b}]0;title\u{7}x\n\u{1b}[2J\u{8}\u{7}y\u{202e}\n";
    tail.push_output("c1", false, nasty);
    let drawn = tail.draw(&screen());
    assert!(drawn.starts_with("  │ red\n  │ 20%\n  │ x\n"), "{drawn:?}");
    let controls = drawn.chars().filter(|letter| *letter != '\n');
    assert!(!controls.clone().any(char::is_control), "{drawn:?}");
    assert!(!drawn.contains('\u{202e}'), "{drawn:?}");
    tail.settle();
    tail.push_output("c1", false, &"wide ".repeat(1_000));
    let drawn = tail.draw(&screen());
    let widest = drawn.lines().map(crate::render::text::width).max();
    assert!(widest.is_some_and(|columns| columns <= 40), "{drawn}");
}
