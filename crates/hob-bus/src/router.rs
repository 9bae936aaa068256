//! Requests on their way to a service and answers on their way back. The same path for every
//! party; nothing here knows what a method does.
//!
//! Invariant: each request gets exactly one answer, unless its caller left. It waits in the
//! pending map of its serving link, and whoever takes it out of there answers it.

use crate::delivery::{Answer, BODY_BYTES_MAX, Delivery, Request};
use crate::gateway_methods;
use crate::hub::{Hub, encode_error, gone, stopping};
use crate::outbox::Refused;
use crate::party::{Home, Party};
use crate::peer::Closed;
use crate::pending::{NoPlace, Waiting};
use crate::routes::MethodInfo;
use crate::trace::Record;
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

/// How long a caller should wait before asking a busy service again.
const BUSY_RETRY_MS: u64 = 250;

/// A request as its caller made it.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) id: &'a str,
    pub(crate) target: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Option<Bytes>,
    pub(crate) trace: Option<&'a str>,
    /// Cancelled when nobody waits for the answer any more.
    pub(crate) abandoned: CancellationToken,
}

impl Hub {
    /// Routes a request. It is answered later, through its caller's own link.
    pub(crate) async fn request(self: &Arc<Self>, caller: &Arc<Party>, ask: Ask<'_>) {
        self.tally.requests.up();
        let destination = match self.route(caller, &ask) {
            Ok(destination) => destination,
            Err(error) => return self.answer_error(caller, ask.id, &error),
        };
        let trace = match ask.trace {
            Some(trace) => Arc::from(trace),
            None => self.traces.id(),
        };
        let now_us = self.clock.monotonic_us();
        let waiting = Waiting {
            caller: Arc::clone(caller),
            caller_id: Box::from(ask.id),
            method: destination.method,
            trace,
            started_us: now_us,
            deadline_ms: self.deadline_ms(destination.owner.as_deref(), now_us / 1_000),
        };
        match destination.owner {
            Some(owner) => self.forward(&owner, waiting, ask.params, ask.abandoned),
            None => gateway_methods::serve(self, waiting, ask.params).await,
        }
    }

    /// An answer from a serving link. Only that link knows the id, so one it was not given is
    /// forged or late, and is dropped.
    pub(crate) fn answered(&self, server: &Party, id: &str, answer: Answer) {
        let waiting = id.parse().ok().and_then(|id| server.pending.take(id));
        let Some(waiting) = waiting else {
            self.tally.stray_answers.up();
            return;
        };
        let too_long = answer
            .as_ref()
            .map_or_else(Bytes::len, |payload| payload.as_ref().map_or(0, Bytes::len))
            > BODY_BYTES_MAX;
        let answer = if too_long {
            let message = "the answer is larger than a frame may be";
            Err(encode_error(&WireError::new(
                ErrorCode::MethodError,
                message,
            )))
        } else {
            answer
        };
        self.finish(waiting, answer);
    }

    /// Settles a request that waited, and closes a caller that cannot take the answer.
    pub(crate) fn finish(&self, waiting: Waiting, answer: Answer) {
        if let Err(slow) = self.settle(waiting, answer) {
            self.retire(slow, Closed::Slow);
        }
    }

    /// Notes how a request went.
    pub(crate) fn record(&self, waiting: &Waiting, answer: &Answer) {
        let error = answer.as_ref().err().map(|error| code_of(error));
        if error.is_some() {
            self.tally.errors.up();
        }
        let micros = self.clock.monotonic_us().saturating_sub(waiting.started_us);
        self.traces.record(Record {
            trace: Arc::clone(&waiting.trace),
            method: Arc::clone(&waiting.method),
            caller: Arc::clone(&waiting.caller.name),
            started_at: self.clock.wall_ms().saturating_sub(micros / 1_000),
            micros,
            error,
        });
    }

