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
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// Lines of a preview that are shown at the most; the question says how many are not.
const PREVIEW_LINES_MAX: usize = 40;
/// Lines of a preview that are shown however small the screen is.
const PREVIEW_LINES_MIN: usize = 4;
/// Lines of a command that head its question; more of it stands in the preview.
const TYPED_LINES_MAX: usize = 6;
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
    let prompt = format!("{}  ", prompt(question, screen).join("\n"));
    lines(question, screen).iter().for_each(Terminal::note);
    let mut key = person.key(&prompt, &keys).await?;
    loop {
        Terminal::note(key);
        let Some(choice) = choices.iter().find(|choice| choice.key == key) else {
            everything(question, screen).iter().for_each(Terminal::note);
            key = person.next_key(&prompt, &keys).await?;
            continue;
        };
        if let Some(offer) = choice.offer {
            let kept = format!("From now on: allow {}", stored(question, offer));
            let room = screen.width.unwrap_or(usize::MAX).saturating_sub(2);
            for line in wrap(&kept, room) {
                Terminal::note(screen.paint(Tone::Quiet, &format!("  {line}")));
            }
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
    let columns = screen.width.unwrap_or(usize::MAX);
    let typed = typed(question);
    let heading = if typed.is_empty() {
        let heading = format!("May it? {}", lines::sentence(&question.sentence));
        wrap(&heading, columns)
    } else {
        let lines = typed.iter().flat_map(|line| wrap(line, columns));
        lines.take(TYPED_LINES_MAX).collect()
    };
    let keys = prompt(question, screen).len();
    let free = screen.rows.unwrap_or(usize::MAX);
    let free = free.saturating_sub(heading.len() + keys + 2);
    let free = free.clamp(PREVIEW_LINES_MIN, PREVIEW_LINES_MAX);
    let mut preview = toned(question);
    if !typed.is_empty() {
        preview.retain(|(line, _)| !line.starts_with("tool: "));
        // What stands above as it will be typed, unless there is too much of it.
        let is_shown = heading.len() < TYPED_LINES_MAX;
        preview.retain(|(line, _)| !(is_shown && typed.contains(line)));
        // Why, where and that there are no walls is read whole, however narrow the screen.
        let wrapped = preview.into_iter().flat_map(|(line, tone)| {
            let pieces = wrap(&line, columns.saturating_sub(4));
            pieces.into_iter().map(move |piece| (piece, tone))
        });
        preview = wrapped.collect();
    }
    let whole = preview.len();
    // The change itself matters more than what is said elsewhere too.
    for lesser in [Tone::Quiet, Tone::Heading] {
        if preview.len() > free {
            preview.retain(|(_, tone)| *tone != Some(lesser));
        }
    }
    preview.truncate(free);
    let more = whole - preview.len();
    let mut out = painted(&heading, Tone::Warning, screen);
    let room = columns.saturating_sub(4);
    let preview = preview.into_iter();
    out.extend(
        preview.map(|(line, tone)| format!("    {}", paint(tone, &cut(&line, room), screen))),
    );
    if more > 0 {
        let line = format!("  … {more} more lines; ? shows them all");
        out.push(screen.paint(Tone::Quiet, &cut(&line, columns)));
    }
    out
}

/// What a yes types into the shared terminal: `$ uptime`, and the lines that go on with it.
fn typed(question: &Question) -> Vec<String> {
    if question.tool != lines::TERMINAL {
        return Vec::new();
    }
    let preview = many_lines(question.preview.as_deref().unwrap_or_default());
    let mut lines = preview.into_iter().skip_while(|it| !it.starts_with("$ "));
    let first = lines.next();
    let rest = lines.take_while(|it| it.starts_with("> "));
    first.into_iter().chain(rest).collect()
}

/// What can be answered, what that stores, and until when.
fn prompt(question: &Question, screen: &Screen) -> Vec<String> {
    // Beside the indent there is room for the key that is pressed.
    let room = screen.width.unwrap_or(COLUMNS).saturating_sub(6);
    let mut out = Vec::new();
    // While somebody is shown the question it waits for them.
    if !question.attended {
        let deadline = moment::clock(question.deadline_at, screen);
        let deadline = cut(&format!("  Denied automatically at {deadline}."), room + 2);
        out.push(screen.paint(Tone::Quiet, &deadline));
    }
    let choices = choices(question);
    let here = choices.iter().filter(|choice| choice.offer.is_none());
    let mut first: Vec<Item> = here.map(|choice| Item::of(choice, screen)).collect();
    first.push(Item::new('?', "details", screen));
    out.extend(flowed(&first, room));
    let groups = grouped(question, &choices);
    if !groups.is_empty() {
        out.push(cut("  Yes, and from now on for like calls:", room + 2));
    }
    for (rule, group) in groups {
        let keys = group.into_iter();
        let mut items: Vec<Item> = keys.map(|choice| Item::of(choice, screen)).collect();
        items.push(Item::plain(&cut(&format!("({rule})"), room)));
        out.extend(flowed(&items, room));
    }
    out
}

/// Answers that store a rule, those with the same one together.
fn grouped<'c, 'q>(
    question: &Question,
    choices: &'c [Choice<'q>],
) -> Vec<(String, Vec<&'c Choice<'q>>)> {
    let mut groups: Vec<(String, Vec<&Choice<'q>>)> = Vec::new();
    for choice in choices {
        let Some(rule) = choice.offer.map(|offer| stored(question, offer)) else {
            continue;
        };
        match groups.iter_mut().find(|(other, _)| *other == rule) {
            Some((_, group)) => group.push(choice),
            None => groups.push((rule, vec![choice])),
        }
    }
    groups
}

/// The rule an answer stores, in a few words and without how far it reaches.
fn stored(question: &Question, offer: &Terms) -> String {
    let (same, other): (BTreeMap<_, _>, BTreeMap<_, _>) = offer
        .matches
        .clone()
        .into_iter()
        .partition(|(name, pattern)| is_exactly(pattern, question.args.get(name)));
    let mut words = vec![rules::calls(&Terms {
        path: None,
        matches: other,
        ..offer.clone()
    })];
    // What stands above need not be said again.
    words.extend(
        same.keys()
            .map(|name| format!("this very {}", one_line(name))),
    );
    // Of a rule for a folder the folder is what it covers.
    let place = offer.path.as_deref().or(offer.folder.as_deref());
    let names_any = place.is_some() || offer.host.is_some() || !offer.matches.is_empty();
    words.extend(place.map(|place| format!("in {}", one_line(place))));
    if !names_any {
        words.push("anywhere".to_owned());
    }
    words.join(" ")
}

/// Whether a pattern fits this value only: no star, and a backslash before what is meant as it is.
fn is_exactly(pattern: &str, value: Option<&Value>) -> bool {
    let mut plain = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => return false,
            '\\' => plain.extend(letters.next()),
            other => plain.push(other),
        }
    }
    value.and_then(Value::as_str) == Some(plain.as_str())
}

/// Something on a line of keys.
struct Item {
    text: String,
    columns: usize,
}

impl Item {
    fn new(key: char, words: &str, screen: &Screen) -> Item {
        let key = format!("[{key}]");
        Item {
            columns: width(&key) + 1 + width(words),
            text: format!("{} {words}", screen.paint(Tone::Command, &key)),
        }
    }

    fn of(choice: &Choice<'_>, screen: &Screen) -> Item {
        Item::new(choice.key, choice.words, screen)
    }

    fn plain(words: &str) -> Item {
        Item {
            columns: width(words),
            text: words.to_owned(),
        }
    }
}

/// Items side by side as far as there is room.
fn flowed(items: &[Item], room: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut taken = 0;
    for item in items {
        match out.last_mut() {
            Some(line) if taken + 2 + item.columns <= room => {
                line.push_str("  ");
                line.push_str(&item.text);
                taken += 2 + item.columns;
            }
            _ => {
                out.push(format!("  {}", item.text));
                taken = item.columns;
            }
        }
    }
    out
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
