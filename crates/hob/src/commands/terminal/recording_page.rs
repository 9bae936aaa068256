//! Reads of a terminal's recording, page by page, across restarts of the daemon.

use crate::failure::CommandFailure;
use data_encoding::BASE64;
use hob_client::{Client, ClientError};
use hob_wire::ErrorCode;
use hob_wire::rooms::terminal::{Stream, TerminalStreamParams, TerminalStreamResult};
use std::time::Duration;

/// Attempts while a daemon stops: it answers, but no longer serves.
const ATTEMPTS_MAX: usize = 50;
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Reads a page. Repeats the call if the daemon goes away meanwhile.
pub(super) async fn read_page(
    client: &Client,
    params: TerminalStreamParams,
) -> Result<TerminalStreamResult, ClientError> {
    for _ in 1..ATTEMPTS_MAX {
        match client.call_with_retry::<Stream>(&params).await {
            Err(ClientError::Wire(error)) if error.code == ErrorCode::ServiceUnavailable => {
                tokio::time::sleep(RETRY_AFTER).await;
            }
            other => return other,
        }
    }
    client.call_with_retry::<Stream>(&params).await
}

/// Returns the bytes of a page.
pub(super) fn page_bytes(page: &TerminalStreamResult) -> Result<Vec<u8>, CommandFailure> {
    let bytes = BASE64.decode(page.data.as_bytes());
    bytes.map_err(|error| CommandFailure::failed(format!("The page is not base64: {error}.")))
}
