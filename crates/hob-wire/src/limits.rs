//! The bounds of the wire, shown by `gateway.describe`. A peer may rely on them.

/// Largest frame in either direction.
pub const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Largest HTTP body or first socket line before authentication.
pub const UNAUTHENTICATED_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of arrays and objects in a frame.
pub const JSON_DEPTH_MAX: usize = 128;
/// Connections at once, over all listeners.
pub const CONNECTIONS_MAX: usize = 20_000;
/// Frames waiting to be written to one connection.
pub const OUTBOX_FRAMES_MAX: usize = 1_024;
/// Bytes waiting to be written to one connection.
pub const OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Requests one connection may have unanswered.
pub const PENDING_REQUESTS_MAX: usize = 1_024;
/// Silence of a service before its caller gets `TIMEOUT`.
pub const REQUEST_TIMEOUT_MS: u64 = 300_000;
/// Between two pings; a peer that has not answered the last one by then is closed.
pub const PING_INTERVAL_MS: u64 = 30_000;
/// Logged events kept.
pub const EVENT_LOG_ROWS_MAX: u64 = 1_000_000;
/// Age of the oldest logged event kept.
pub const EVENT_LOG_AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Longest method, topic, service name, request id or trace id.
pub const NAME_BYTES_MAX: usize = 256;
/// Longest session key.
pub const SESSION_KEY_BYTES_MAX: usize = 256;
/// Subscription patterns of one connection.
pub const SUBSCRIPTIONS_MAX: usize = 256;
/// Methods or events one service may register.
pub const REGISTRATIONS_MAX: usize = 1_024;
/// Rows a listing returns at the most.
pub const PAGE_ROWS_MAX: u32 = 500;
/// Rows a listing returns unless told.
pub const PAGE_ROWS_DEFAULT: u32 = 50;
/// Message bytes a page returns at the most, well below a frame.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest content of one message.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest metadata of a session.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;
