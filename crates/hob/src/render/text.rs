//! Text formatting: name styles, column widths, wrapping, and safe output.
//!
//! Text from outside must pass one of these functions before it reaches a terminal: [`one_line`] for
//! names, labels and arguments, in which no character may be invisible or look like another;
//! [`prose_line`], [`safe_lines`] and [`replace_hidden`] for prose and output, which keep emoji.

pub use hob_core::amounts::{bytes, count_noun};
pub use hob_core::visible_text::one_line;

/// `sessionKey` as a flag: `session-key`.
pub fn kebab(name: &str) -> String {
    separated(name, '-')
}

/// `sessionKey` as a label: `Session key`.
pub fn label(name: &str) -> String {
    sentence_case(&separated(name, ' '))
}

/// Text with a capital first letter.
pub fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `sessionKey` as a table heading: `SESSION KEY`.
pub fn heading(name: &str) -> String {
    separated(name, ' ').to_uppercase()
}

/// `sessionKey` as a placeholder: `SESSION_KEY`.
pub fn screaming_snake(name: &str) -> String {
    separated(name, '_').to_uppercase()
}

fn separated(name: &str, separator: char) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push(separator);
        }
        if letter == '_' || letter == '-' || letter == '.' {
            out.push(separator);
        } else {
            out.extend(letter.to_lowercase());
        }
    }
    out
}

/// Prose or output from outside on one line.
pub fn prose_line(text: &str) -> String {
    replace_hidden(&text.replace(['\n', '\r', '\t'], " "))
}

/// The lines of prose from outside, each made safe.
pub fn safe_lines(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| replace_hidden(&line.replace('\t', "    ")));
    lines.collect()
}

/// Replaces characters that move the cursor or hide text; keeps line breaks and tabs.
pub fn replace_hidden(text: &str) -> String {
    text.chars()
        .filter(|letter| *letter != '\r')
        .map(|letter| match letter {
            '\n' | '\t' => letter,
            hidden if is_hidden(hidden) => '\u{fffd}',
            shown => shown,
        })
        .collect()
}

fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The columns of a text: one for most characters, two for East Asian wide ones and pictographs,
/// none for combining marks.
pub fn width(text: &str) -> usize {
    text.chars().map(letter_width).sum()
}

fn letter_width(letter: char) -> usize {
    match letter as u32 {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Truncates text to `columns` and ends it with `…`.
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut taken = 0;
    for letter in text.chars() {
        let wide = letter_width(letter);
        if taken + wide > columns.saturating_sub(1) {
            break;
        }
        taken += wide;
        out.push(letter);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Wraps text at spaces into lines of at most `columns`. A text that fits keeps its indentation.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        let joined = width(&line) + usize::from(!line.is_empty()) + width(&word);
        if !line.is_empty() && joined > columns {
            lines.push(std::mem::take(&mut line));
        }
        while line.is_empty() && width(&word) > columns {
            let head: String = take_columns(&word, columns);
            word = word[head.len()..].to_owned();
            lines.push(head);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}

fn take_columns(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += letter_width(*letter);
        taken <= columns.max(2)
    };
    text.chars().take_while(fits).collect()
}

/// Pads on the right to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Pads on the left to `columns`.
pub fn pad_left(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{}{text}", " ".repeat(missing))
}

/// A number with thousands separators: `1,234,567`.
pub fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats millionths of a dollar, small amounts with more digits: `$12.40`, `$0.0312`, `$0.00004`.
pub fn dollars(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    match micro {
        0 => "$0".to_owned(),
        1..10_000 => {
            let digits = format!("{part:06}");
            let kept = digits.trim_end_matches('0').len().max(4);
            format!("$0.{}", &digits[..kept])
        }
        10_000..1_000_000 => format!("$0.{:04}", part / 100),
        _ => format!("${}.{:02}", group_thousands(whole), part / 10_000),
    }
}
