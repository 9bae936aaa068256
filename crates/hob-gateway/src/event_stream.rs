//! An HTTP response of server-sent events.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Builds a response that sends `first`, then each of `others` as it comes.
pub fn respond(
    first: Vec<u8>,
    others: impl Stream<Item = Vec<u8>> + Send + 'static,
) -> Response<Body> {
    // The first bytes are ready already, so the head and they leave in one write.
    let pieces = stream::once(std::future::ready(first)).chain(others);
    let pieces = pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    response
}
