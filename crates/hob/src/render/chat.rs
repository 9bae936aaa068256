//! The header of a chat: its session, model and folder, and the latest messages.

use super::text::{one_line, prose_line, truncate, wrap};
use super::{ScreenStyle, TextTone};
use hob_wire::content::{ContentPart, MessageContent, Role};
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::rooms::session::SessionMessages;

/// The columns of the speaker before an earlier line.
const SPEAKER: usize = 5;

/// The model and the folder of a chat, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct ChatPlace {
    pub model: Option<String>,
    pub folder: Option<String>,
}

pub fn greeting(
    params: &AgentRunParams,
    place: &ChatPlace,
    earlier: Option<&SessionMessages>,
    screen: &ScreenStyle,
) -> Vec<String> {
    let key = one_line(&params.session_key);
    let title = screen.paint(TextTone::Heading, &format!("hob chat · {key}"));
    let mut out = vec![format!(
        "{title}  {}",
        screen.paint(TextTone::Quiet, "/help lists commands")
    )];
    let model = place.model.as_deref().map(one_line);
    let mut facts = vec![model.unwrap_or_else(|| "no model yet".to_owned())];
    facts.extend(place.folder.as_deref().map(one_line));
    let room = screen.width.unwrap_or(80);
    let facts = wrap(&facts.join(" · "), room).into_iter();
    out.extend(facts.map(|line| screen.paint(TextTone::Quiet, &line)));
    let Some(page) = earlier else {
        return out;
    };
    let lines: Vec<String> = page
        .messages
        .iter()
        .filter_map(|message| {
            let line_text = message_line(&message.content)?;
            let who = match message.role {
                Role::User => "you",
                Role::Assistant => "hob",
                Role::System | Role::Tool => return None,
            };
            let room = screen.width.unwrap_or(80).saturating_sub(SPEAKER);
            let line = format!("{who:<SPEAKER$}{}", truncate(&line_text, room));
            Some(screen.paint(TextTone::Quiet, &line))
        })
        .collect();
    if lines.is_empty() {
        return out;
    }
    if page.next.is_some() {
        let more = format!("…    earlier: hob session history {key}");
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out.extend(lines);
    out
}

/// The text of a message on one line.
fn message_line(content: &MessageContent) -> Option<String> {
    let text = match content {
        MessageContent::Text(text) => prose_line(text.trim()),
        MessageContent::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::Text { text } => Some(prose_line(text.trim())),
                _ => None,
            });
            texts.collect::<Vec<_>>().join(" ")
        }
    };
    (!text.is_empty()).then_some(text)
}
