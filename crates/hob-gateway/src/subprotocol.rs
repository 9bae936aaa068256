//! What a WebSocket client says in `Sec-WebSocket-Protocol`: the wire versions it speaks and, in a
//! browser, its token. Pure.

use crate::refusal::Refusal;
use axum::http::{HeaderMap, HeaderValue, header};
use hob_wire::PROTOCOL_VERSION;
use serde_json::json;

const VERSION_PREFIX: &str = "hob.v";
const TOKEN_PREFIX: &str = "hob.token.";

/// What was offered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer<'h> {
    versions: Vec<&'h str>,
    pub(crate) token: Option<&'h str>,
}

/// Reads every offer; unknown ones belong to someone else.
pub(crate) fn read(headers: &HeaderMap) -> Result<Offer<'_>, Refusal> {
    let mut offer = Offer::default();
    for line in headers.get_all(header::SEC_WEBSOCKET_PROTOCOL) {
        let line = line
            .to_str()
            .map_err(|_| Refusal::bad_request("Sec-WebSocket-Protocol is not plain text."))?;
        for word in line.split(',').map(str::trim) {
            if let Some(token) = word.strip_prefix(TOKEN_PREFIX) {
                if offer.token.replace(token).is_some() {
                    return Err(Refusal::bad_request("Offer one token, not several."));
                }
            } else if word.starts_with(VERSION_PREFIX) {
                offer.versions.push(word);
            }
        }
    }
    Ok(offer)
}

impl Offer<'_> {
    /// The version to name in the answer; none when the client named none, which means ours.
    pub(crate) fn select(&self) -> Result<Option<HeaderValue>, Refusal> {
        let ours = format!("{VERSION_PREFIX}{PROTOCOL_VERSION}");
        let Some(first) = self.versions.first() else {
            return Ok(None);
        };
        if hob_kit::failpoint::broken(38) {
            return Ok(HeaderValue::from_str(first).ok());
        }
        if self.versions.contains(&ours.as_str()) {
            return Ok(HeaderValue::from_str(&ours).ok());
        }
        let mut refusal = unsupported(&self.versions.join(", "));
        refusal.error.details = Some(json!({ "supported": [ours] }));
        Err(refusal)
    }
}

fn unsupported(offered: &str) -> Refusal {
    Refusal::bad_request(format!(
        "This hob speaks {VERSION_PREFIX}{PROTOCOL_VERSION}, the client only {offered}; bring both to the same version."
    ))
}

#[cfg(test)]
#[path = "subprotocol_tests.rs"]
mod tests;
