//! Request routing: checks a request, forwards it to its service and returns the answer. All
//! endpoints use the same path.
//!
//! Invariant: each request gets exactly one answer, unless its caller left. It is held in the
//! pending requests of the serving endpoint, and whoever removes it from there answers it.

use crate::delivery::{BODY_BYTES_MAX, Delivery, EncodedAnswer, ForwardedRequest};
use crate::endpoint::{Endpoint, EndpointOrigin};
use crate::gateway_methods;
use crate::hub::{Hub, encode_error, service_gone, stopping_error};
use crate::outbox::PushError;
use crate::peer::CloseReason;
use crate::pending_requests::{PendingInsertError, PendingRequest};
use crate::request_traces::TraceRecord;
use crate::route_table::MethodInfo;
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

/// The `retry_after` of a request that an overloaded service did not take.
const BUSY_RETRY_MS: u64 = 250;

/// A request as the caller sent it.
#[derive(Debug)]
pub(crate) struct CallerRequest<'a> {
    pub(crate) id: &'a str,
    pub(crate) target: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Option<Bytes>,
    pub(crate) trace: Option<&'a str>,
    /// Cancelled when no one waits for the answer any more.
    pub(crate) abandoned: CancellationToken,
}

impl Hub {
    /// Routes a request. The answer goes to the caller's mailbox, now or later.
    pub(crate) async fn route_request(
        self: &Arc<Self>,
        caller: &Arc<Endpoint>,
        request: CallerRequest<'_>,
    ) {
        self.counters.requests.increment();
        let destination = match self.route(caller, &request) {
            Ok(destination) => destination,
            Err(error) => return self.answer_error(caller, request.id, &error),
        };
        let trace = match request.trace {
            Some(trace) => Arc::from(trace),
            None => self.traces.next_id(),
        };
        let now_us = self.clock.monotonic_us();
        let pending = PendingRequest {
            caller: Arc::clone(caller),
            caller_id: Box::from(request.id),
            method: destination.method,
            trace,
            started_us: now_us,
            deadline_ms: self.deadline_ms(destination.owner.as_deref(), now_us / 1_000),
        };
        match destination.owner {
            Some(owner) => self.forward(&owner, pending, request.params, request.abandoned),
            None => gateway_methods::handle(self, pending, request.params).await,
        }
    }

    /// Handles an answer from a serving endpoint.
    pub(crate) fn handle_answer(&self, server: &Endpoint, id: &str, answer: EncodedAnswer) {
        // Ids belong to one endpoint. An id that is not pending there is late or forged; it is
        // counted and dropped, so no service can answer another service's requests.
        let pending = id.parse().ok().and_then(|id| server.pending.take(id));
        let Some(pending) = pending else {
            self.counters.stray_answers.increment();
            return;
        };
        // A room's answer never was a frame, so nobody has checked its size before.
        let too_long = answer
            .as_ref()
            .map_or_else(Bytes::len, |payload| payload.as_ref().map_or(0, Bytes::len))
            > BODY_BYTES_MAX;
        let answer = if too_long {
            let message = "the answer exceeds the maximum frame size";
            Err(encode_error(&WireError::new(
                ErrorCode::MethodError,
                message,
            )))
        } else {
            answer
        };
        self.finish_forwarded(pending, answer);
    }

    /// Answers a forwarded request and retires the caller if it cannot take the answer.
    pub(crate) fn finish_forwarded(&self, pending: PendingRequest, answer: EncodedAnswer) {
        if let Err(slow) = self.complete_forwarded(pending, answer) {
            self.retire(slow, CloseReason::Slow);
        }
    }

    /// Adds a finished request to the traces and the error counter.
    pub(crate) fn record_trace(&self, pending: &PendingRequest, answer: &EncodedAnswer) {
        let error = answer.as_ref().err().map(|error| code_of(error));
        if error.is_some() {
            self.counters.errors.increment();
        }
        let micros = self.clock.monotonic_us().saturating_sub(pending.started_us);
        self.traces.record(TraceRecord {
            trace: Arc::clone(&pending.trace),
            method: Arc::clone(&pending.method),
            caller: Arc::clone(&pending.caller.name),
            started_at: self.clock.wall_ms().saturating_sub(micros / 1_000),
            micros,
            error,
        });
    }

