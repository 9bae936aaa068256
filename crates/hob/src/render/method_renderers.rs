//! Renderers of methods whose results need more than the generic format.

use super::table::TextTable;
use super::text::{self, count_noun, one_line, safe_lines};
use super::value::{self, cell};
use super::{ScreenStyle, TextTone, model, model_files, time, tool};
use hob_wire::content::{ContentPart, Message, MessageContent, Role};
use hob_wire::rooms::gateway::{
    GatewayDescribeResult, GatewayInspectResult, GatewayTraceResult, MethodDescription,
};
use hob_wire::rooms::session::{
    SessionCreateResult, SessionDeleteResult, SessionDraftResult, SessionForkResult,
    SessionListResult, SessionMessages, SessionSendResult,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub type ResultRenderer = fn(&Value, &ScreenStyle) -> Vec<String>;

/// The renderer of a method, if it has its own.
pub fn renderer(method: &str) -> Option<ResultRenderer> {
    match method {
        "session.create" => Some(|value, screen| typed(value, screen, created)),
        "session.fork" => Some(|value, screen| typed(value, screen, forked)),
        "session.list" => Some(|value, screen| typed(value, screen, sessions)),
        "session.history" => Some(|value, screen| typed(value, screen, history)),
        "session.send" => Some(|value, screen| typed(value, screen, sent)),
        "session.draft" => Some(|value, screen| typed(value, screen, draft)),
        "session.delete" => Some(|value, screen| typed(value, screen, deleted)),
        "model.list" => Some(|value, screen| typed(value, screen, model::list)),
        "model.add" => Some(|value, screen| typed(value, screen, model::added)),
        "model.remove" => Some(|value, screen| typed(value, screen, model::removed)),
        "model.set" => Some(|value, screen| typed(value, screen, model::set)),
        "model.test" => Some(|value, screen| typed(value, screen, model::tested)),
        "model.catalog" => Some(|value, screen| typed(value, screen, model_files::catalog)),
        "model.downloads" => Some(|value, screen| typed(value, screen, model_files::downloads)),
        "model.abort" => Some(|value, screen| typed(value, screen, model_files::aborted)),
        "model.delete" => Some(|value, screen| typed(value, screen, model_files::deleted)),
        "tool.list" => Some(|value, screen| typed(value, screen, tool::list)),
        "gateway.inspect" => Some(|value, screen| typed(value, screen, inspection)),
        "gateway.trace" => Some(|value, screen| typed(value, screen, traced)),
        "gateway.describe" => Some(|value, screen| typed(value, screen, description)),
        _ => None,
    }
}

/// Formats a result by its type. A result that does not parse, as from a newer daemon, is formatted
/// generically.
fn typed<T: DeserializeOwned>(
    result: &Value,
    screen: &ScreenStyle,
    draw: fn(&T, &ScreenStyle) -> Vec<String>,
) -> Vec<String> {
    match T::deserialize(result) {
        Ok(known) => draw(&known, screen),
        Err(_) => value::lines(result, screen),
    }
}

fn created(created: &SessionCreateResult, _: &ScreenStyle) -> Vec<String> {
    let key = one_line(&created.session.session_key);
    if created.created {
        return vec![format!("Created {key}.")];
    }
    let messages = count_noun(created.session.messages, "message");
    vec![format!(
        "{key} already exists, with {messages}; nothing was changed."
    )]
}

fn forked(fork: &SessionForkResult, _: &ScreenStyle) -> Vec<String> {
    let key = one_line(&fork.session.session_key);
    let copied = count_noun(fork.copied, "message");
    vec![if fork.created {
        format!("Created {key} with {copied}. Go on there: hob chat --session {key}")
    } else {
        format!("{key} is this fork already, made with {copied}; nothing was changed.")
    }]
}

fn draft(found: &SessionDraftResult, _: &ScreenStyle) -> Vec<String> {
    if found.draft.is_empty() {
        return vec!["No draft.".to_owned()];
    }
    safe_lines(&found.draft)
}

fn sent(sent: &SessionSendResult, _: &ScreenStyle) -> Vec<String> {
    vec![format!(
        "Message {} is on disk ({}).",
        sent.seq, sent.message_id
    )]
}

fn deleted(deleted: &SessionDeleteResult, _: &ScreenStyle) -> Vec<String> {
    let messages = count_noun(deleted.messages, "message");
    vec![format!("Deleted {} with {messages}.", deleted.id)]
}

fn sessions(page: &SessionListResult, screen: &ScreenStyle) -> Vec<String> {
    if page.sessions.is_empty() {
        return vec!["No sessions yet. Begin one: hob chat".to_owned()];
    }
    let mut table = TextTable::new()
        .column("SESSION")
        .column("TITLE")
        .column("LAST USED")
        .number("MESSAGES")
        .lesser()
        .column("KIND")
        .lesser();
    for session in &page.sessions {
        table.row(vec![
            one_line(&session.session_key),
            // A label is the person's own title.
            one_line(
                session
                    .label
                    .as_deref()
                    .or(session.title.as_deref())
                    .unwrap_or_default(),
            ),
            time::short(session.updated_at, screen),
            session.messages.to_string(),
            one_line(&session.kind),
        ]);
    }
    let mut lines = table.lines(screen);
    if let Some(next) = &page.next {
        let more = format!("More: hob session list --before {next}");
        lines.push(screen.paint(TextTone::Quiet, &more));
    }
    lines
}

fn history(page: &SessionMessages, screen: &ScreenStyle) -> Vec<String> {
    if page.messages.is_empty() {
        return vec!["No messages yet.".to_owned()];
    }
    let mut lines = Vec::new();
    if let Some(before) = page.next {
        let more = format!("Older messages: add --before {before}");
        lines.push(screen.paint(TextTone::Quiet, &more));
        lines.push(String::new());
    }
    for (index, message) in page.messages.iter().enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        lines.extend(message_lines(message, screen));
    }
    lines
}

