//! How a card looks: a heading, what exactly will run, and one line for each answer. Pure.

use super::answers::choices;
use super::rule_text::one_line;
use super::{Card, CardInput, Question};
use crate::actions::{Action, Keymap};
use crate::diff;
use crate::text::{BreakAt, Role, Row, Span, Tone, clean, clock, truncate, wrap};
use hob_client::visible_text::is_hidden;

/// The parts of a card.
#[derive(Clone, Debug)]
pub struct CardRows {
    pub title: String,
    /// What is asked; it can be scrolled.
    pub body: Vec<Row>,
    /// The answers; they are always seen.
    pub answers: Vec<Row>,
}

/// Lays out a card for this many columns. `has_keys` says whether it takes the keys.
pub fn card_rows(
    card: &Card,
    keymap: &Keymap,
    columns: usize,
    has_keys: bool,
    zone: i64,
) -> CardRows {
    let (title, body) = match &card.question {
        Question::Permission(question) => {
            let title = format!("Permission · {}", one_line(&question.tool));
            (title, permission_rows(card, columns))
        }
        Question::Doubt(doubt) => {
            let title = format!("In doubt · {}", one_line(&doubt.call.name));
            (title, doubt_rows(card, columns, zone))
        }
        Question::Money(paused) => {
            let text = Span::new(clean(&paused.message), Role::Warning);
            let rows = wrap(&[text], columns, BreakAt::Words);
            ("Budget used up".to_owned(), rows)
        }
    };
    CardRows {
        title: format!("{title} · {}", one_line(card.question.session())),
        body,
        answers: answer_rows(card, keymap, columns, has_keys, zone),
    }
}

fn permission_rows(card: &Card, columns: usize) -> Vec<Row> {
    let Question::Permission(question) = &card.question else {
        return Vec::new();
    };
    let sentence = Span::new(
        format!("Allow this? {}", clean(&question.sentence)),
        Tone::from(Role::Warning),
    );
    let mut out = wrap(&[sentence], columns, BreakAt::Words);
    let preview = exactly(question.preview.as_deref().unwrap_or_default());
    let preview = preview.as_str();
    if preview.is_empty() {
        // Without a preview the arguments say what will run.
        let args = one_line(&question.args.to_string());
        out.extend(wrap(&[Span::plain(args)], columns, BreakAt::Anywhere));
    } else if diff::is_diff(preview) {
        out.extend(diff::rows(preview, columns));
    } else {
        out.extend(wrap(&[Span::plain(preview)], columns, BreakAt::Anywhere));
    }
    out
}

/// The text with everything visible that would be hidden: a person decides about it.
fn exactly(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            hidden if is_hidden(hidden) => out.extend(hidden.escape_unicode()),
            shown => out.push(shown),
        }
    }
    out
}

fn doubt_rows(card: &Card, columns: usize, zone: i64) -> Vec<Row> {
    let Question::Doubt(doubt) = &card.question else {
        return Vec::new();
    };
    let heading = "It is unknown whether this call happened:";
    let mut out = wrap(
        &[Span::new(heading, Role::Warning)],
        columns,
        BreakAt::Words,
    );
    for (name, value) in [
        ("tool   ", one_line(&doubt.call.name)),
        ("with   ", one_line(&doubt.call.args.to_string())),
        ("began  ", clock(doubt.began_at, zone)),
        ("known  ", clean(&doubt.known)),
    ] {
        let spans = [Span::new(name, Role::Quiet), Span::plain(value)];
        out.extend(wrap(&spans, columns, BreakAt::Words));
    }
    out
}

fn answer_rows(
    card: &Card,
    keymap: &Keymap,
    columns: usize,
    has_keys: bool,
    zone: i64,
) -> Vec<Row> {
    let mut out = Vec::new();
    if let Some(problem) = &card.problem {
        out.extend(wrap(
            &[Span::new(clean(problem), Role::Bad)],
            columns,
            BreakAt::Words,
        ));
    }
    if let Some((input, text)) = &card.input {
        let prompt = match input {
            CardInput::Result => "What was its result? (may be empty) ",
            CardInput::Dollars => "How many more dollars? ",
        };
        let spans = [
            Span::new(prompt, Role::Quiet),
            Span::plain(clean(text)),
            Span::new("▏", Role::Accent),
        ];
        out.extend(wrap(&spans, columns, BreakAt::Words));
        out.push(Row::single("enter sends it, esc goes back", Role::Quiet));
        return out;
    }
    if let Question::Permission(question) = &card.question
        && !question.attended
    {
        let line = format!(
            "Denied automatically at {}.",
            clock(question.deadline_at, zone)
        );
        out.push(Row::single(line, Role::Quiet));
    }
    let mut keys: Vec<Span> = Vec::new();
    for choice in choices(&card.question) {
        let key = format!("[{}]", keymap.shown(choice.action));
        let key_role = if has_keys { Role::Accent } else { Role::Quiet };
        if let Some(rule) = choice.rule {
            let about = format!(" {:<13}", choice.words);
            let stored = truncate(
                &format!("allows {rule}"),
                columns.saturating_sub(key.len() + 14),
            );
            out.push(Row::of(vec![
                Span::new(key, key_role),
                Span::plain(about),
                Span::new(stored, Role::Quiet),
            ]));
        } else {
            keys.push(Span::new(key, key_role));
            keys.push(Span::plain(format!(" {}  ", choice.words)));
        }
    }
    let mut first = wrap(&keys, columns, BreakAt::Words);
    first.append(&mut out);
    if !has_keys {
        let line = format!(
            "{} goes to this question",
            keymap.shown(Action::FocusQuestion)
        );
        first.push(Row::single(line, Role::Warning));
    }
    first
}
