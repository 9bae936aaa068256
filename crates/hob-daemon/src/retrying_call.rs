//! Asking other rooms, which may not be there yet or be busy: patiently, but not for ever.

use hob_bus::Caller;
use hob_wire::{ErrorCode, Method, WireError};
use std::time::Duration;

/// The first wait before a room is asked again; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a room that cannot work is asked.
const PATIENCE: Duration = Duration::from_mins(5);

/// Asks until there is an answer, a refusal, or no more patience. What is asked carries a key or
/// changes nothing, so that asking again is the same.
pub(crate) async fn ask<M: Method>(
    caller: &Caller,
    params: &M::Params,
) -> Result<M::Result, WireError>
where
    M::Params: Sync,
{
    let mut waited = Duration::ZERO;
    let mut wait = FIRST_WAIT;
    loop {
        let error = match caller.call::<M>(params).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if !may_pass(&error) || waited >= PATIENCE {
            return Err(error);
        }
        let told = error.retry_after_ms.map(Duration::from_millis);
        let pause = told.unwrap_or(wait).clamp(FIRST_WAIT, WAIT_MAX);
        tokio::time::sleep(pause).await;
        waited += pause;
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// Whether the same request may go through later.
fn may_pass(error: &WireError) -> bool {
    matches!(
        error.code,
        ErrorCode::NoHandler
            | ErrorCode::ServiceUnavailable
            | ErrorCode::Overloaded
            | ErrorCode::Timeout
    ) && error.retryable != Some(false)
}