    fn route(
        &self,
        caller: &Endpoint,
        request: &CallerRequest<'_>,
    ) -> Result<ResolvedRoute, WireError> {
        // Rooms go on calling each other during a drain, to finish their work.
        if caller.origin == EndpointOrigin::External && self.draining.load(Ordering::Relaxed) {
            return Err(stopping_error());
        }
        let routes = self.registry.routes();
        let Some(route) = routes.method(request.method) else {
            let message = format!("no service offers '{}'", request.method);
            return Err(WireError::new(ErrorCode::NoHandler, message));
        };
        let method = &route.method;
        if !request.target.is_empty() && *request.target != *method.service {
            let message = format!(
                "'{}' belongs to the service '{}', not to '{}'",
                request.method, method.service, request.target
            );
            return Err(WireError::new(ErrorCode::NoHandler, message));
        }
        if !caller.peer.scopes.allow(method.scope) && !gateway_methods::is_open_to_all(&method.name)
        {
            let message = format!(
                "'{}' needs the scope '{}', which this credential lacks",
                request.method,
                method.scope.as_str()
            );
            return Err(WireError::new(ErrorCode::Forbidden, message));
        }
        // The bus writes another envelope, with which params that fitted the caller's frame may be
        // too long.
        if request.params.as_ref().map_or(0, Bytes::len) > BODY_BYTES_MAX {
            let message = format!("params must not exceed {BODY_BYTES_MAX} bytes");
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        Ok(ResolvedRoute {
            method: Arc::clone(method),
            owner: route.owner.clone(),
        })
    }

    /// Returns the time at which a request expires. Only external services have a timeout: rooms
    /// bound their own work, and some of their methods take hours.
    fn deadline_ms(&self, owner: Option<&Endpoint>, now_ms: u64) -> u64 {
        match owner.map(|owner| owner.origin) {
            Some(EndpointOrigin::External) => {
                // Saturating, because the timeout is a setting.
                now_ms.saturating_add(self.limits.request_timeout_ms())
            }
            Some(EndpointOrigin::Internal) | None => u64::MAX,
        }
    }

    fn forward(
        &self,
        owner: &Arc<Endpoint>,
        pending: PendingRequest,
        params: Option<Bytes>,
        abandoned: CancellationToken,
    ) {
        let caller = Arc::clone(&pending.caller);
        if !caller.begin_request(self.limits.pending_requests_max) {
            let message = "this connection has too many unanswered requests";
            return self.answer_error(&caller, &pending.caller_id, &overloaded(message));
        }
        let method = Arc::clone(&pending.method);
        let trace = Arc::clone(&pending.trace);
        // The sweeper sleeps while nothing is pending. The permit of `notify_one` is kept, so it
        // wakes even if it checks the counter just before this.
        if self.counters.pending.increment() == 0 {
            self.pending_added.notify_one();
        }
        // The request was counted before it can be answered, so the counter never goes below zero.
        let id = match owner.pending.insert(pending) {
            Ok(id) => id,
            Err(PendingInsertError::Closed(pending)) => {
                return self.fail(pending, &service_gone(&method.service));
            }
            Err(PendingInsertError::Full(pending)) => {
                return self.fail(pending, &service_overloaded(&method));
            }
        };
        // Pending before it is pushed: the service may answer before `push` returns.
        let pushed = owner.push(Delivery::Request(ForwardedRequest {
            id,
            params,
            trace,
            caller,
            method: Arc::clone(&method),
            abandoned,
        }));
        if let Err(refused) = pushed
            // The request may be gone already: whoever closed the endpoint in the meantime took it
            // out and answered it.
            && let Some(pending) = owner.pending.take(id)
        {
            match refused {
                PushError::Closed => self.fail(pending, &service_gone(&method.service)),
                PushError::Full => self.fail(pending, &service_overloaded(&method)),
            }
        }
    }

    fn fail(&self, pending: PendingRequest, error: &WireError) {
        self.finish_forwarded(pending, Err(encode_error(error)));
    }
}

struct ResolvedRoute {
    method: Arc<MethodInfo>,
    /// `None` for the bus itself.
    owner: Option<Arc<Endpoint>>,
}

fn service_overloaded(method: &MethodInfo) -> WireError {
    overloaded(&format!(
        "the service '{}' is overloaded; try again in a moment",
        method.service
    ))
}

fn overloaded(message: &str) -> WireError {
    WireError::new(ErrorCode::Overloaded, message).retry_after(BUSY_RETRY_MS)
}

/// Returns the `code` of an error as the service wrote it.
fn code_of(error: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct CodeField {
        code: String,
    }
    let coded: Result<CodeField, _> = serde_json::from_slice(error);
    coded.map_or_else(|_| ErrorCode::MethodError.as_str().to_owned(), |it| it.code)
}