    fn route(&self, caller: &Party, ask: &Ask<'_>) -> Result<Destination, WireError> {
        if caller.home == Home::Outside && self.draining.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        let routes = self.registry.routes();
        let Some(route) = routes.method(ask.method) else {
            let message = format!("no service offers '{}'", ask.method);
            return Err(WireError::new(ErrorCode::NoHandler, message));
        };
        let method = &route.method;
        if !ask.target.is_empty() && *ask.target != *method.service {
            let message = format!(
                "'{}' belongs to the service '{}', not to '{}'",
                ask.method, method.service, ask.target
            );
            return Err(WireError::new(ErrorCode::NoHandler, message));
        }
        if !caller.peer.scopes.allow(method.scope) && !gateway_methods::open_to_all(&method.name) {
            let message = format!(
                "'{}' needs the scope '{}', which this credential lacks",
                ask.method,
                method.scope.as_str()
            );
            return Err(WireError::new(ErrorCode::Forbidden, message));
        }
        if ask.params.as_ref().map_or(0, Bytes::len) > BODY_BYTES_MAX {
            let message = format!("params may be {BODY_BYTES_MAX} bytes at the most");
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        Ok(Destination {
            method: Arc::clone(method),
            owner: route.owner.clone(),
        })
    }

    /// When silence becomes a timeout. Only a service in another process may fall silent: a room
    /// ends by its own budget, and some of its methods take hours.
    fn deadline_ms(&self, owner: Option<&Party>, now_ms: u64) -> u64 {
        match owner.map(|owner| owner.home) {
            Some(Home::Outside) => now_ms.saturating_add(self.limits.request_timeout_ms()),
            Some(Home::Inside) | None => u64::MAX,
        }
    }

    fn forward(
        &self,
        owner: &Arc<Party>,
        waiting: Waiting,
        params: Option<Bytes>,
        abandoned: CancellationToken,
    ) {
        let caller = Arc::clone(&waiting.caller);
        if !caller.begin_request(self.limits.pending_requests_max) {
            let message = "too many requests of this connection wait for an answer";
            return self.answer_error(&caller, &waiting.caller_id, &busy(message));
        }
        let method = Arc::clone(&waiting.method);
        let trace = Arc::clone(&waiting.trace);
        if self.tally.pending.up() == 0 {
            self.waiting.notify_one();
        }
        let id = match owner.pending.insert(waiting) {
            Ok(id) => id,
            Err(NoPlace::Gone(waiting)) => return self.fail(waiting, &gone(&method.service)),
            Err(NoPlace::Busy(waiting)) => return self.fail(waiting, &swamped(&method)),
        };
        let pushed = owner.push(Delivery::Request(Request {
            id,
            params,
            trace,
            caller,
            method: Arc::clone(&method),
            abandoned,
        }));
        if let Err(refused) = pushed
            // Whoever closes the link meanwhile takes the request out and answers it.
            && let Some(waiting) = owner.pending.take(id)
        {
            match refused {
                Refused::Closed => self.fail(waiting, &gone(&method.service)),
                Refused::Full => self.fail(waiting, &swamped(&method)),
            }
        }
    }

    fn fail(&self, waiting: Waiting, error: &WireError) {
        self.finish(waiting, Err(encode_error(error)));
    }
}

struct Destination {
    method: Arc<MethodInfo>,
    /// None for the bus itself.
    owner: Option<Arc<Party>>,
}

fn swamped(method: &MethodInfo) -> WireError {
    busy(&format!(
        "the service '{}' has too much to do",
        method.service
    ))
}

fn busy(message: &str) -> WireError {
    WireError::new(ErrorCode::Overloaded, message).retry_after(BUSY_RETRY_MS)
}

/// The code of an error as its service wrote it.
fn code_of(error: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Coded {
        code: String,
    }
    let coded: Result<Coded, _> = serde_json::from_slice(error);
    coded.map_or_else(|_| ErrorCode::MethodError.as_str().to_owned(), |it| it.code)
}
