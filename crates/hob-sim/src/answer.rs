//! Scripted answers. An answer is sent in order: thinking, words, tool calls.

use crate::fault::{Fault, RetryAfter, UsageLie};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One answer of the model, built up by its methods.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(crate) thinking: String,
    pub(crate) words: String,
    pub(crate) calls: Vec<ScriptedCall>,
    pub(crate) ending: AnswerEnding,
    pub(crate) usage: ScriptedUsage,
    pub(crate) pace: TokenPace,
    pub(crate) held: Option<AnswerHold>,
    pub(crate) fault: Option<Fault>,
    pub(crate) stamped: bool,
}

/// The stop reason of an answer without tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerEnding {
    #[default]
    Done,
    /// The limit of tokens was reached.
    Length,
    /// The provider's content filter stopped it.
    Content,
}

#[derive(Clone, Debug)]
pub(crate) struct ScriptedCall {
    /// Derived from the conversation if the script gives none.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The arguments as sent. They need not be JSON.
    pub(crate) args: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum ScriptedUsage {
    /// Counted from the request and the words.
    #[default]
    Counted,
    Said(u64, u64),
    Raw(Value),
    Lie(UsageLie),
}

/// The tokens per write, and the time between two writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenPace {
    pub(crate) tokens: usize,
    pub(crate) every: Duration,
}

impl Default for TokenPace {
    fn default() -> Self {
        TokenPace {
            tokens: 1,
            every: Duration::ZERO,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AnswerHold {
    pub(crate) gate: Gate,
    /// Held after this many tokens; without, before the headers.
    pub(crate) after: Option<usize>,
}

impl Answer {
    /// Answers with these words. Each word with the space after it is a token.
    pub fn words(words: impl Into<String>) -> Answer {
        Answer {
            words: words.into(),
            ..Answer::default()
        }
    }

    /// Answers with this many meaningless tokens.
    pub fn tokens(count: usize) -> Answer {
        let words: Vec<String> = (0..count).map(|at| format!("w{at} ")).collect();
        Answer::words(words.concat())
    }

    /// Answers with this many tokens, each the time it was sent: sixteen digits of microseconds on the
    /// clock of [`Sim::now_us`](crate::Sim::now_us) and a space.
    pub fn stamps(count: usize) -> Answer {
        Answer {
            stamped: true,
            ..Answer::words("0000000000000000 ".repeat(count))
        }
    }

    /// Asks for one tool.
    pub fn asks(name: &str, args: Value) -> Answer {
        Answer::default().call(name, args)
    }

    /// Fails with this status and no retry hint.
    pub fn status(code: u16) -> Answer {
        Answer::default().fault(Fault::Status {
            code,
            retry_after: None,
        })
    }

    /// Fails with this status and a retry hint.
    pub fn status_retry(code: u16, retry_after: RetryAfter) -> Answer {
        Answer::default().fault(Fault::Status {
            code,
            retry_after: Some(retry_after),
        })
    }

    /// Sends thinking before the words.
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<String>) -> Answer {
        self.thinking = thinking.into();
        self
    }

    /// Calls a tool after the words. Several calls are parallel.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "scripts write `json!` here")]
    pub fn call(self, name: &str, args: Value) -> Answer {
        self.call_raw(None, name, args.to_string())
    }

    /// As [`Answer::call`] for each.
    #[must_use]
    pub fn calls<'a>(mut self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Answer {
        for (name, args) in calls {
            self = self.call(name, args);
        }
        self
    }

    /// A call with an id of the script's choice and arguments that need not be JSON. A dialect
    /// whose arguments are JSON values, not text, sends text that is none as a string.
    #[must_use]
    pub fn call_raw(mut self, id: Option<&str>, name: &str, args: impl Into<String>) -> Answer {
        self.calls.push(ScriptedCall {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            args: args.into(),
        });
        self
    }

    #[must_use]
    pub fn ending(mut self, ending: AnswerEnding) -> Answer {
        self.ending = ending;
        self
    }

    /// Claims to have used this many tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Answer {
        self.usage = ScriptedUsage::Said(input, output);
        self
    }

    /// Sends this instead of the dialect's usage object.
    #[must_use]
    pub fn raw_usage(mut self, usage: Value) -> Answer {
        self.usage = ScriptedUsage::Raw(usage);
        self
    }

    /// Lies about usage, in the dialect's own fields.
    #[must_use]
    pub fn lying_usage(mut self, lie: UsageLie) -> Answer {
        self.usage = ScriptedUsage::Lie(lie);
        self
    }

    /// Sends `tokens` in one write, one write each `every`, on a schedule that does not drift.
    #[must_use]
    pub fn pace(mut self, tokens: usize, every: Duration) -> Answer {
        self.pace = TokenPace {
            tokens: tokens.max(1),
            every,
        };
        self
    }

    /// Sends nothing, not even headers, until the gate opens.
    #[must_use]
    pub fn held(mut self, gate: &Gate) -> Answer {
        self.held = Some(AnswerHold {
            gate: gate.clone(),
            after: None,
        });
        self
    }

    /// Pauses the stream after this many tokens until the gate opens.
    #[must_use]
    pub fn held_after(mut self, tokens: usize, gate: &Gate) -> Answer {
        self.held = Some(AnswerHold {
            gate: gate.clone(),
            after: Some(tokens),
        });
        self
    }

    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Answer {
        self.fault = Some(fault);
        self
    }
}

/// Holds answers back until it is opened; clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    open: CancellationToken,
    waiting: Arc<AtomicUsize>,
}

impl Gate {
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Lets every answer continue, including later ones.
    pub fn open(&self) {
        self.open.cancel();
    }

    /// The number of answers waiting at the gate. A client that hung up does not count.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    pub(crate) async fn pass(self) {
        let _standing = GateWaiter::at(&self);
        self.open.cancelled().await;
    }
}

/// One answer waiting at a gate, counted until dropped.
struct GateWaiter(Arc<AtomicUsize>);

impl GateWaiter {
    fn at(gate: &Gate) -> GateWaiter {
        gate.waiting.fetch_add(1, Ordering::SeqCst);
        GateWaiter(Arc::clone(&gate.waiting))
    }
}

impl Drop for GateWaiter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
