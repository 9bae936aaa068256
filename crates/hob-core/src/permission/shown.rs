//! What a person is shown of a call before they say yes. Text from a model or a tool stands in it
//! as data: nothing in it can hide, reorder or imitate a letter without being seen.
//!
//! Invariants: no control, format, bidirectional, private or look-alike character comes out as
//! itself; every text is bounded, and a cut says how much is missing.

use super::canonical::canonical;
use hob_wire::work::{ToolContext, ToolSpec};
use serde_json::Value;
use std::fmt::Write;

/// Letters of one argument in the sentence.
const ARGUMENT_CHARS_MAX: usize = 200;
/// Letters of the whole sentence.
const SENTENCE_CHARS_MAX: usize = 1_000;
/// Letters of the preview.
const PREVIEW_CHARS_MAX: usize = 16_000;

/// The tool's approval sentence with the arguments in their places: `Write "notes.md"`. What
/// stands in square brackets around an argument is left out with an argument that is missing.
pub fn sentence(tool: &ToolSpec, args: &Value) -> String {
    let mut out = String::new();
    let mut rest = tool.approval.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        let Some((part, after)) = after.split_once(']') else {
            break;
        };
        filled(&mut out, before, args);
        match part.split_once('{').and_then(|(_, it)| it.split_once('}')) {
            None => filled(&mut out, &format!("[{part}]"), args),
            Some((name, _)) if args.get(name).is_none_or(Value::is_null) => {}
            Some(_) => filled(&mut out, part, args),
        }
        rest = after;
    }
    filled(&mut out, rest, args);
    bounded(&out, SENTENCE_CHARS_MAX)
}

/// Adds words with the arguments in their places.
fn filled(out: &mut String, words: &str, args: &Value) {
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(&escaped(before));
        out.push_str(&argument(args.get(name)));
        rest = after;
    }
    out.push_str(&escaped(rest));
}

/// Exactly what will run: the tool, its folder and all its arguments, one a line.
pub fn preview(tool: &ToolSpec, args: &Value, context: &ToolContext) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    match args {
        Value::Object(fields) => {
            for (name, value) in fields {
                lines.push(format!("{}: {}", escaped(name), escaped(&canonical(value))));
            }
        }
        other => lines.push(format!("arguments: {}", escaped(&canonical(other)))),
    }
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

/// What a call would change, as its tool says it, line by line below the tool and its folder.
pub fn preview_of_change(tool: &ToolSpec, context: &ToolContext, change: &str) -> String {
    let mut lines = vec![format!("tool: {}", escaped(&tool.name))];
    if let Some(workspace) = &context.workspace {
        lines.push(format!("folder: {}", escaped(workspace)));
    }
    lines.extend(change.trim_end_matches('\n').split('\n').map(escaped));
    bounded(&lines.join("\n"), PREVIEW_CHARS_MAX)
}

fn argument(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "(nothing)".to_owned(),
        Some(Value::String(text)) => {
            let text = escaped(text).replace('"', "\\\"");
            format!("\"{}\"", bounded(&text, ARGUMENT_CHARS_MAX))
        }
        Some(other) => bounded(&escaped(&canonical(other)), ARGUMENT_CHARS_MAX),
    }
}

fn bounded(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let more = text[cut..].chars().count();
            format!("{}… ({more} more characters)", &text[..cut])
        }
    }
}

/// Text with every deceiving character as `\u{…}` and every backslash doubled.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() && !is_hidden(letter) {
            word.push(letter);
            continue;
        }
        push_word(&mut out, &mut word);
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other if is_hidden(other) || imitates_a_sign(other) => escape(&mut out, other),
            other => out.push(other),
        }
    }
    push_word(&mut out, &mut word);
    out
}

/// A word in plain ASCII, or plainly of another script, stands as it is. One that mixes ASCII with
/// letters that look like it, or is made of such letters alone, shows each of them.
fn push_word(out: &mut String, word: &mut String) {
    let imitating = word.chars().any(imitates_a_letter);
    let has_ascii = word.chars().any(|letter| letter.is_ascii_alphanumeric());
    let honest = |letter: char| !letter.is_ascii() && !imitates_a_letter(letter);
    let deceives = imitating && (has_ascii || !word.chars().any(honest));
    for letter in word.chars() {
        if is_styled(letter) || (deceives && imitates_a_letter(letter)) {
            escape(out, letter);
        } else {
            out.push(letter);
        }
    }
    word.clear();
}

fn escape(out: &mut String, letter: char) {
    // Writing to a text cannot fail.
    let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
}

/// Characters that are not seen, or that move what is.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || (letter.is_whitespace() && letter != ' ')
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{10ffff}')
        // Marks that stack on the letter before them.
        || matches!(letter, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Signs that look like one of ASCII: slashes, dots, dashes, quotes.
fn imitates_a_sign(letter: char) -> bool {
    matches!(letter,
        '\u{2010}'..='\u{2015}' | '\u{2018}'..='\u{201f}' | '\u{2024}' | '\u{2044}' | '\u{2212}'
        | '\u{2215}' | '\u{2216}' | '\u{2223}' | '\u{2236}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}'
        | '\u{2cb}' | '\u{2ca}' | '\u{37e}' | '\u{387}' | '\u{589}' | '\u{5c3}' | '\u{701}'
        | '\u{a789}' | '\u{fe52}' | '\u{fe68}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff5e}')
}

/// ASCII letters and digits in another dress.
fn is_styled(letter: char) -> bool {
    matches!(letter, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}'
        | '\u{2100}'..='\u{214f}')
}

/// Letters of other scripts that look like one of ASCII.
fn imitates_a_letter(letter: char) -> bool {
    const LIKE_ASCII: &str = concat!(
        // Cyrillic
        "аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХУІЈЅԌԜ",
        // Greek
        "οανρυικχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        // Armenian, Latin beyond ASCII, Cherokee
        "օոսցհզԼՏՍɑɡıſʟɩƖᎠᎡᎢᎪᎬᎳᎷᎻᏀᏃᏎᏔᏙᏚᏞᏟᏢᏦᏴ"
    );
    LIKE_ASCII.contains(letter)
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
