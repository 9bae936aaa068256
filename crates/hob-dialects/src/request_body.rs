//! The body of a request that changes something, for the dialects whose clients send JSON.
//!
//! Invariant: a page of another origin changes nothing, even if its browser sends no Origin.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, header};
use hob_gateway::http_error::HttpError;
use hob_gateway::rest;
use serde::de::DeserializeOwned;

/// The header in which a browser names the origin relation of a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Reads the body; `None` if it is empty. The content type may
/// be missing, but forms and plain texts, which any page can send, are refused.
pub(crate) async fn read_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<T>, HttpError> {
    check_sender(headers)?;
    let Some(bytes) = rest::read_json(body).await? else {
        return Ok(None);
    };
    let wrong = |why: &dyn std::fmt::Display| {
        HttpError::bad_request(format!("The body is not understood: {why}."))
    };
    // Serde would read an array as the fields of the struct, in order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(wrong(&"it is a list, and an object is needed"));
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| wrong(&error))
}

/// Like [`read_body`], for a required body.
pub(crate) async fn require_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, HttpError> {
    let read = read_body(headers, body).await?;
    read.ok_or_else(|| HttpError::bad_request("A body of JSON is needed."))
}

/// Refuses what any page can make a browser send. For requests without a body, too.
pub(crate) fn check_sender(headers: &HeaderMap) -> Result<(), HttpError> {
    if headers.contains_key(header::CONTENT_TYPE) && !rest::is_json(headers) {
        return Err(rest::not_json());
    }
    refuse_other_pages(headers)
}

/// Refuses requests from other pages. A request without a content type may come from any page, but
/// the browser names its origin relation.
fn refuse_other_pages(headers: &HeaderMap) -> Result<(), HttpError> {
    // `none` is a request that the user made directly, for example by the address bar.
    let own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    if headers
        .get_all(FETCH_SITE)
        .iter()
        .all(|site| own(site.as_bytes()))
    {
        return Ok(());
    }
    Err(HttpError::forbidden(
        "Pages of other origins may not talk to hob.",
    ))
}
