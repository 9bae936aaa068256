//! A client inside the house.

use bytes::Bytes;
use hob_wire::{ErrorCode, Method, WireError};

#[derive(Clone, Debug)]
pub struct Caller {}

impl Caller {
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        let params = crate::room::encode(params)?;
        let answer = self.call_raw(M::SPEC.name, Some(params), None).await?;
        crate::room::decode(answer.as_deref())
    }

    /// Calls with params that are JSON already; a trace id ties the call to the one it serves.
    pub async fn call_raw(
        &self,
        method: &str,
        params: Option<Bytes>,
        trace: Option<&str>,
    ) -> Result<Option<Bytes>, WireError> {
        let _ = (method, params, trace);
        Err(WireError::new(
            ErrorCode::ServiceUnavailable,
            "the bus is not open",
        ))
    }
}
