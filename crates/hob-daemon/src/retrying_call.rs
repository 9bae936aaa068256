//! Calls of other rooms with retries, for rooms that are not served yet or busy.

use hob_bus::Caller;
use hob_wire::{ErrorCode, Method, WireError};
use std::time::Duration;

/// First wait before a retry; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Longest total wait.
const RETRY_TIME_MAX: Duration = Duration::from_mins(5);

/// Calls a method until there is a result, a final error, or the time is up. The request must carry
/// an idempotency key or change nothing, because it may be sent twice.
pub(crate) async fn call_with_retry<M: Method>(
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
        if !is_retryable(&error) || waited >= RETRY_TIME_MAX {
            return Err(error);
        }
        let requested = error.retry_after_ms.map(Duration::from_millis);
        // The room's own hint wins, within limits.
        let pause = requested.unwrap_or(wait).clamp(FIRST_WAIT, WAIT_MAX);
        tokio::time::sleep(pause).await;
        waited += pause;
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// True if the same request may succeed later.
fn is_retryable(error: &WireError) -> bool {
    matches!(
        error.code,
        ErrorCode::NoHandler
            | ErrorCode::ServiceUnavailable
            | ErrorCode::Overloaded
            | ErrorCode::Timeout
    ) && error.retryable != Some(false)
}
