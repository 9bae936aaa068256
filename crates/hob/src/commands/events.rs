//! `hob events`: what happens, as it happens.

use crate::context::Context;
use crate::failure::Failure;
use crate::render::words::{cut, one_line, pad};
use crate::render::{Screen, Tone, moment};
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_client::{Event, Item, LinkState, Subscription};
use hob_wire::rooms::gateway::{GapRange, GapReason};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Columns of the topic, so that what follows lines up.
const TOPIC_COLUMNS: usize = 20;

pub fn command() -> Command {
    Command::new("events")
        .about("Shows events as they happen, or replays logged ones")
        .long_about(
            "Goes on until Ctrl-C. With --since the logged events after that number come first. A \
             daemon that restarts is found again, and the stream goes on \
             after the last event shown, without a gap or a repeat. Give --log-id with --since: if \
             older files were restored meanwhile, numbers are given again, and only the log's id \
             tells. Both are in each line of --json.",
        )
        .after_help(text::examples(&[
            "hob events".to_owned(),
            "hob events 'session.*' --session chat:main".to_owned(),
            "hob events --since 0 --count 10 --json".to_owned(),
        ]))
        .arg(
            Arg::new("topic")
                .value_name("TOPIC")
                .num_args(0..)
                .help("Topics or patterns, such as 'session.*'; all when missing"),
        )
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("Replays the logged events after this number first"),
        )
        .arg(
            Arg::new("log-id")
                .long("log-id")
                .value_name("ID")
                .requires("since")
                .help("The log that --since was read from: logId of --json"),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .value_name("SESSION_KEY")
                .help("Only events of this session, by key or id"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("Ends after this many events"),
        )
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let topics = matches.get_many::<String>("topic");
    let topics: Vec<String> = topics.map_or_else(|| vec!["*".to_owned()], |t| t.cloned().collect());
    let subscription = Subscription {
        topics,
        session: matches.get_one::<String>("session").cloned(),
        since: matches.get_one::<u64>("since").copied(),
        log_id: matches.get_one::<String>("log-id").cloned(),
    };
    let left = matches.get_one::<u64>("count").copied().unwrap_or(u64::MAX);
    let client = context.client().await?;
    let mut stream = client.subscribe(subscription).await?;
    let mut state = stream.state();
    for _ in 0..left {
        let item = loop {
            tokio::select! {
                item = stream.next() => break item,
                Ok(()) = state.changed() => tell(&mut state),
            }
        };
        match item {
            Some(item) => print(context, &item?)?,
            None => return Ok(()),
        }
        context.terminal.flush()?;
    }
    Ok(())
}

/// Says when the daemon goes and comes back.
fn tell(state: &mut watch::Receiver<LinkState>) {
    match *state.borrow_and_update() {
        LinkState::Searching => Terminal::note("The daemon is away; waiting for it."),
        LinkState::Connected => Terminal::note("The daemon is back."),
        LinkState::Ended => {}
    }
}

fn print(context: &Context, item: &Item) -> Result<(), Failure> {
    let terminal = &context.terminal;
    let printed = match (terminal.json, item) {
        (true, Item::Event(event)) => terminal.document(&document(event)),
        (true, Item::Gap(range)) => terminal.document(&json!({ "gap": range })),
        (false, Item::Event(event)) => terminal.line(line(event, terminal.screen())),
        (false, Item::Gap(range)) => {
            let text = gap_sentence(range);
            terminal.line(terminal.screen().paint(Tone::Warning, &text))
        }
    };
    Ok(printed?)
}

fn gap_sentence(range: &GapRange) -> String {
    let GapRange { from, to, reason } = range;
    match reason {
        Some(GapReason::OtherLog) => format!(
            "This is another log than before, as after restoring older files: events {from} to \
             {to} of it were not shown. What came before may not have happened here."
        ),
        Some(GapReason::TooLarge) => format!("Event {from} is too large to be shown."),
        _ => format!("Events {from} to {to} are no longer in the log."),
    }
}

/// An event as `--json` prints it.
pub fn document(event: &Event) -> Value {
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

/// One event on one line: its number, its topic, when, and what it says.
fn line(event: &Event, screen: &Screen) -> String {
    let place = match event.sub {
        Some(sub) => format!("{}.{sub}", event.seq),
        None => event.seq.to_string(),
    };
    let mut payload = payload(event).unwrap_or_default();
    let at = payload
        .as_object_mut()
        .and_then(|fields| fields.shift_remove("at"));
    let at = at.and_then(|at| at.as_u64());
    let at = at.map_or_else(String::new, |at| moment::short(at, screen));
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
    let rest = room.map_or_else(|| rest.clone(), |room| cut(&rest, room));
    format!("{}{rest}", screen.paint(Tone::Quiet, &head))
}

/// What an event says in a few words: whose it is, then its fields, ids last.
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
    // A line of the log reads like one, too.
    if let (Some(level), Some(message)) = (fields.get("level"), fields.get("message")) {
        return format!("{}  {}", text(level), text(message));
    }
    let session = fields.get("sessionKey").map(text);
    // A message reads like one.
    if let (Some(session), Some(role), Some(content)) =
        (&session, fields.get("role"), fields.get("content"))
    {
        return format!("{session}  {}: {}", text(role), text(content));
    }
    let others = fields.iter().filter(|(name, _)| *name != "sessionKey");
    let (ids, words): (Vec<_>, Vec<_>) =
        others.partition(|(name, _)| *name == "id" || name.ends_with("Id"));
    let pairs = words.into_iter().chain(ids);
    let pairs = pairs.map(|(name, value)| format!("{name}={}", text(value)));
    session
        .into_iter()
        .chain(pairs)
        .collect::<Vec<_>>()
        .join("  ")
}

fn payload(event: &Event) -> Option<Value> {
    serde_json::from_slice(event.payload.as_deref()?).ok()
}
