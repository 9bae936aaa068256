//! The screen, what is printed, and plain text, fed with what terminals are fed.

use super::command_output::CommandOutput;
use super::escape_stripper::EscapeStripper;
use super::screen::TerminalScreen;
use super::scrollback::SCROLLBACK_BYTES_MAX;
use proptest::prelude::*;

fn screen(columns: u16, rows: u16, text: &str) -> TerminalScreen {
    let mut screen = TerminalScreen::new(columns, rows, 100);
    screen.feed(text.as_bytes());
    screen
}

fn shows(text: &str) -> String {
    screen(10, 4, text).capture(0)
}

fn printed(text: &str) -> String {
    let mut printed = CommandOutput::new(10, 1_000);
    printed.feed(text.as_bytes());
    printed.text().0
}

#[test]
fn text_wraps_and_scrolls() {
    assert_eq!(shows(""), "");
    assert_eq!(shows("a\r\nb"), "a\nb\n");
    assert_eq!(shows("0123456789abc"), "0123456789\nabc\n");
    assert_eq!(
        shows("0123456789\r\nabc"),
        "0123456789\nabc\n",
        "the wrap waits"
    );
    assert_eq!(shows("0123456789\x08x"), "012345678x\n");
    assert_eq!(shows("\x1b[?7l0123456789abc"), "012345678c\n");
    let long = screen(10, 4, "1\r\n2\r\n3\r\n4\r\n5\r\n6");
    assert_eq!(long.capture(0), "3\n4\n5\n6\n");
    assert_eq!(long.capture(1), "2\n3\n4\n5\n6\n");
    assert_eq!(long.capture(99), "1\n2\n3\n4\n5\n6\n");
    assert_eq!(
        (long.scrollback_lines(), long.cursor(), long.size()),
        (2, (1, 3), (10, 4))
    );
}

#[test]
fn blank_lines_at_the_end_are_left_out_and_others_stay() {
    assert_eq!(shows("a\r\n\r\nb\r\n"), "a\n\nb\n");
    assert_eq!(shows("\r\n\r\nb  "), "\n\nb\n");
    assert_eq!(shows("   \r\n  "), "");
    let past = screen(10, 2, "a\r\n\r\n\r\n\r\n");
    assert_eq!(past.capture(9), "a\n\n\n");
}

#[test]
fn the_cursor_moves() {
    assert_eq!(
        shows("\x1b[2;3Hx\x1b[Hy\x1b[999;999Hz"),
        "y\n  x\n\n         z\n"
    );
    assert_eq!(shows("abc\x1b[2Dx\x1b[Cy"), "axcy\n");
    assert_eq!(shows("a\r\nb\x1b[Ac\x1b[Bd"), "ac\nb d\n");
    assert_eq!(shows("a\x1b[2Eb\x1b[Fc"), "a\nc\nb\n");
    assert_eq!(shows("abc\x1b[2Gx\x1b[3dy"), "axc\n\n  y\n");
    assert_eq!(shows("a\tb"), "a       b\n");
    assert_eq!(shows("a\t\t\tb"), "a        b\n");
    assert_eq!(shows("\x1b[3g\x1b[4G\x1bH\ra\tb\x1b[Zc"), "a  c\n");
    assert_eq!(shows("ab\x1b7cd\x1b8x"), "abxd\n");
    assert_eq!(shows("ab\x1b[scd\x1b[ux"), "abxd\n");
    assert_eq!(shows("\x1bM\x1bMa\x1bDb\x1bEc"), "a\n b\nc\n");
}

#[test]
fn parts_are_erased_inserted_and_deleted() {
    assert_eq!(shows("abcdef\x1b[3D\x1b[K"), "abc\n");
    assert_eq!(shows("abcdef\x1b[3D\x1b[1K"), "    ef\n");
    assert_eq!(shows("abcdef\x1b[2K\rx"), "x\n");
    assert_eq!(shows("abcdef\x1b[3D\x1b[2X"), "abc  f\n");
    assert_eq!(shows("abcdef\x1b[3D\x1b[2P"), "abcf\n");
    assert_eq!(shows("abcdef\x1b[3D\x1b[2@"), "abc  def\n");
    assert_eq!(shows("abcdef\x1b[3D\x1b[4hxy"), "abcxydef\n");
    assert_eq!(
        shows("0123456789\x1b[3D\x1b[4@"),
        "012345678\n".replace("78", "")
    );
    assert_eq!(shows("a\r\nb\r\nc\x1b[2;1H\x1b[L"), "a\n\nb\nc\n");
    assert_eq!(shows("a\r\nb\r\nc\x1b[2;1H\x1b[M"), "a\nc\n");
    assert_eq!(shows("a\r\nb\r\nc\x1b[2;1H\x1b[J"), "a\n");
    assert_eq!(shows("a\r\nb\r\nc\x1b[2;1H\x1b[1J"), "\n\nc\n");
    assert_eq!(shows("a\x1b[3bc"), "aaaac\n");
}

