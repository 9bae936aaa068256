//! The bounds of the wire, shown by `gateway.describe`. A peer may rely on them.

/// A bound as documents and `gateway.describe` show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The constant's name, such as `FRAME_BYTES_MAX`.
    pub constant: &'static str,
    pub value: u64,
    pub summary: &'static str,
}

impl Limit {
    /// Its name on the wire: `frameBytesMax`.
    pub fn name(&self) -> String {
        let mut name = String::with_capacity(self.constant.len());
        for word in self.constant.split('_') {
            let (first, rest) = word.split_at(word.len().min(1));
            match name.as_str() {
                "" => name.push_str(&first.to_lowercase()),
                _ => name.push_str(first),
            }
            name.push_str(&rest.to_lowercase());
        }
        name
    }
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: $kind = $value;)*

        /// Every bound, in the order of this file.
        pub const ALL: &[Limit] = &[$(Limit {
            constant: stringify!($name),
            value: $name as u64,
            summary: concat!($($doc),*).trim_ascii(),
        }),*];
    };
}

limits! {
    /// Largest frame in either direction.
    FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;
    /// Largest HTTP body or first socket line before authentication.
    UNAUTHENTICATED_BYTES_MAX: usize = 64 * 1024;
    /// Deepest nesting of arrays and objects in a frame.
    JSON_DEPTH_MAX: usize = 128;
    /// Connections at once, over all listeners.
    CONNECTIONS_MAX: usize = 20_000;
    /// Frames waiting to be written to one connection.
    OUTBOX_FRAMES_MAX: usize = 1_024;
    /// Bytes waiting to be written to one connection.
    OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Requests one connection may have unanswered.
    PENDING_REQUESTS_MAX: usize = 1_024;
    /// Silence of a service before its caller gets `TIMEOUT`.
    REQUEST_TIMEOUT_MS: u64 = 300_000;
    /// Between two pings; a peer that has not answered the last one by then is closed.
    PING_INTERVAL_MS: u64 = 30_000;
    /// Logged events kept.
    EVENT_LOG_ROWS_MAX: u64 = 1_000_000;
    /// Age of the oldest logged event kept.
    EVENT_LOG_AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
    /// Longest method, topic, service name, request id or trace id.
    NAME_BYTES_MAX: usize = 256;
    /// Longest session key.
    SESSION_KEY_BYTES_MAX: usize = 256;
    /// Subscription patterns of one connection.
    SUBSCRIPTIONS_MAX: usize = 256;
    /// Methods or events one service may register.
    REGISTRATIONS_MAX: usize = 1_024;
    /// Rows a listing returns at the most.
    PAGE_ROWS_MAX: u32 = 500;
    /// Rows a listing returns unless told.
    PAGE_ROWS_DEFAULT: u32 = 50;
    /// Message bytes a page returns at the most, well below a frame.
    PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Largest content of one message.
    MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Largest metadata of a session.
    METADATA_BYTES_MAX: usize = 64 * 1024;
    /// Letters of a text that is spoken at once.
    SPEECH_CHARS_MAX: usize = 1_000;
    /// Terminals that are alive at once.
    TERMINALS_MAX: u32 = 64;
    /// Letters of one command in a terminal.
    TERMINAL_COMMAND_CHARS_MAX: usize = 8_192;
    /// Commands of one request to a terminal.
    TERMINAL_BATCH_MAX: usize = 1_000;
    /// Commands that wait in one terminal.
    TERMINAL_QUEUE_MAX: u32 = 2_000;
    /// Lines of the past that are shown of a terminal at once.
    TERMINAL_CAPTURE_LINES_MAX: u32 = 20_000;
}
