//! The question whether a call may run: exactly what will happen, and one key per answer.
//!
//! Invariants: what is allowed is what was shown, so the answer carries the digest of the
//! question; an answer beyond this call says which rule it stores before it is given; the keys
//! stay on the screen however small it is.

use super::lines;
use super::person::Person;
use super::question::Said;
use crate::render::words::{cut, many_lines, one_line, width, wrap};
use crate::render::{Screen, Tone, moment, rules};
use crate::terminal::Terminal;
use hob_wire::rooms::permission::{AnswerParams, Decision, Question, Reach, Terms};
use std::io;

/// Lines of a preview that are shown at the most; the question says how many are not.
const PREVIEW_LINES_MAX: usize = 40;
/// Lines of a preview that are shown however small the screen is.
const PREVIEW_LINES_MIN: usize = 4;
/// Columns assumed when nobody says.
const COLUMNS: usize = 80;

/// Asks until there is an answer.
pub(super) async fn ask(question: &Question, person: &Person, screen: &Screen) -> io::Result<Said> {
    let choices = choices(question);
    let keys: Vec<char> = choices
        .iter()
        .map(|choice| choice.key)
        .chain(['?'])
        .collect();
    let mut shown = lines(question, screen);
    loop {
        shown.iter().for_each(Terminal::note);
        let prompt = prompt(question, screen).join("\n");
        let key = person.key(&format!("{prompt}  "), &keys).await?;
        Terminal::note(key);
        let Some(choice) = choices.iter().find(|choice| choice.key == key) else {
            shown = everything(question, screen);
            continue;
        };
        if let Some(offer) = choice.offer {
            let kept = format!("  From now on: allow {}", stored(offer));
            Terminal::note(screen.paint(Tone::Quiet, &kept));
        }
        let reach = choice.offer.map(|offer| offer.scope);
        return Ok(Said::Permission(answer(question, choice.decision, reach)));
    }
}

/// An answer bound to the question as it was shown.
pub fn answer(question: &Question, decision: Decision, scope: Option<Reach>) -> AnswerParams {
    AnswerParams {
        id: question.id.clone(),
        decision,
        scope,
        digest: Some(question.digest.clone()),
    }
}

/// One key and what it answers.
#[derive(Clone, Copy, Debug)]
struct Choice<'q> {
    key: char,
    words: &'static str,
    decision: Decision,
    /// The rule it stores beside.
    offer: Option<&'q Terms>,
}

fn choices(question: &Question) -> Vec<Choice<'_>> {
    let mut choices = vec![
        Choice {
            key: 'y',
            words: "yes, once",
            decision: Decision::Allow,
            offer: None,
        },
        Choice {
            key: 'n',
            words: "no",
            decision: Decision::Deny,
            offer: None,
        },
    ];
    let farther = [
        ('r', Reach::Run, "this run"),
        ('s', Reach::Session, "this session"),
        ('f', Reach::Folder, "this folder"),
        ('a', Reach::Always, "always"),
    ];
    for (key, scope, words) in farther {
        let mut offers = question.offers.iter();
        let offer = offers.find(|offer| offer.scope == scope);
        choices.extend(offer.map(|offer| Choice {
            key,
            words,
            decision: Decision::Allow,
            offer: Some(offer),
        }));
    }
    choices
}

/// The question on lines of its own, without the keys; as much of its preview as leaves room for
/// them.
pub(super) fn lines(question: &Question, screen: &Screen) -> Vec<String> {
    let columns = screen.width.unwrap_or(COLUMNS);
    let heading = format!("May it? {}", lines::sentence(&question.sentence));
    let heading = wrap(&heading, columns);
    let keys = prompt(question, screen).len();
    let free = screen.rows.unwrap_or(usize::MAX);
    let free = free.saturating_sub(heading.len() + keys + 2);
    let free = free.clamp(PREVIEW_LINES_MIN, PREVIEW_LINES_MAX);
    let preview = preview(question, screen);
    let more = preview.len().saturating_sub(free);
    let mut out = painted(&heading, Tone::Warning, screen);
    out.extend(preview.into_iter().take(free));
    if more > 0 {
        let line = format!("  … {more} more lines; ? shows them all");
        out.push(screen.paint(Tone::Quiet, &cut(&line, columns)));
    }
    out
}

/// What can be answered, what that stores, and until when.
fn prompt(question: &Question, screen: &Screen) -> Vec<String> {
    let room = screen.width.unwrap_or(COLUMNS).saturating_sub(4);
    let all = choices(question);
    let (farther, here): (Vec<&Choice<'_>>, Vec<&Choice<'_>>) =
        all.iter().partition(|choice| choice.offer.is_some());
    let item = |key: char, words: &str| (format!("[{key}]"), words.to_owned());
    let mut first: Vec<_> = here.iter().map(|it| item(it.key, it.words)).collect();
    first.push(item('?', "everything"));
    let mut out = flowed(&first, room, screen);
    let deadline = moment::clock(question.deadline_at, screen);
    let deadline = format!("  No answer by {deadline} is a no.");
    out.insert(0, screen.paint(Tone::Quiet, &cut(&deadline, room + 2)));
    let rules: Vec<String> = farther
        .iter()
        .filter_map(|it| it.offer.map(stored))
        .collect();
    let keys: Vec<_> = farther.iter().map(|it| item(it.key, it.words)).collect();
    match rules.split_first() {
        None => {}
        Some((rule, others)) if others.iter().all(|other| other == rule) => {
            let line = format!("Yes, and for like calls ({rule}):");
            out.extend(wrap(&line, room).iter().map(|line| format!("  {line}")));
            out.extend(flowed(&keys, room, screen));
        }
        Some(_) => {
            for ((key, words), rule) in keys.into_iter().zip(&rules) {
                let words = cut(&format!("{words}: {rule}"), room.saturating_sub(4));
                out.extend(flowed(&[(key, words)], room, screen));
            }
        }
    }
    out
}

