//! What stands on the page after pieces, replacements and lines in between.

use super::*;

fn show(step: u32, kind: BlockKind, text: &str) -> AnswerOutput {
    let text = text.to_owned();
    AnswerOutput::Show { step, kind, text }
}

fn words(step: u32, text: &str) -> AnswerOutput {
    show(step, BlockKind::Text, text)
}

fn screen(width: Option<usize>) -> ScreenStyle {
    ScreenStyle {
        width,
        ..ScreenStyle::plain(0)
    }
}

/// The page as it looks, lines beside it in angle brackets.
fn drawn(page: &mut RunTranscript, outputs: Vec<AnswerOutput>) -> String {
    let mut out = Vec::new();
    for output in outputs {
        page.show(output, &mut out);
    }
    page.break_line(&mut out);
    text(out)
}

fn text(out: Vec<PrintOp>) -> String {
    let text = out.into_iter().map(|print| match print {
        PrintOp::Words(words) => words,
        PrintOp::Aside(line) => format!("<{line}>\n"),
    });
    text.collect()
}

#[test]
fn another_text_replaces_the_former_behind_a_note() {
    let mut page = RunTranscript::new(&screen(None));
    let outputs = vec![
        words(1, "Good mor"),
        AnswerOutput::Replaced { step: 1 },
        words(1, "Good "),
        words(1, "evening."),
    ];
    let expected = format!("Good mor\n<{REPLACED}>\nGood evening.\n");
    assert_eq!(drawn(&mut page, outputs), expected);
}

#[test]
fn thinking_is_for_a_person_who_looks() {
    let outputs = vec![
        show(1, BlockKind::Thinking, "They greet."),
        words(1, "Hello."),
    ];
    let mut piped = RunTranscript::new(&screen(None));
    assert_eq!(drawn(&mut piped, outputs.clone()), "Hello.\n");
    let mut watched = RunTranscript::new(&ScreenStyle {
        colour: true,
        ..screen(Some(80))
    });
    let seen = drawn(&mut watched, outputs);
    let expected = "\u{1b}[2mThey\u{1b}[0m\u{1b}[2m greet.\n\u{1b}[0m\nHello.\n";
    assert_eq!(
        seen.replace("\u{1b}[0m\u{1b}[2m", ""),
        expected.replace("\u{1b}[0m\u{1b}[2m", "")
    );
}

#[test]
fn lines_beside_the_words_never_share_a_row_with_them() {
    let mut page = RunTranscript::new(&screen(Some(80)));
    let mut out = Vec::new();
    page.show(words(1, "Let me look"), &mut out);
    page.aside("→ read notes.txt".to_owned(), &mut out);
    page.show(words(2, "There it is."), &mut out);
    page.break_line(&mut out);
    assert_eq!(text(out), "Let me look\n<→ read notes.txt>\nThere it is.\n");
}

#[test]
fn a_program_gets_the_words_unbroken_whatever_is_said_beside_them() {
    let mut page = RunTranscript::new(&screen(None));
    let mut out = Vec::new();
    page.show(words(1, "one "), &mut out);
    page.aside("The daemon is away.".to_owned(), &mut out);
    page.show(words(1, "two"), &mut out);
    page.break_line(&mut out);
    assert_eq!(text(out), "one <The daemon is away.>\ntwo\n");
}

#[test]
fn steps_without_a_line_in_between_are_apart() {
    let mut page = RunTranscript::new(&screen(None));
    assert_eq!(
        drawn(&mut page, vec![words(1, "one"), words(2, "two")]),
        "one\ntwo\n"
    );
}