#[test]
fn a_region_scrolls_alone() {
    let text = "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx";
    assert_eq!(shows(text), "1\n3\nx\n4\n");
    assert_eq!(
        shows("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1bMx"),
        "1\nx\n2\n4\n"
    );
    assert_eq!(
        shows("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[?6h\x1b[9;1Hx"),
        "1\n2\nx\n4\n"
    );
    assert_eq!(shows("1\r\n2\r\n3\r\n4\x1b[2S"), "3\n4\n");
    assert_eq!(shows("1\r\n2\r\n3\r\n4\x1b[T"), "\n1\n2\n3\n");
}

#[test]
fn a_cleared_screen_is_the_past() {
    for clear in ["\x1b[H\x1b[J", "\x1b[2J\x1b[H", "\x1bc"] {
        let cleared = screen(10, 4, &format!("a\r\nb{clear}c"));
        assert_eq!(cleared.capture(0), "c\n");
        assert_eq!(cleared.capture(9), "a\nb\nc\n");
    }
    assert_eq!(
        screen(10, 4, "a\r\nb\x1b[H\x1b[J\x1b[3Jc").capture(9),
        "c\n"
    );
}

#[test]
fn a_program_has_a_screen_of_its_own_and_leaves_nothing() {
    let mut screen = screen(10, 4, "$ vi\r\n\x1b[?1049h\x1b[H~\r\n~\r\n:");
    assert!(screen.is_full_screen());
    assert_eq!(screen.capture(0), "~\n~\n:\n");
    screen.feed(b"\x1b[2J\n\n\n\n\n\n\n\x1b[?1049l$ ");
    assert!(!screen.is_full_screen());
    assert_eq!(screen.capture(9), "$ vi\n$\n");
    assert_eq!((screen.cursor(), screen.scrollback_lines()), ((2, 1), 0));
}

#[test]
fn wide_characters_take_two_columns_and_are_never_cut() {
    assert_eq!(shows("日本語日本語"), "日本語日本\n語\n");
    assert_eq!(shows("a日本語日本語"), "a日本語日\n本語\n");
    assert_eq!(shows("日本\x1b[2Gx"), " x本\n");
    assert_eq!(shows("日本\x1b[Gx"), "x 本\n");
    assert_eq!(shows("日本\x1b[2G\x1b[K"), "\n".trim_start());
    assert_eq!(shows("日本\x1b[2G\x1b[P"), " 本\n");
    assert_eq!(
        shows("e\u{301}a\u{308}\u{304}"),
        "e\u{301}a\u{308}\u{304}\n"
    );
    assert_eq!(shows("\u{301}x"), "x\n", "there is nothing to stand upon");
    assert_eq!(shows("👩\u{200d}🚀!"), "👩\u{200d}🚀!\n");
    assert_eq!(screen(1, 3, "日a").capture(0), "a\n");
}

