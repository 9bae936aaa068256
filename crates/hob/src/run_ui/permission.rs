//! The permission prompt of a call: the exact effect, and one key per answer.
//!
//! Invariants: the answer carries the digest of the question, so only what was shown is allowed; an
//! answer beyond this call shows the rule it stores before it is given; the keys stay on the screen
//! however small it is.

use super::lines;
use super::question::UserAnswer;
use super::terminal_user::TerminalUser;
use crate::render::text::{one_line, safe_lines, truncate, width, wrap};
use crate::render::{ScreenStyle, TextTone, rules, time};
use crate::terminal::Terminal;
use hob_wire::rooms::permission::{
    AnswerReach, PermissionAnswerParams, PermissionDecision, PermissionQuestion, RuleTerms,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// The most lines of a preview; the question says how many are hidden.
const PREVIEW_LINES_MAX: usize = 40;
/// The least lines of a preview, however small the screen is.
const PREVIEW_LINES_MIN: usize = 4;
/// The most lines of a command above its question; the preview has the rest.
const TYPED_LINES_MAX: usize = 6;
/// The default columns when stderr is not a terminal.
const COLUMNS: usize = 80;

/// Shows the question and waits for an answer; `?` shows the details and asks again.
pub(super) async fn ask(
    question: &PermissionQuestion,
    person: &TerminalUser,
    screen: &ScreenStyle,
) -> io::Result<UserAnswer> {
    let choices = choices(question);
    let keys: Vec<char> = choices
        .iter()
        .map(|choice| choice.key)
        .chain(['?'])
        .collect();
    let prompt = format!("{}  ", prompt_lines(question, screen).join("\n"));
    lines(question, screen).iter().for_each(Terminal::note);
    let mut key = person.key(&prompt, &keys).await?;
    loop {
        // The terminal does not echo in key mode, so the pressed key is printed here.
        Terminal::note(key);
        let Some(choice) = choices.iter().find(|choice| choice.key == key) else {
            detail_lines(question, screen)
                .iter()
                .for_each(Terminal::note);
            key = person.next_key(&prompt, &keys).await?;
            continue;
        };
        if let Some(offer) = choice.offer {
            let stored = format!("Rule stored: allow {}", rule_summary(question, offer));
            let room = screen.width.unwrap_or(usize::MAX).saturating_sub(2);
            for line in wrap(&stored, room) {
                Terminal::note(screen.paint(TextTone::Quiet, &format!("  {line}")));
            }
        }
        let reach = choice.offer.map(|offer| offer.scope);
        return Ok(UserAnswer::Permission(answer(
            question,
            choice.decision,
            reach,
        )));
    }
}

/// An answer bound by its digest to the question as it was shown.
pub fn answer(
    question: &PermissionQuestion,
    decision: PermissionDecision,
    scope: Option<AnswerReach>,
) -> PermissionAnswerParams {
    // The digest binds the answer to what was shown: a question that changed meanwhile is not answered.
    PermissionAnswerParams {
        id: question.id.clone(),
        decision,
        scope,
        digest: Some(question.digest.clone()),
    }
}

/// A key and the answer it gives.
#[derive(Clone, Copy, Debug)]
struct AnswerChoice<'q> {
    key: char,
    words: &'static str,
    decision: PermissionDecision,
    /// The rule that this answer also stores.
    offer: Option<&'q RuleTerms>,
}

fn choices(question: &PermissionQuestion) -> Vec<AnswerChoice<'_>> {
    let mut choices = vec![
        AnswerChoice {
            key: 'y',
            words: "yes, once",
            decision: PermissionDecision::Allow,
            offer: None,
        },
        AnswerChoice {
            key: 'n',
            words: "no",
            decision: PermissionDecision::Deny,
            offer: None,
        },
    ];
    let farther = [
        ('r', AnswerReach::Run, "this run"),
        ('s', AnswerReach::Session, "this session"),
        ('f', AnswerReach::Folder, "this folder"),
        ('a', AnswerReach::Always, "always"),
    ];
    for (key, scope, words) in farther {
        let mut offers = question.offers.iter();
        let offer = offers.find(|offer| offer.scope == scope);
        choices.extend(offer.map(|offer| AnswerChoice {
            key,
            words,
            decision: PermissionDecision::Allow,
            offer: Some(offer),
        }));
    }
    choices
}

