//! The limits of the wire. `gateway.describe` shows them, and peers may rely on them.

/// A limit as shown in the docs and by `gateway.describe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimit {
    /// The name of the constant, such as `FRAME_BYTES_MAX`.
    pub constant: &'static str,
    pub value: u64,
    pub summary: &'static str,
}

impl WireLimit {
    /// Returns its name on the wire, such as `frameBytesMax`.
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

        /// Every limit, in the order of this file.
        pub const ALL: &[WireLimit] = &[$(WireLimit {
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
    /// Concurrent connections over all listeners.
    CONNECTIONS_MAX: usize = 20_000;
    /// Frames waiting to be written to one connection.
    OUTBOX_FRAMES_MAX: usize = 1_024;
    /// Bytes waiting to be written to one connection.
    OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Unanswered requests of one connection.
    PENDING_REQUESTS_MAX: usize = 1_024;
    /// Time without an answer from a service before its caller gets `TIMEOUT`.
    REQUEST_TIMEOUT_MS: u64 = 300_000;
    /// Time between two pings. A peer that did not answer the previous ping is disconnected.
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
    /// Most rows of one page of a listing.
    PAGE_ROWS_MAX: u32 = 500;
    /// Rows of one page of a listing by default.
    PAGE_ROWS_DEFAULT: u32 = 50;
    /// Most message bytes of one page, well below the frame limit.
    PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Largest content of one message.
    MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Longest draft of a session.
    DRAFT_BYTES_MAX: usize = 64 * 1024;
    /// Largest metadata of a session.
    METADATA_BYTES_MAX: usize = 64 * 1024;
    /// Characters of one text to speak.
    SPEECH_CHARS_MAX: usize = 1_000;
    /// Concurrent terminals.
    TERMINALS_MAX: u32 = 64;
    /// Characters of one terminal command.
    TERMINAL_COMMAND_CHARS_MAX: usize = 8_192;
    /// Commands of one terminal request.
    TERMINAL_BATCH_MAX: usize = 1_000;
    /// Queued commands of one terminal.
    TERMINAL_QUEUE_MAX: u32 = 2_000;
    /// Scrollback lines of one terminal capture.
    TERMINAL_CAPTURE_LINES_MAX: u32 = 20_000;
}
