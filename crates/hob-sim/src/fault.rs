//! The faults of an answer.

use std::time::Duration;

/// A fault of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An error status with the provider's own body instead of the answer.
    Status {
        code: u16,
        retry_after: Option<RetryAfter>,
    },
    /// The connection closes after exactly this many bytes of the body.
    CutAt(usize),
    /// The connection closes before any header.
    HangUp,
    /// The stream holds unreadable data.
    Garbage(GarbageKind),
    /// The tokens repeat without end until the client hangs up.
    Endless,
    /// Nothing is sent, or nothing after the headers.
    Silence { headers: bool },
    /// After this many tokens the stream stands still for ever.
    StallAfter(usize),
    /// One token every so often.
    Drip { every: Duration },
    /// Ids and indices that belong to nothing: deltas for blocks never opened, answers renamed
    /// half way.
    WrongIds,
    /// After this many tokens the provider says, inside the stream, that it failed.
    ErrorAfter(usize),
    /// The end of the stream is left out though the connection ends in good order.
    NoEnd,
}

/// Bytes that are not the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageKind {
    /// Bytes that are neither text nor events.
    Binary,
    /// One line of this many bytes without an end; then the stream ends.
    EndlessLine { bytes: usize },
    /// The events come back to front.
    WrongOrder,
    /// Every event is sent twice, and two tool calls share one id.
    DuplicateIds,
    /// Lines end in CRLF, LF and CR by turns. A sound reader understands it all the same.
    CrlfMix,
    /// The data of one event is cut JSON.
    BadJson,
    /// An HTML page with status 200, as a proxy in the way would send.
    Html,
}

/// The form of a retry hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    Seconds(u64),
    /// An HTTP date this far from now. Dates have whole seconds.
    DateIn(Duration),
    /// Milliseconds, in the header `retry-after-ms` that OpenAI also sends.
    Millis(u64),
    /// A header nobody can read.
    Nonsense,
}

/// Usage figures that must not reach the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageLie {
    Negative,
    /// The string `"NaN"` where a number belongs.
    NanString,
    Huge,
    Zero,
    Missing,
}
