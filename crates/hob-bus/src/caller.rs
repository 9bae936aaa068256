//! A client inside the house, or one that acts for a peer whose transport carries only requests.
//! Its calls take the same way as a connection's.

use crate::delivery::Answer;
use crate::hub::{Hub, stopping};
use crate::party::{Mailbox, Party};
use crate::peer::Closed;
use crate::room::{decode, encode};
use crate::router::Ask;
use crate::waiters::Waiters;
use bytes::Bytes;
use hob_wire::frame::depth_within;
use hob_wire::limits::JSON_DEPTH_MAX;
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Cheap to clone; closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Caller(Arc<Membership>);

#[derive(Debug)]
struct Membership {
    hub: Arc<Hub>,
    party: Arc<Party>,
}

impl Caller {
    pub(crate) fn new(hub: &Arc<Hub>, party: Arc<Party>) -> Self {
        Caller(Arc::new(Membership {
            hub: Arc::clone(hub),
            party,
        }))
    }

    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        let params = encode(params)?;
        let payload = self.send(M::SPEC.name, Some(params), None).await?;
        let payload = payload.as_deref().unwrap_or(b"null");
        serde_json::from_slice(payload).map_err(|error| {
            let message = format!(
                "the answer of '{}' is not of its form: {error}",
                M::SPEC.name
            );
            WireError::new(ErrorCode::MethodError, message)
        })
    }

    /// Calls with params in JSON; `trace` ties the call to the one it serves.
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
        let waiter = waiters.open();
        let ask = Ask {
            id: &waiter.id(),
            target: "",
            method,
            params,
            trace,
            abandoned: waiter.abandoned(),
        };
        self.0.hub.request(&self.0.party, ask).await;
        let answer = tokio::select! {
            biased;
            answer = waiter.answer() => answer,
            // The rooms answer nobody any more.
            () = self.0.hub.tasks.stopping() => None,
        };
        match answer {
            Some(answer) => read_answer(answer),
            None if waiters.closed() == Some(Closed::Revoked) => {
                let message = "the credential was revoked";
                Err(WireError::new(ErrorCode::Unauthorized, message))
            }
            None => Err(stopping()),
        }
    }

    fn waiters(&self) -> Result<&Waiters, WireError> {
        match &self.0.party.mailbox {
            Mailbox::Waiters(waiters) => Ok(waiters),
            Mailbox::Outbox(_) => Err(stopping()),
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.hub.close(&self.party, Closed::Normal);
    }
}

/// Params from outside become part of a frame, so they must be one JSON value and no more.
fn check_json(params: &Bytes) -> Result<Bytes, WireError> {
    let wrong = |message: String| WireError::new(ErrorCode::ParseError, message);
    let text = std::str::from_utf8(params).map_err(|error| wrong(error.to_string()))?;
    let value: &RawValue = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if !depth_within(value.get(), JSON_DEPTH_MAX) {
        return Err(wrong(format!("params may nest {JSON_DEPTH_MAX} deep")));
    }
    Ok(params.slice_ref(value.get().as_bytes()))
}

fn read_answer(answer: Answer) -> Result<Option<Bytes>, WireError> {
    let error = match answer {
        Ok(payload) => return Ok(payload),
        Err(error) => error,
    };
    // A service may write any JSON as its error; what is not of our form is passed on inside one.
    let read = decode::<WireError>(Some(&error));
    Err(read.unwrap_or_else(|_| {
        let error = serde_json::from_slice(&error).unwrap_or_default();
        WireError::new(ErrorCode::MethodError, "the service failed").with_details(error)
    }))
}