#[test]
fn titles_queries_and_commands_to_the_terminal_show_nothing() {
    for sequence in [
        "\x1b]0;title\x07",
        "\x1b]2;title\x1b\\",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b[6n",
        "\x1b[c",
        "\x1b[>c",
        "\x1b[5n",
        "\x1bP$q\"p\x1b\\",
        "\x1b_apc\x1b\\",
        "\x1b^pm\x1b\\",
        "\x1bXsos\x1b\\",
        "\x1bktitle\x1b\\",
        "\x1b[31;1m",
        "\x1b[38;5;200m",
        "\x1b[?2004h",
        "\x1b[?25l",
        "\x1b=",
        "\x07",
        "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27;28;29;30;31;32;33;34A",
        "\0",
        "\x7f",
        "\u{9b}31m".trim_end_matches("31m"),
        "\x1b(B",
        "\x1b[4l",
    ] {
        assert_eq!(shows(&format!("a{sequence}b")), "ab\n", "{sequence:?}");
        assert_eq!(
            EscapeStripper::default().feed(format!("a{sequence}b").as_bytes()),
            "ab",
            "{sequence:?}"
        );
    }
}

#[test]
fn lines_of_the_old_character_set_are_lines() {
    assert_eq!(shows("\x1b(0lqk\x1b(Blqk"), "┌─┐lqk\n");
    assert_eq!(shows("\x1b)0\x0elqk\x0flqk"), "┌─┐lqk\n");
}

#[test]
fn another_width_wraps_anew() {
    let mut screen = screen(10, 4, "0123456789abcdefghij\r\n$ ");
    screen.resize(5, 4);
    assert_eq!(screen.capture(9), "01234\n56789\nabcde\nfghij\n$\n");
    screen.resize(20, 4);
    assert_eq!(screen.capture(9), "0123456789abcdefghij\n$\n");
    screen.feed(b"x");
    assert_eq!(screen.capture(9), "0123456789abcdefghij\n$ x\n");
    screen.resize(12, 4);
    assert_eq!(screen.capture(9), "0123456789ab\ncdefghij\n$ x\n");
}

#[test]
fn another_height_gives_to_the_past_and_takes_from_it() {
    let mut screen = screen(10, 4, "1\r\n2\r\n3\r\n4\r\n5\r\n$ ");
    screen.resize(10, 2);
    assert_eq!(
        (screen.capture(0), screen.scrollback_lines()),
        ("5\n$\n".to_owned(), 4)
    );
    screen.resize(10, 5);
    assert_eq!(
        (screen.capture(0), screen.scrollback_lines()),
        ("2\n3\n4\n5\n$\n".to_owned(), 1)
    );
    screen.feed(b"x");
    assert_eq!(screen.capture(9), "1\n2\n3\n4\n5\n$ x\n");
}

#[test]
fn a_screen_behind_wraps_when_it_comes_back() {
    let mut screen = screen(10, 4, "0123456789abc\r\n$ vi\r\n\x1b[?1049h\x1b[Hediting");
    screen.resize(20, 6);
    assert_eq!(screen.capture(0), "editing\n");
    screen.feed(b"\x1b[?1049l$ ");
    assert_eq!(screen.capture(9), "0123456789abc\n$ vi\n$\n");
}

#[test]
fn a_commands_output_is_what_it_wrote() {
    for text in [
        "",
        "a",
        "a\n",
        "a\n\n\nb\n\n",
        "0123456789",
        "0123456789\n",
        "\n\n",
    ] {
        assert_eq!(printed(&text.replace('\n', "\r\n")), text, "{text:?}");
    }
    assert_eq!(
        printed("0123456789abcdefghijklm\r\n"),
        "0123456789abcdefghijklm\n"
    );
    assert_eq!(printed("10%\r50%\r100%\r\n"), "100%\n");
    assert_eq!(printed("\x1b[31mred\x1b[m\r\n"), "red\n");
    assert_eq!(printed("\x1b[?1049h\x1b[Hvi\x1b[?1049l"), "");
    assert_eq!(
        printed("a: 1\r\nb: 1\r\n\x1b[2Aa: 2\r\nb: 2\r\n"),
        "a: 2\nb: 2\n"
    );
}

#[test]
fn a_long_output_is_its_ends() {
    let mut printed = CommandOutput::new(80, 1_000);
    for number in 0..10_000 {
        printed.feed(format!("{number}\r\n").as_bytes());
    }
    let (text, truncated) = printed.text();
    assert!(truncated && text.starts_with("0\n1\n2\n"), "{text}");
    assert!(text.ends_with("9998\n9999\n"), "{text}");
    assert!(text.len() < 1_050, "{}", text.len());
    let (head, tail) = text.split_once("\n[… ").unwrap();
    let (left_out, tail) = tail.split_once(" bytes left out …]\n").unwrap();
    let all = 48_890;
    assert_eq!(
        left_out.parse::<usize>().unwrap(),
        all - head.len() - tail.len()
    );
    assert_eq!(printed.bytes(), all as u64 + 10_000);
}

#[test]
fn endless_things_stay_bounded() {
    let mut screen = TerminalScreen::new(80, 24, 1_000);
    let mut printed = CommandOutput::new(80, 64 << 10);
    let marks = "e\u{301}\u{301}\u{301}\u{301}\u{301}".repeat(2_000);
    let only_marks = "\u{301}".repeat(5_000);
    let feed: [&[u8]; 8] = [
        &[b'a'; 10_000],
        marks.as_bytes(),
        only_marks.as_bytes(),
        &[0xff; 10_000],
        b"\x1b[99999999999999999999999S\x1b[65535@\x1b[65535P\x1b[65535L\x1b[65535M\x1b[65535b",
        b"x\x1b[65535b\x1b[65535T\x1b[65535X\x1b[65535I\x1b[65535Z\x1b[65535;65535r\x1b[65535;65535H",
        &[b"\x1b]52;".as_slice(), &vec![b'A'; 100_000], b"\x07"].concat(),
        &[b"\x1bP".as_slice(), &vec![b'A'; 100_000], b"\x1b\\"].concat(),
    ];
    for _ in 0..20 {
        for bytes in feed {
            screen.feed(bytes);
            printed.feed(bytes);
        }
    }
    assert!(screen.scrollback_lines() <= 1_000);
    assert!(screen.capture(1_000).len() <= 1_024 * 80 * 22);
    assert!(printed.text().0.len() <= (64 << 10) + 64);
}

#[test]
fn the_past_is_bounded_in_bytes_too() {
    let mut screen = TerminalScreen::new(500, 5, 100_000);
    let line = format!("{}\r\n", "e\u{301}\u{302}\u{303}\u{304}".repeat(499));
    for _ in 0..4_500 {
        screen.feed(line.as_bytes());
    }
    let past = screen.scrollback_lines();
    assert!(past * line.len() <= SCROLLBACK_BYTES_MAX, "{past} lines");
    assert!(
        (past + 5) * line.len() >= SCROLLBACK_BYTES_MAX / 2,
        "{past} lines"
    );
}

#[test]
fn plain_text_keeps_lines_and_replaces_what_is_no_text() {
    let mut plain = EscapeStripper::default();
    assert_eq!(plain.feed(b"a\tb\r\n\x1b[1mc\x08\x07\0d"), "a\tb\r\ncd");
    assert_eq!(plain.feed(b"\xff\xc3"), "\u{fffd}");
    assert_eq!(plain.feed(b"\xa9\xe4"), "é");
    assert_eq!(plain.feed(b"x"), "\u{fffd}x");
    assert_eq!(plain.feed(b"\x1b]0;tit"), "");
    assert_eq!(plain.feed(b"le\x07y\x1b"), "y");
    assert_eq!(plain.feed(b"[32mz"), "z");
}

/// Bytes as terminals see them: text, sequences, and anything.
fn terminal_bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        "[ -~]{0,30}".prop_map(String::into_bytes),
        "[日本é🚀\u{301}\u{200d}]{1,8}".prop_map(String::into_bytes),
        Just(b"\r\n".to_vec()),
        "\x1b\\[[?]?[0-9;:]{0,6}[@-~]".prop_map(String::into_bytes),
        "\x1b[()#]?[0-~]".prop_map(String::into_bytes),
        "\x1b\\][0-9];[a-z]{0,5}(\x07|\x1b\\\\)".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..8),
        proptest::sample::select(vec![
            b"\x1b[?1049h".to_vec(),
            b"\x1b[?1049l".to_vec(),
            b"\x1b[?7l".to_vec(),
            b"\x1b[2;3r".to_vec(),
            b"\x1b[?6h".to_vec(),
            b"\t\x08".to_vec(),
            b"\x1bM".to_vec(),
            b"\x1b[4h".to_vec(),
            b"\xc2\x85".to_vec(),
            b"\xe4\xbf".to_vec(),
        ]),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_in_any_split_give_the_same(
        bytes in terminal_bytes(),
        cuts in proptest::collection::vec(0..2_000_usize, 0..12),
        (columns, rows) in (1..30_u16, 1..10_u16),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let (mut whole, mut split) = (TerminalScreen::new(columns, rows, 50), TerminalScreen::new(columns, rows, 50));
        whole.feed(&bytes);
        for piece in &pieces {
            split.feed(piece);
        }
        prop_assert_eq!(whole.capture(50), split.capture(50));
        prop_assert_eq!(whole.cursor(), split.cursor());
        let (mut whole, mut split) = (CommandOutput::new(columns, 100), CommandOutput::new(columns, 100));
        whole.feed(&bytes);
        for piece in &pieces {
            split.feed(piece);
        }
        prop_assert_eq!(whole.text(), split.text());
        let (mut whole, mut split) = (EscapeStripper::default(), EscapeStripper::default());
        let parts: String = pieces.iter().map(|piece| split.feed(piece)).collect();
        prop_assert_eq!(whole.feed(&bytes), parts);
    }

    #[test]
    fn bounds_hold(
        parts in proptest::collection::vec((terminal_bytes(), 0..40_u16, 0..12_u16), 1..5),
    ) {
        let mut screen = TerminalScreen::new(20, 5, 30);
        for (bytes, columns, rows) in parts {
            screen.feed(&bytes);
            screen.resize(columns, rows);
            let ((width, height), (column, row)) = (screen.size(), screen.cursor());
            prop_assert!(column < width && row < height);
            prop_assert!(screen.scrollback_lines() <= 30);
            let text = screen.capture(30);
            prop_assert!(text.lines().count() <= 30 + usize::from(height));
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{:?}", text);
        }
    }

    #[test]
    fn what_is_printed_is_at_most_what_is_asked(bytes in terminal_bytes(), max in 0..300_usize) {
        let mut printed = CommandOutput::new(20, max);
        printed.feed(&bytes);
        let (text, truncated) = printed.text();
        let note = text.find("\n[… ").map_or(0, |_| 50);
        prop_assert!(text.len() <= max + note, "{} of {}", text.len(), max);
        prop_assert!(truncated || note == 0 || text.len() <= max);
    }
}
