//! `hob events`: shows bus events as they happen, or replays logged ones.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::text::{one_line, pad, truncate};
use crate::render::{ScreenStyle, TextTone, time};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_client::{BusEvent, ConnectionState, StreamItem, SubscribeOptions};
use hob_wire::rooms::gateway::{GapRange, GapReason};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The width of the topic column.
const TOPIC_COLUMNS: usize = 20;

/// Shows events as they happen, or replays logged ones.
///
/// Runs until Ctrl-C. With --since the logged events after that number come first. If the daemon
/// restarts, hob reconnects and the stream continues after the last event shown, without a gap or a
/// repeat. Give --log-id with --since: if older files were restored meanwhile, numbers are reused,
/// and only the log id shows it. Each line of --json has both.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob events",
    "hob events 'session.*' --session chat:main",
    "hob events --since 0 --count 10 --json",
]))]
pub struct EventsArgs {
    /// Topics or patterns, such as 'session.*'; all if missing.
    topic: Vec<String>,
    /// Replays the logged events after this number first.
    #[arg(long, value_name = "N")]
    since: Option<u64>,
    /// The log that --since refers to: `logId` in --json.
    #[arg(long, value_name = "ID", requires = "since")]
    log_id: Option<String>,
    /// Only events of this session, by key or id.
    #[arg(long, value_name = "SESSION_KEY")]
    session: Option<String>,
    /// Exits after this many events.
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<u64>,
}

pub async fn run(context: &CommandContext, args: EventsArgs) -> Result<(), CommandFailure> {
    let mut topics = args.topic;
    if topics.is_empty() {
        topics.push("*".to_owned());
    }
    let subscription = SubscribeOptions {
        topics,
        session: args.session,
        since: args.since,
        log_id: args.log_id,
    };
    let left = args.count.unwrap_or(u64::MAX);
    let client = context.client().await?;
    let mut stream = client.subscribe(subscription).await?;
    let mut state = stream.state();
    for _ in 0..left {
        let item = loop {
            tokio::select! {
                item = stream.next() => break item,
                Ok(()) = state.changed() => note_connection_state(&mut state),
            }
        };
        match item {
            Some(item) => print(context, &item?)?,
            None => return Ok(()),
        }
        // Flushed per event, so that the reader of a pipe sees each one at once.
        context.terminal.flush()?;
    }
    Ok(())
}

/// Notes when the daemon goes away and comes back.
fn note_connection_state(state: &mut watch::Receiver<ConnectionState>) {
    match *state.borrow_and_update() {
        ConnectionState::Searching => Terminal::note("The daemon is away; waiting for it."),
        ConnectionState::Connected => Terminal::note("The daemon is back."),
        ConnectionState::Ended => {}
    }
}

fn print(context: &CommandContext, item: &StreamItem) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    let printed = match (terminal.json, item) {
        (true, StreamItem::Event(event)) => terminal.document(&event_json(event)),
        (true, StreamItem::Gap(range)) => terminal.document(&json!({ "gap": range })),
        (false, StreamItem::Event(event)) => terminal.line(event_line(event, terminal.screen())),
        (false, StreamItem::Gap(range)) => {
            let text = gap_sentence(range);
            terminal.line(terminal.screen().paint(TextTone::Warning, &text))
        }
    };
    Ok(printed?)
}

fn gap_sentence(range: &GapRange) -> String {
    let GapRange { from, to, reason } = range;
    match reason {
        Some(GapReason::OtherLog) => format!(
            "This is a different log, for example after restoring older files: its events {from} to \
             {to} were not shown. Events shown above may not be part of this log."
        ),
        Some(GapReason::TooLarge) => format!("Event {from} is too large to be shown."),
        _ => format!("Events {from} to {to} are no longer in the log."),
    }
}

/// An event as `--json` prints it.
pub fn event_json(event: &BusEvent) -> Value {
    let mut document = json!({
        "seq": event.seq,
        "event": event.topic,
        "source": event.source,
    });
    if let Some(sub) = event.sub {
        document["sub"] = sub.into();
    }
    if let Some(payload) = payload(event) {
        document["payload"] = payload;
    }
    if let Some(log_id) = &event.log_id {
        document["logId"] = log_id.to_string().into();
    }
    document
}

/// Formats an event as one line: number, topic, time and payload.
fn event_line(event: &BusEvent, screen: &ScreenStyle) -> String {
    let place = match event.sub {
        Some(sub) => format!("{}.{sub}", event.seq),
        None => event.seq.to_string(),
    };
    let mut payload = payload(event).unwrap_or_default();
    let at = payload
        .as_object_mut()
        .and_then(|fields| fields.shift_remove("at"));
    let at = at.and_then(|at| at.as_u64());
    let at = at.map_or_else(String::new, |at| time::short(at, screen));
    let head = format!(
        "{place:>7}  {}  ",
        pad(&one_line(&event.topic), TOPIC_COLUMNS)
    );
    let rest = format!(
        "{at}{}{}",
        if at.is_empty() { "" } else { "  " },
        summary(&payload)
    );
    let room = screen
        .width
        .map(|width| width.saturating_sub(head.chars().count()).max(10));
    let rest = room.map_or_else(|| rest.clone(), |room| truncate(&rest, room));
    format!("{}{rest}", screen.paint(TextTone::Quiet, &head))
}

/// Summarizes a payload: the session first, then the fields, ids last.
fn summary(payload: &Value) -> String {
    let Value::Object(fields) = payload else {
        return match payload {
            Value::Null => String::new(),
            other => one_line(&other.to_string()),
        };
    };
    let text = |value: &Value| match value {
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    };
    // A daemon log line: level and message are enough.
    if let (Some(level), Some(message)) = (fields.get("level"), fields.get("message")) {
        return format!("{}  {}", text(level), text(message));
    }
    let session = fields.get("sessionKey").map(text);
    // A chat message: session, role and content are enough.
    if let (Some(session), Some(role), Some(content)) =
        (&session, fields.get("role"), fields.get("content"))
    {
        return format!("{session}  {}: {}", text(role), text(content));
    }
    let others = fields.iter().filter(|(name, _)| *name != "sessionKey");
    let (ids, values): (Vec<_>, Vec<_>) =
        others.partition(|(name, _)| *name == "id" || name.ends_with("Id"));
    let pairs = values.into_iter().chain(ids);
    let pairs = pairs.map(|(name, value)| format!("{name}={}", text(value)));
    session
        .into_iter()
        .chain(pairs)
        .collect::<Vec<_>>()
        .join("  ")
}

fn payload(event: &BusEvent) -> Option<Value> {
    serde_json::from_slice(event.payload.as_deref()?).ok()
}