fn message_lines(message: &Message, screen: &ScreenStyle) -> Vec<String> {
    let (who, tone) = match message.role {
        Role::User => ("you", TextTone::Command),
        Role::Assistant => ("hob", TextTone::Good),
        Role::System => ("system", TextTone::Quiet),
        Role::Tool => ("tool", TextTone::Warning),
    };
    let when = format!("{} · {}", time::short(message.at, screen), message.seq);
    let heading = format!(
        "{}  {}",
        screen.paint(tone, who),
        screen.paint(TextTone::Quiet, &when)
    );
    let room = screen
        .width
        .map(|columns| columns.saturating_sub(2).max(20));
    let mut lines = vec![heading];
    for line in content_lines(&message.content) {
        let wrapped = match room {
            Some(room) => text::wrap(&line, room),
            None => vec![line],
        };
        lines.extend(wrapped.into_iter().map(|line| {
            let indented = format!("  {line}");
            indented.trim_end().to_owned()
        }));
    }
    lines
}

fn content_lines(content: &MessageContent) -> Vec<String> {
    match content {
        MessageContent::Text(text) => safe_lines(text),
        MessageContent::Parts(parts) => parts.iter().flat_map(part_lines).collect(),
    }
}

fn part_lines(part: &ContentPart) -> Vec<String> {
    match part {
        ContentPart::Text { text } => safe_lines(text),
        ContentPart::Thinking { text, .. } => {
            let lines = safe_lines(text).into_iter();
            lines.map(|line| format!("(thinks) {line}")).collect()
        }
        ContentPart::Image { mime_type, data } => {
            let bytes = u64::try_from(data.len() / 4 * 3).unwrap_or(u64::MAX);
            vec![format!(
                "[picture, {}, {}]",
                one_line(mime_type),
                text::bytes(bytes)
            )]
        }
        ContentPart::ToolCall(call) => {
            vec![format!(
                "→ {} {}",
                one_line(&call.name),
                one_line(&call.args.to_string())
            )]
        }
        ContentPart::ToolResult(result) => {
            let mark = if result.is_error { "✗" } else { "←" };
            let lines = result.content.iter().flat_map(part_lines);
            lines.map(|line| format!("{mark} {line}")).collect()
        }
    }
}

