//! Turns a `tracing` event into a line: fields are appended, then masked, escaped and cut, in this
//! order, so that neither an escape nor the cut can hide a part of a secret from the mask.

use super::{LogLine, LogState, MESSAGE_BYTES_MAX};
use std::cell::Cell;
use std::fmt::{self, Write};
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The longest text that is masked. It bounds the work and is far above the bytes that are kept.
const GATHERED_BYTES_MAX: usize = 4 * MESSAGE_BYTES_MAX;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` without passing its log lines to the hook. The code that turns lines into events
/// must use this, or the lines logged by each event would cause further events without end.
pub fn without_line_hook<T>(work: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let result = work();
    QUIET.set(before);
    result
}

/// The log as a layer of `tracing`.
#[derive(Debug)]
pub struct LogLayer(pub(super) Arc<LogState>);

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.0.allows(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.0.allows(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0.level())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut gathered = EventText::default();
        event.record(&mut gathered);
        let metadata = event.metadata();
        // Fields are recorded in any order, but the message always comes first in the line.
        let text = gathered.message + &gathered.fields;
        let line = LogLine {
            at: self.0.clock.wall_ms(),
            level: metadata.level().as_str().to_lowercase(),
            target: metadata.target().to_owned(),
            message: cut(escape(&self.0.mask.apply(&text))),
        };
        self.0.write(line, !QUIET.get());
    }
}

#[derive(Default)]
struct EventText {
    message: String,
    fields: String,
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            push(&mut self.message, format_args!("{value}"));
        } else {
            push(
                &mut self.fields,
                format_args!(" {}={value:?}", field.name()),
            );
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            push(&mut self.message, format_args!("{value:?}"));
        } else {
            push(
                &mut self.fields,
                format_args!(" {}={value:?}", field.name()),
            );
        }
    }
}

/// Appends as much as fits into the bound. A value whose formatting fails is left out.
fn push(text: &mut String, arguments: fmt::Arguments<'_>) {
    let _ = BoundedWriter(text).write_fmt(arguments);
}

struct BoundedWriter<'t>(&'t mut String);

impl Write for BoundedWriter<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = GATHERED_BYTES_MAX.saturating_sub(self.0.len());
        // An error would end the formatting of the value, so a full buffer drops the rest silently.
        let kept = part.floor_char_boundary(room);
        self.0.push_str(&part[..kept]);
        Ok(())
    }
}

/// Escapes characters that could move a cursor, break a line or reverse the text direction.
fn escape(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hidden) {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn cut(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES_MAX {
        let bytes = text.len();
        text.truncate(text.floor_char_boundary(MESSAGE_BYTES_MAX));
        let _ = write!(text, "… (cut from {bytes} bytes)");
    }
    text
}
