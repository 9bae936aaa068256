//! Results that people want drawn with more care than their shape alone gives.

use super::table::Table;
use super::value::{self, cell};
use super::words::{self, count, many_lines, one_line};
use super::{Screen, Tone, model, moment, tool};
use hob_wire::content::{Content, Message, Part, Role};
use hob_wire::rooms::gateway::{Description, Inspection, MethodDescription, Traced};
use hob_wire::rooms::session::{Created, Deleted, Messages, Sent, Sessions};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub type Renderer = fn(&Value, &Screen) -> Vec<String>;

/// The renderer of a method's result, if it has one of its own.
pub fn renderer(method: &str) -> Option<Renderer> {
    match method {
        "session.create" => Some(|value, screen| typed(value, screen, created)),
        "session.list" => Some(|value, screen| typed(value, screen, sessions)),
        "session.history" => Some(|value, screen| typed(value, screen, history)),
        "session.send" => Some(|value, screen| typed(value, screen, sent)),
        "session.delete" => Some(|value, screen| typed(value, screen, deleted)),
        "model.list" => Some(|value, screen| typed(value, screen, model::list)),
        "model.add" => Some(|value, screen| typed(value, screen, model::added)),
        "model.remove" => Some(|value, screen| typed(value, screen, model::removed)),
        "model.set" => Some(|value, screen| typed(value, screen, model::set)),
        "model.test" => Some(|value, screen| typed(value, screen, model::tested)),
        "tool.list" => Some(|value, screen| typed(value, screen, tool::list)),
        "gateway.inspect" => Some(|value, screen| typed(value, screen, inspection)),
        "gateway.trace" => Some(|value, screen| typed(value, screen, traced)),
        "gateway.describe" => Some(|value, screen| typed(value, screen, description)),
        _ => None,
    }
}

/// Draws a result by its type; one that does not fit (a newer daemon's) is drawn by its shape.
fn typed<T: DeserializeOwned>(
    result: &Value,
    screen: &Screen,
    draw: fn(&T, &Screen) -> Vec<String>,
) -> Vec<String> {
    match T::deserialize(result) {
        Ok(known) => draw(&known, screen),
        Err(_) => value::lines(result, screen),
    }
}

fn created(created: &Created, _: &Screen) -> Vec<String> {
    let key = one_line(&created.session.session_key);
    if created.created {
        return vec![format!("Created {key}.")];
    }
    let messages = count(created.session.messages, "message");
    vec![format!(
        "{key} was there already, with {messages}; nothing of it changed."
    )]
}

fn sent(sent: &Sent, _: &Screen) -> Vec<String> {
    vec![format!(
        "Message {} is on disk ({}).",
        sent.seq, sent.message_id
    )]
}

fn deleted(deleted: &Deleted, _: &Screen) -> Vec<String> {
    let messages = count(deleted.messages, "message");
    vec![format!("Deleted {} with {messages}.", deleted.id)]
}

fn sessions(page: &Sessions, screen: &Screen) -> Vec<String> {
    if page.sessions.is_empty() {
        return vec!["No sessions yet. Make one: hob session create chat:main".to_owned()];
    }
    let mut table = Table::new()
        .column("SESSION")
        .column("KIND")
        .number("MESSAGES")
        .column("LAST USED")
        .column("LABEL");
    for session in &page.sessions {
        table.row(vec![
            one_line(&session.session_key),
            one_line(&session.kind),
            session.messages.to_string(),
            moment::short(session.updated_at, screen),
            one_line(session.label.as_deref().unwrap_or_default()),
        ]);
    }
    let mut lines = table.lines(screen);
    if let Some(next) = &page.next {
        let more = format!("More: hob session list --before {next}");
        lines.push(screen.paint(Tone::Quiet, &more));
    }
    lines
}