fn inspection(inspection: &GatewayInspectResult, screen: &ScreenStyle) -> Vec<String> {
    let mut services = TextTable::new()
        .column("SERVICE")
        .column("VERSION")
        .column("FROM")
        .number("WAITING")
        .column("METHODS");
    for service in &inspection.services {
        let from = if service.builtin {
            "built-in"
        } else {
            "client"
        };
        services.row(vec![
            one_line(&service.name),
            one_line(&service.version),
            from.to_owned(),
            service.pending_requests.to_string(),
            one_line(&service.methods.join(" ")),
        ]);
    }
    let mut connections = TextTable::new()
        .number("CONNECTION")
        .column("NAME")
        .column("BY")
        .column("SCOPES")
        .column("SINCE")
        .number("QUEUED")
        .column("LISTENS TO");
    for connection in &inspection.connections {
        connections.row(vec![
            connection.id.to_string(),
            one_line(&connection.name),
            one_line(&connection.surface),
            one_line(&connection.scopes.join(",")),
            time::short(connection.connected_at, screen),
            connection.outbox_frames.to_string(),
            one_line(&connection.subscriptions.join(" ")),
        ]);
    }
    let mut lines = services.lines(screen);
    lines.push(String::new());
    lines.extend(connections.lines(screen));
    lines
}

fn traced(traced: &GatewayTraceResult, screen: &ScreenStyle) -> Vec<String> {
    if traced.spans.is_empty() {
        return vec!["No such request; only the latest are kept.".to_owned()];
    }
    let mut table = TextTable::new()
        .column("AT")
        .number("TOOK")
        .column("TRACE")
        .column("METHOD")
        .column("CALLER")
        .column("ERROR");
    for span in &traced.spans {
        table.row(vec![
            time::clock(span.started_at, screen),
            time::micros(span.micros),
            one_line(&span.trace),
            one_line(&span.method),
            one_line(&span.caller),
            one_line(span.error.as_deref().unwrap_or_default()),
        ]);
    }
    table.lines(screen)
}

fn description(description: &GatewayDescribeResult, screen: &ScreenStyle) -> Vec<String> {
    if let [method] = &description.methods[..] {
        return method_lines(method, screen);
    }
    let mut methods = TextTable::new()
        .column("METHOD")
        .column("NEEDS")
        .column("WHAT IT DOES");
    for method in &description.methods {
        let scope = method.scope.map_or("control", hob_wire::Scope::as_str);
        methods.row(vec![
            one_line(&method.name),
            scope.to_owned(),
            first_line(&method.summary),
        ]);
    }
    let mut lines = methods.lines(screen);
    lines.push(String::new());
    let mut events = TextTable::new()
        .column("EVENT")
        .column("NEEDS")
        .column("WHAT IT SAYS");
    for event in &description.events {
        let scope = event.scope.map_or("read", hob_wire::Scope::as_str);
        events.row(vec![
            one_line(&event.topic),
            scope.to_owned(),
            first_line(&event.summary),
        ]);
    }
    lines.extend(events.lines(screen));
    lines.push(String::new());
    let advice = "One method with its schemas: hob gateway describe METHOD";
    lines.push(screen.paint(TextTone::Quiet, advice));
    lines
}

fn method_lines(method: &MethodDescription, screen: &ScreenStyle) -> Vec<String> {
    let mut lines = vec![screen.paint(TextTone::Heading, &one_line(&method.name))];
    let columns = screen.width.unwrap_or(80);
    for paragraph in method.summary.split("\n\n").map(one_line) {
        lines.extend(text::wrap(&paragraph, columns));
    }
    let scope = method.scope.map_or("control", hob_wire::Scope::as_str);
    let service = one_line(&method.service);
    lines.push(format!("Served by {service}, needs scope {scope}."));
    for (heading, schema) in [("Params", &method.params), ("Result", &method.result)] {
        let Some(schema) = schema else {
            continue;
        };
        lines.push(String::new());
        lines.push(screen.paint(TextTone::Heading, heading));
        let text = serde_json::to_string_pretty(schema);
        let text = text.unwrap_or_else(|_| cell("", schema, screen));
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

fn first_line(summary: &str) -> String {
    one_line(summary.lines().next().unwrap_or_default())
}
