//! Posts the outcome of a loop or a job to a session, once per key.

use crate::retrying_call::call_with_retry;
use hob_bus::Caller;
use hob_wire::limits::MESSAGE_BYTES_MAX;
use hob_wire::rooms::session::{Create, Send, SessionCreateParams, SessionSendParams};
use hob_wire::schedule::NotifyTargetView;
use hob_wire::{MessageContent, Role, WireError};

/// Most bytes of one message, with room for the JSON around it.
const TEXT_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 8;

/// Adds `text` to the session to notify, which is created if it is missing. The same `key` is
/// posted once.
pub async fn post_notice(
    caller: &Caller,
    notify: &NotifyTargetView,
    key: &str,
    text: &str,
) -> Result<(), WireError> {
    let create = SessionCreateParams {
        session_key: Some(notify.session_key.clone()),
        ..SessionCreateParams::default()
    };
    // Creating an existing session changes nothing, so this is safe to repeat.
    call_with_retry::<Create>(caller, &create).await?;
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let send = SessionSendParams {
        session_key: notify.session_key.clone(),
        content: MessageContent::from(text),
        role: Some(Role::Assistant),
        idempotency_key: Some(key.to_owned()),
    };
    call_with_retry::<Send>(caller, &send).await?;
    Ok(())
}
