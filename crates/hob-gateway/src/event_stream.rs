//! An answer of server-sent events: pieces that are sent as they come.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Sends `first`, then the others until there are no more.
pub(crate) fn respond(
    first: Vec<u8>,
    others: impl Stream<Item = Vec<u8>> + Send + 'static,
) -> Response<Body> {
    let pieces = stream::once(std::future::ready(first)).chain(others);
    let pieces = pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    response
}
