//! Parser for `Sec-WebSocket-Protocol`: the wire versions that a client speaks and, in a browser,
//! its token. Pure.

use crate::http_error::HttpError;
use axum::http::{HeaderMap, HeaderValue, header};
use hob_wire::PROTOCOL_VERSION;
use serde_json::json;

const VERSION_PREFIX: &str = "hob.v";
const TOKEN_PREFIX: &str = "hob.token.";

/// The versions and the token that a client offers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SubprotocolOffer<'h> {
    versions: Vec<&'h str>,
    pub(crate) token: Option<&'h str>,
}

/// Parses all offers. Unknown ones are ignored.
pub(crate) fn read(headers: &HeaderMap) -> Result<SubprotocolOffer<'_>, HttpError> {
    let mut offer = SubprotocolOffer::default();
    for line in headers.get_all(header::SEC_WEBSOCKET_PROTOCOL) {
        let line = line
            .to_str()
            .map_err(|_| HttpError::bad_request("Sec-WebSocket-Protocol is not plain text."))?;
        for word in line.split(',').map(str::trim) {
            if let Some(token) = word.strip_prefix(TOKEN_PREFIX) {
                // Two tokens are ambiguous: neither may silently win.
                if offer.token.replace(token).is_some() {
                    return Err(HttpError::bad_request("Offer one token, not several."));
                }
            } else if word.starts_with(VERSION_PREFIX) {
                offer.versions.push(word);
            }
        }
    }
    Ok(offer)
}

impl SubprotocolOffer<'_> {
    /// Selects the version for the answer; `None` if the client named none, which means ours.
    pub(crate) fn select(&self) -> Result<Option<HeaderValue>, HttpError> {
        let ours = format!("{VERSION_PREFIX}{PROTOCOL_VERSION}");
        if self.versions.is_empty() {
            return Ok(None);
        }
        if self.versions.contains(&ours.as_str()) {
            return Ok(HeaderValue::from_str(&ours).ok());
        }
        // The details let a client pick a version without parsing the message.
        let mut refusal = unsupported(&self.versions.join(", "));
        refusal.error.details = Some(json!({ "supported": [ours] }));
        Err(refusal)
    }
}

fn unsupported(offered: &str) -> HttpError {
    HttpError::bad_request(format!(
        "This hob speaks {VERSION_PREFIX}{PROTOCOL_VERSION}, the client only {offered}; bring both to the same version."
    ))
}

#[cfg(test)]
#[path = "subprotocol_tests.rs"]
mod tests;