/// The lines of the question without the keys. The preview is shortened to leave room for them.
pub(super) fn lines(question: &PermissionQuestion, screen: &ScreenStyle) -> Vec<String> {
    let columns = screen.width.unwrap_or(usize::MAX);
    let typed = typed_lines(question);
    let heading = if typed.is_empty() {
        let heading = format!("Allow this? {}", lines::sentence(&question.sentence));
        wrap(&heading, columns)
    } else {
        let lines = typed.iter().flat_map(|line| wrap(line, columns));
        lines.take(TYPED_LINES_MAX).collect()
    };
    let keys = prompt_lines(question, screen).len();
    let free = screen.rows.unwrap_or(usize::MAX);
    let free = free.saturating_sub(heading.len() + keys + 2);
    let free = free.clamp(PREVIEW_LINES_MIN, PREVIEW_LINES_MAX);
    let mut preview = toned_preview(question);
    if !typed.is_empty() {
        preview.retain(|(line, _)| !line.starts_with("tool: "));
        // The heading already shows the command, unless it was too long.
        let is_shown = heading.len() < TYPED_LINES_MAX;
        preview.retain(|(line, _)| !(is_shown && typed.contains(line)));
        // The reason, the folder and the missing sandbox must be readable on a narrow screen, so
        // these lines are wrapped, not truncated.
        let wrapped = preview.into_iter().flat_map(|(line, tone)| {
            let pieces = wrap(&line, columns.saturating_sub(4));
            pieces.into_iter().map(move |piece| (piece, tone))
        });
        preview = wrapped.collect();
    }
    let whole = preview.len();
    // On a small screen the change itself matters more than its file names and context.
    for lesser in [TextTone::Quiet, TextTone::Heading] {
        if preview.len() > free {
            preview.retain(|(_, tone)| *tone != Some(lesser));
        }
    }
    preview.truncate(free);
    let more = whole - preview.len();
    let mut out = paint_lines(&heading, TextTone::Warning, screen);
    let room = columns.saturating_sub(4);
    let preview = preview.into_iter();
    out.extend(
        preview.map(|(line, tone)| format!("    {}", paint(tone, &truncate(&line, room), screen))),
    );
    if more > 0 {
        let line = format!("  … {more} more lines; ? shows them all");
        out.push(screen.paint(TextTone::Quiet, &truncate(&line, columns)));
    }
    out
}

/// The lines that an allowed call types into a person's shell: `$ uptime` and its continuations.
fn typed_lines(question: &PermissionQuestion) -> Vec<String> {
    if hob_tools::traits(&question.tool).typed_argument.is_none() {
        return Vec::new();
    }
    let preview = safe_lines(question.preview.as_deref().unwrap_or_default());
    let mut lines = preview.into_iter().skip_while(|it| !it.starts_with("$ "));
    let first = lines.next();
    let rest = lines.take_while(|it| it.starts_with("> "));
    first.into_iter().chain(rest).collect()
}

/// The prompt: the deadline, the keys, and the rule that each key stores.
fn prompt_lines(question: &PermissionQuestion, screen: &ScreenStyle) -> Vec<String> {
    // Six columns: the indent, and the pressed key at the end.
    let room = screen.width.unwrap_or(COLUMNS).saturating_sub(6);
    let mut out = Vec::new();
    // An attended question waits for its person, without a deadline.
    if !question.attended {
        let deadline = time::clock(question.deadline_at, screen);
        let deadline = truncate(&format!("  Denied automatically at {deadline}."), room + 2);
        out.push(screen.paint(TextTone::Quiet, &deadline));
    }
    let choices = choices(question);
    let here = choices.iter().filter(|choice| choice.offer.is_none());
    let mut first: Vec<PromptItem> = here.map(|choice| PromptItem::of(choice, screen)).collect();
    first.push(PromptItem::new('?', "details", screen));
    out.extend(flow_items(&first, room));
    let groups = group_by_rule(question, &choices);
    if !groups.is_empty() {
        out.push(truncate("  Yes, and don't ask again for:", room + 2));
    }
    for (rule, group) in groups {
        let keys = group.into_iter();
        let mut items: Vec<PromptItem> =
            keys.map(|choice| PromptItem::of(choice, screen)).collect();
        items.push(PromptItem::plain(&truncate(&format!("({rule})"), room)));
        out.extend(flow_items(&items, room));
    }
    out
}