/// The rule an answer stores, in a few words and without how far it reaches.
fn stored(offer: &Terms) -> String {
    let mut out = rules::calls(&Terms {
        path: None,
        ..offer.clone()
    });
    // Of a rule for a folder the folder is what it covers.
    if let Some(place) = offer.path.as_deref().or(offer.folder.as_deref()) {
        out.push_str(" in ");
        out.push_str(&one_line(place));
    }
    out
}

/// Keys with their words, side by side as far as there is room.
fn flowed(items: &[(String, String)], room: usize, screen: &Screen) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut taken = 0;
    for (key, words) in items {
        let wide = width(key) + 1 + width(words);
        let item = format!("{} {words}", screen.paint(Tone::Command, key));
        match out.last_mut() {
            Some(line) if taken + 2 + wide <= room => {
                line.push_str("  ");
                line.push_str(&item);
                taken += 2 + wide;
            }
            _ => {
                out.push(format!("  {item}"));
                taken = wide;
            }
        }
    }
    out
}

/// Exactly what will run, cut at the edge of the screen.
fn preview(question: &Question, screen: &Screen) -> Vec<String> {
    let room = screen.width.unwrap_or(usize::MAX).saturating_sub(4);
    let tones = toned(question);
    let lines = tones.into_iter();
    let lines = lines.map(|(line, tone)| format!("    {}", paint(tone, &cut(&line, room), screen)));
    lines.collect()
}

/// The question with nothing left out: the whole preview, the arguments, and the rule that each
/// answer stores.
fn everything(question: &Question, screen: &Screen) -> Vec<String> {
    let columns = screen.width.unwrap_or(usize::MAX);
    let room = columns.saturating_sub(4);
    let mut out = vec![String::new()];
    let heading = format!("Everything: {}", lines::sentence(&question.sentence));
    out.extend(painted(&wrap(&heading, columns), Tone::Warning, screen));
    for (line, tone) in toned(question) {
        let pieces = wrap(&line, room).into_iter();
        out.extend(pieces.map(|piece| format!("    {}", paint(tone, &piece, screen))));
    }
    let about = [
        format!("Session {}", one_line(&question.session_key)),
        format!(
            "Run {}, call {}",
            question.run_id,
            one_line(&question.call_id)
        ),
        format!("Arguments {}", one_line(&question.args.to_string())),
        format!("Bound to {}", one_line(&question.digest)),
        "Ctrl-C stops the run.".to_owned(),
    ];
    for line in about {
        let pieces = wrap(&line, room.saturating_add(2)).into_iter();
        out.extend(pieces.map(|piece| screen.paint(Tone::Quiet, &format!("  {piece}"))));
    }
    for choice in choices(question) {
        let Some(offer) = choice.offer else { continue };
        let key = screen.paint(Tone::Command, &format!("[{}]", choice.key));
        out.push(format!("  {key} {} stores this rule:", choice.words));
        out.extend(command(offer, room.saturating_sub(2)));
    }
    out
}

/// The command that stores a rule, broken between its flags.
fn command(offer: &Terms, room: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in rules::add_words(offer) {
        let word = one_line(&word);
        match out.last_mut() {
            Some(line) if width(line) + 1 + width(&word) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => out.extend(wrap(&word, room)),
        }
    }
    out.iter().map(|line| format!("      {line}")).collect()
}

/// The preview line by line, each with what it is.
fn toned(question: &Question) -> Vec<(String, Option<Tone>)> {
    let mut is_change = false;
    let lines = many_lines(question.preview.as_deref().unwrap_or_default()).into_iter();
    let toned = lines.map(|line| {
        let tone = match line.as_str() {
            it if it.starts_with("@@") => {
                is_change = true;
                Some(Tone::Command)
            }
            it if it.starts_with("--- ") || it.starts_with("+++ ") => {
                is_change = true;
                Some(Tone::Heading)
            }
            // Only in a diff do the signs mean anything.
            it if is_change && it.starts_with('+') => Some(Tone::Good),
            it if is_change && it.starts_with('-') => Some(Tone::Bad),
            it if it.starts_with("tool: ") || it.starts_with("folder: ") => Some(Tone::Quiet),
            _ => None,
        };
        (line, tone)
    });
    toned.collect()
}

fn paint(tone: Option<Tone>, text: &str, screen: &Screen) -> String {
    match tone {
        Some(tone) => screen.paint(tone, text),
        None => text.to_owned(),
    }
}

fn painted(lines: &[String], tone: Tone, screen: &Screen) -> Vec<String> {
    lines.iter().map(|line| screen.paint(tone, line)).collect()
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
