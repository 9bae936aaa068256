//! Telling a session what a loop or a job came to: a message, once, whoever asks for it again.

use crate::asking::ask;
use hob_bus::Caller;
use hob_wire::limits::MESSAGE_BYTES_MAX;
use hob_wire::rooms::session::{Create, CreateParams, Send, SendParams};
use hob_wire::schedule::NotifyView;
use hob_wire::{Content, Role, WireError};

/// Bytes of one message, with room for the JSON around it.
const TEXT_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 8;

/// Adds `text` to the session that is to be told, which is made if it is not there. The same `key`
/// is the same message.
pub async fn tell(
    caller: &Caller,
    notify: &NotifyView,
    key: &str,
    text: &str,
) -> Result<(), WireError> {
    let create = CreateParams {
        session_key: Some(notify.session_key.clone()),
        ..CreateParams::default()
    };
    ask::<Create>(caller, &create).await?;
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let send = SendParams {
        session_key: notify.session_key.clone(),
        content: Content::from(text),
        role: Some(Role::Assistant),
        idempotency_key: Some(key.to_owned()),
    };
    ask::<Send>(caller, &send).await?;
    Ok(())
}
