//! The top of a chat: where it stands, and what was said last.

use super::words::{cut, one_line, prose_line};
use super::{Screen, Tone};
use hob_wire::content::{Content, Part, Role};
use hob_wire::rooms::agent::RunParams;
use hob_wire::rooms::session::Messages;

/// Columns of the speaker before an earlier line.
const SPEAKER: usize = 5;

pub fn greeting(params: &RunParams, earlier: Option<&Messages>, screen: &Screen) -> Vec<String> {
    let key = one_line(&params.session_key);
    let model = params.model.as_deref().map(one_line);
    let model = model.map_or_else(String::new, |model| format!(" with {model}"));
    let title = screen.paint(Tone::Heading, &format!("hob chat · {key}{model}"));
    let mut out = vec![format!(
        "{title}  {}",
        screen.paint(Tone::Quiet, "/help lists commands")
    )];
    let Some(page) = earlier else {
        return out;
    };
    let lines: Vec<String> = page
        .messages
        .iter()
        .filter_map(|message| {
            let said = said(&message.content)?;
            let who = match message.role {
                Role::User => "you",
                Role::Assistant => "hob",
                Role::System | Role::Tool => return None,
            };
            let room = screen.width.unwrap_or(80).saturating_sub(SPEAKER);
            let line = format!("{who:<SPEAKER$}{}", cut(&said, room));
            Some(screen.paint(Tone::Quiet, &line))
        })
        .collect();
    if lines.is_empty() {
        return out;
    }
    if page.next.is_some() {
        let more = format!("…    earlier: hob session history {key}");
        out.push(screen.paint(Tone::Quiet, &more));
    }
    out.extend(lines);
    out
}

/// The words of a message on one line.
fn said(content: &Content) -> Option<String> {
    let text = match content {
        Content::Text(text) => prose_line(text.trim()),
        Content::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(prose_line(text.trim())),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(" ")
        }
    };
    (!text.is_empty()).then_some(text)
}