fn history(page: &Messages, screen: &Screen) -> Vec<String> {
    if page.messages.is_empty() {
        return vec!["No messages yet.".to_owned()];
    }
    let mut lines = Vec::new();
    if let Some(before) = page.next {
        let more = format!("Older messages: add --before {before}");
        lines.push(screen.paint(Tone::Quiet, &more));
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

fn message_lines(message: &Message, screen: &Screen) -> Vec<String> {
    let (who, tone) = match message.role {
        Role::User => ("you", Tone::Command),
        Role::Assistant => ("hob", Tone::Good),
        Role::System => ("system", Tone::Quiet),
        Role::Tool => ("tool", Tone::Warning),
    };
    let when = format!("{} · {}", moment::short(message.at, screen), message.seq);
    let heading = format!(
        "{}  {}",
        screen.paint(tone, who),
        screen.paint(Tone::Quiet, &when)
    );
    let room = screen
        .width
        .map(|columns| columns.saturating_sub(2).max(20));
    let mut lines = vec![heading];
    for line in content_lines(&message.content) {
        let wrapped = match room {
            Some(room) => words::wrap(&line, room),
            None => vec![line],
        };
        lines.extend(wrapped.into_iter().map(|line| {
            let indented = format!("  {line}");
            indented.trim_end().to_owned()
        }));
    }
    lines
}

fn content_lines(content: &Content) -> Vec<String> {
    match content {
        Content::Text(text) => many_lines(text),
        Content::Parts(parts) => parts.iter().flat_map(part_lines).collect(),
    }
}

fn part_lines(part: &Part) -> Vec<String> {
    match part {
        Part::Text { text } => many_lines(text),
        Part::Thinking { text, .. } => {
            let lines = many_lines(text).into_iter();
            lines.map(|line| format!("(thinks) {line}")).collect()
        }
        Part::Image { mime_type, data } => {
            let bytes = u64::try_from(data.len() / 4 * 3).unwrap_or(u64::MAX);
            vec![format!(
                "[picture, {}, {}]",
                one_line(mime_type),
                words::bytes(bytes)
            )]
        }
        Part::ToolCall(call) => {
            vec![format!(
                "→ {} {}",
                one_line(&call.name),
                one_line(&call.args.to_string())
            )]
        }
        Part::ToolResult(result) => {
            let mark = if result.is_error { "✗" } else { "←" };
            let lines = result.content.iter().flat_map(part_lines);
            lines.map(|line| format!("{mark} {line}")).collect()
        }
    }
}

fn inspection(inspection: &Inspection, screen: &Screen) -> Vec<String> {
    let mut services = Table::new()
        .column("SERVICE")
        .column("VERSION")
        .column("FROM")
        .number("WAITING")
        .column("METHODS");
    for service in &inspection.services {
        let from = if service.builtin { "house" } else { "outside" };
        services.row(vec![
            one_line(&service.name),
            one_line(&service.version),
            from.to_owned(),
            service.pending_requests.to_string(),
            one_line(&service.methods.join(" ")),
        ]);
    }
    let mut connections = Table::new()
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
            moment::short(connection.connected_at, screen),
            connection.outbox_frames.to_string(),
            one_line(&connection.subscriptions.join(" ")),
        ]);
    }
    let mut lines = services.lines(screen);
    lines.push(String::new());
    lines.extend(connections.lines(screen));
    lines
}

fn traced(traced: &Traced, screen: &Screen) -> Vec<String> {
    if traced.spans.is_empty() {
        return vec!["No such request is remembered; only the latest are.".to_owned()];
    }
    let mut table = Table::new()
        .column("AT")
        .number("TOOK")
        .column("TRACE")
        .column("METHOD")
        .column("CALLER")
        .column("ERROR");
    for span in &traced.spans {
        table.row(vec![
            moment::clock(span.started_at, screen),
            moment::micros(span.micros),
            one_line(&span.trace),
            one_line(&span.method),
            one_line(&span.caller),
            one_line(span.error.as_deref().unwrap_or_default()),
        ]);
    }
    table.lines(screen)
}

fn description(description: &Description, screen: &Screen) -> Vec<String> {
    if let [method] = &description.methods[..] {
        return method_lines(method, screen);
    }
    let mut methods = Table::new()
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
    let mut events = Table::new()
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
    lines.push(screen.paint(Tone::Quiet, advice));
    lines
}

fn method_lines(method: &MethodDescription, screen: &Screen) -> Vec<String> {
    let mut lines = vec![screen.paint(Tone::Heading, &one_line(&method.name))];
    let columns = screen.width.unwrap_or(80);
    for paragraph in method.summary.split("\n\n").map(one_line) {
        lines.extend(words::wrap(&paragraph, columns));
    }
    let scope = method.scope.map_or("control", hob_wire::Scope::as_str);
    let service = one_line(&method.service);
    lines.push(format!("Served by {service}, needs scope {scope}."));
    for (heading, schema) in [("Params", &method.params), ("Result", &method.result)] {
        let Some(schema) = schema else {
            continue;
        };
        lines.push(String::new());
        lines.push(screen.paint(Tone::Heading, heading));
        let text = serde_json::to_string_pretty(schema);
        let text = text.unwrap_or_else(|_| cell("", schema, screen));
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

fn first_line(summary: &str) -> String {
    one_line(summary.lines().next().unwrap_or_default())
}