/// Groups the answers that store the same rule.
fn group_by_rule<'c, 'q>(
    question: &PermissionQuestion,
    choices: &'c [AnswerChoice<'q>],
) -> Vec<(String, Vec<&'c AnswerChoice<'q>>)> {
    let mut groups: Vec<(String, Vec<&AnswerChoice<'q>>)> = Vec::new();
    for choice in choices {
        let Some(rule) = choice.offer.map(|offer| rule_summary(question, offer)) else {
            continue;
        };
        match groups.iter_mut().find(|(other, _)| *other == rule) {
            Some((_, group)) => group.push(choice),
            None => groups.push((rule, vec![choice])),
        }
    }
    groups
}

/// The rule an answer stores, in a few words and without its scope.
fn rule_summary(question: &PermissionQuestion, offer: &RuleTerms) -> String {
    let (same, other): (BTreeMap<_, _>, BTreeMap<_, _>) = offer
        .matches
        .clone()
        .into_iter()
        .partition(|(name, pattern)| is_exactly(pattern, question.args.get(name)));
    let mut words = vec![rules::calls(&RuleTerms {
        path: None,
        matches: other,
        ..offer.clone()
    })];
    // The question already shows these values, so the rule names only the argument.
    words.extend(
        same.keys()
            .map(|name| format!("this exact {}", one_line(name))),
    );
    // A rule for a folder covers everything in that folder.
    let place = offer.path.as_deref().or(offer.folder.as_deref());
    let names_any = place.is_some() || offer.host.is_some() || !offer.matches.is_empty();
    words.extend(place.map(|place| format!("in {}", one_line(place))));
    if !names_any {
        words.push("anywhere".to_owned());
    }
    words.join(" ")
}

/// Returns true when a pattern matches only this value: it has no `*`, and `\` escapes.
fn is_exactly(pattern: &str, value: Option<&Value>) -> bool {
    let mut plain = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // A wildcard matches other values too.
            '*' => return false,
            '\\' => plain.extend(letters.next()),
            other => plain.push(other),
        }
    }
    value.and_then(Value::as_str) == Some(plain.as_str())
}

/// An entry on the line of keys.
struct PromptItem {
    text: String,
    columns: usize,
}

impl PromptItem {
    fn new(key: char, words: &str, screen: &ScreenStyle) -> PromptItem {
        let key = format!("[{key}]");
        PromptItem {
            columns: width(&key) + 1 + width(words),
            text: format!("{} {words}", screen.paint(TextTone::Command, &key)),
        }
    }

    fn of(choice: &AnswerChoice<'_>, screen: &ScreenStyle) -> PromptItem {
        PromptItem::new(choice.key, choice.words, screen)
    }

    fn plain(words: &str) -> PromptItem {
        PromptItem {
            columns: width(words),
            text: words.to_owned(),
        }
    }
}

/// Arranges items side by side in lines of at most `room` columns.
fn flow_items(items: &[PromptItem], room: usize) -> Vec<String> {
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

/// The complete question: the whole preview, the arguments, and the rule that each answer stores.
fn detail_lines(question: &PermissionQuestion, screen: &ScreenStyle) -> Vec<String> {
    let columns = screen.width.unwrap_or(usize::MAX);
    let room = columns.saturating_sub(4);
    let mut out = vec![String::new()];
    let heading = format!("Details: {}", lines::sentence(&question.sentence));
    out.extend(paint_lines(
        &wrap(&heading, columns),
        TextTone::Warning,
        screen,
    ));
    for (line, tone) in toned_preview(question) {
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
        format!("Digest {}", one_line(&question.digest)),
        "Ctrl-C stops the run.".to_owned(),
    ];
    for line in about {
        let pieces = wrap(&line, room.saturating_add(2)).into_iter();
        out.extend(pieces.map(|piece| screen.paint(TextTone::Quiet, &format!("  {piece}"))));
    }
    for choice in choices(question) {
        let Some(offer) = choice.offer else { continue };
        let key = screen.paint(TextTone::Command, &format!("[{}]", choice.key));
        out.push(format!("  {key} {} stores this rule:", choice.words));
        out.extend(rule_command(offer, room.saturating_sub(2)));
    }
    out
}

/// The command that stores a rule, broken between its flags.
fn rule_command(offer: &RuleTerms, room: usize) -> Vec<String> {
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

/// The lines of the preview with their tones.
fn toned_preview(question: &PermissionQuestion) -> Vec<(String, Option<TextTone>)> {
    let mut is_change = false;
    let lines = safe_lines(question.preview.as_deref().unwrap_or_default()).into_iter();
    let toned = lines.map(|line| {
        let tone = match line.as_str() {
            it if it.starts_with("@@") => {
                is_change = true;
                Some(TextTone::Command)
            }
            it if it.starts_with("--- ") || it.starts_with("+++ ") => {
                is_change = true;
                Some(TextTone::Heading)
            }
            // `+` and `-` mark changes only inside a diff.
            it if is_change && it.starts_with('+') => Some(TextTone::Good),
            it if is_change && it.starts_with('-') => Some(TextTone::Bad),
            it if it.starts_with("tool: ") || it.starts_with("folder: ") => Some(TextTone::Quiet),
            _ => None,
        };
        (line, tone)
    });
    toned.collect()
}

fn paint(tone: Option<TextTone>, text: &str, screen: &ScreenStyle) -> String {
    match tone {
        Some(tone) => screen.paint(tone, text),
        None => text.to_owned(),
    }
}

fn paint_lines(lines: &[String], tone: TextTone, screen: &ScreenStyle) -> Vec<String> {
    lines.iter().map(|line| screen.paint(tone, line)).collect()
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
