//! An in-process client, or one that acts for a peer whose transport carries only requests. Its
//! calls are routed like those of a connection.

use crate::delivery::EncodedAnswer;
use crate::endpoint::{Endpoint, Mailbox};
use crate::hub::{Hub, stopping_error};
use crate::peer::CloseReason;
use crate::response_waiters::ResponseWaiters;
use crate::room::{decode, encode};
use crate::router::CallerRequest;
use bytes::Bytes;
use hob_wire::frame::is_depth_within;
use hob_wire::limits::JSON_DEPTH_MAX;
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::value::RawValue;
use std::sync::Arc;

/// A client of the bus that only makes calls. Cheap to clone; closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Caller(Arc<CallerEndpoint>);

#[derive(Debug)]
struct CallerEndpoint {
    hub: Arc<Hub>,
    endpoint: Arc<Endpoint>,
}

impl Caller {
    pub(crate) fn new(hub: &Arc<Hub>, endpoint: Arc<Endpoint>) -> Self {
        Caller(Arc::new(CallerEndpoint {
            hub: Arc::clone(hub),
            endpoint,
        }))
    }

    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        let params = encode(params)?;
        let payload = self.send(M::SPEC.name, Some(params), None).await?;
        // A service may leave the payload out; results without content decode from `null`.
        let payload = payload.as_deref().unwrap_or(b"null");
        serde_json::from_slice(payload).map_err(|error| {
            let message = format!(
                "the answer of '{}' could not be decoded: {error}",
                M::SPEC.name
            );
            WireError::new(ErrorCode::MethodError, message)
        })
    }

    /// Calls a method with params in JSON. `trace` joins the call to an existing trace.
    pub async fn call_raw(
        &self,
        method: &str,
        params: Option<Bytes>,
        trace: Option<&str>,
    ) -> Result<Option<Bytes>, WireError> {
        let params = params.as_ref().map(check_json).transpose()?;
        self.send(method, params, trace).await
    }

    async fn send(
        &self,
        method: &str,
        params: Option<Bytes>,
        trace: Option<&str>,
    ) -> Result<Option<Bytes>, WireError> {
        let waiters = self.waiters()?;
        let waiter = waiters.register();
        let request = CallerRequest {
            id: &waiter.id(),
            // The method's name alone finds its service.
            target: "",
            method,
            params,
            trace,
            abandoned: waiter.abandoned(),
        };
        self.0.hub.route_request(&self.0.endpoint, request).await;
        let answer = tokio::select! {
            // An answer that is already there wins over a stop that comes at the same time.
            biased;
            answer = waiter.answer() => answer,
            // Rooms stop with the task group, so no answer would ever come.
            () = self.0.hub.tasks.stopping() => None,
        };
        match answer {
            Some(answer) => read_answer(answer),
            None if waiters.closed() == Some(CloseReason::Revoked) => {
                let message = "the credential was revoked";
                Err(WireError::new(ErrorCode::Unauthorized, message))
            }
            None => Err(stopping_error()),
        }
    }

    fn waiters(&self) -> Result<&ResponseWaiters, WireError> {
        match &self.0.endpoint.mailbox {
            Mailbox::Waiters(waiters) => Ok(waiters),
            // The hub creates every caller with waiters, so this arm is never taken.
            Mailbox::Outbox(_) => Err(stopping_error()),
        }
    }
}

impl Drop for CallerEndpoint {
    fn drop(&mut self) {
        self.hub.close(&self.endpoint, CloseReason::Normal);
    }
}

/// Checks that params are exactly one JSON value, because they become part of a frame.
fn check_json(params: &Bytes) -> Result<Bytes, WireError> {
    let wrong = |message: String| WireError::new(ErrorCode::ParseError, message);
    let text = std::str::from_utf8(params).map_err(|error| wrong(error.to_string()))?;
    let value: &RawValue = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if !is_depth_within(value.get(), JSON_DEPTH_MAX) {
        return Err(wrong(format!(
            "params must not nest deeper than {JSON_DEPTH_MAX} levels"
        )));
    }
    // White space around the value is left out; it would become part of the frame.
    Ok(params.slice_ref(value.get().as_bytes()))
}

fn read_answer(answer: EncodedAnswer) -> Result<Option<Bytes>, WireError> {
    let error = match answer {
        Ok(payload) => return Ok(payload),
        Err(error) => error,
    };
    // A service may write any JSON as its error. An unknown form is passed on as the details.
    let read = decode::<WireError>(Some(&error));
    Err(read.unwrap_or_else(|_| {
        let error = serde_json::from_slice(&error).unwrap_or_default();
        WireError::new(ErrorCode::MethodError, "the service failed").with_details(error)
    }))
}
