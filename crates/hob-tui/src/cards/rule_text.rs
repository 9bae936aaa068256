//! The rule that an answer stores, in a few words. Pure.

use hob_client::visible_text::visible;
use hob_wire::rooms::permission::{PermissionQuestion, RuleTerms};
use serde_json::Value;

/// The rule without its scope: `exec command=cargo test *`.
pub(super) fn rule_summary(question: &PermissionQuestion, offer: &RuleTerms) -> String {
    let tool = match offer.tool.as_str() {
        "*" => "every tool".to_owned(),
        name => one_line(name),
    };
    let mut words = vec![tool];
    for (name, pattern) in &offer.matches {
        // The question already shows this value, so the rule names only the argument.
        words.push(if is_exactly(pattern, question.args.get(name)) {
            format!("this exact {}", one_line(name))
        } else {
            format!("{}={}", one_line(name), one_line(pattern))
        });
    }
    words.extend(offer.host.as_deref().map(|host| match host {
        "*" => "at any host".to_owned(),
        host => format!("at {}", one_line(host)),
    }));
    let place = offer.path.as_deref().or(offer.folder.as_deref());
    words.extend(place.map(|place| format!("in {}", one_line(place))));
    for (what, limit) in [
        ("sessions", &offer.sessions),
        ("kind", &offer.kind),
        ("channel", &offer.channel),
    ] {
        words.extend(
            limit
                .as_deref()
                .map(|it| format!("{what}={}", one_line(it))),
        );
    }
    if place.is_none() && offer.host.is_none() && offer.matches.is_empty() {
        words.push("anywhere".to_owned());
    }
    words.join(" ")
}

/// A name from outside on one line, with nothing invisible in it.
pub(super) fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " "))
}

/// Returns true when a pattern matches only this value: it has no `*`, and `\` escapes.
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
