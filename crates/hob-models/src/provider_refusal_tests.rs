//! Refusals as providers write them.

use super::{ProviderRefusal, to_error};
use crate::error::ModelError;
use hob_core::failover::ErrorClass;
use proptest::prelude::*;

fn refused(status: u16, body: &str) -> ModelError {
    to_error(ProviderRefusal {
        status,
        body,
        retry_after_ms: None,
    })
}

#[test]
fn bodies_of_every_provider_have_their_class() {
    for (status, body, class) in [
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ErrorClass::Context,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ErrorClass::Context,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ErrorClass::Context,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ErrorClass::Context,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ErrorClass::Context,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            ErrorClass::Auth,
        ),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            ErrorClass::Auth,
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ErrorClass::Auth,
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error"}}"#,
            ErrorClass::Auth,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit; the context window is fine"}}"#,
            ErrorClass::Rate,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorClass::Overload,
        ),
        (
            400,
            r#"{"error":{"message":"flagged","code":"content_filter"}}"#,
            ErrorClass::Content,
        ),
        (
            400,
            r#"{"error":{"message":"flagged","code":"content_policy_violation","type":"image_generation_user_error"}}"#,
            ErrorClass::Content,
        ),
        (
            404,
            r#"{"error":{"message":"The model does not exist","code":"model_not_found"}}"#,
            ErrorClass::Request,
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","x"],"msg":"extra fields not permitted"}]}"#,
            ErrorClass::Request,
        ),
        (
            404,
            r#"{"error":"model \"x\" not found, try pulling it first"}"#,
            ErrorClass::Request,
        ),
        (
            502,
            "<html><body>Bad Gateway</body></html>",
            ErrorClass::Overload,
        ),
        (302, "", ErrorClass::Request),
        (504, "", ErrorClass::Timeout),
        (500, "{\"error\":null}", ErrorClass::Overload),
    ] {
        assert_eq!(refused(status, body).class, class, "{status} {body}");
    }
}

#[test]
fn a_person_reads_why() {
    let error = refused(404, r#"{"error":"model \"x\" not found."}"#);
    assert_eq!(
        error.message,
        "The provider refuses the request (404): model \"x\" not found."
    );
    let page = refused(502, "<html>secret page</html>");
    assert!(page.message.contains("web page") && !page.message.contains("secret"));
    assert!(refused(500, "").message.contains("no reason"));
}

#[test]
fn google_says_in_the_body_how_long_to_wait() {
    let body = r#"[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"19.5s"}]}}]"#;
    let error = refused(429, body);
    assert_eq!(
        (error.class, error.retry_after_ms),
        (ErrorClass::Rate, Some(19_500))
    );
}

proptest! {
    #[test]
    fn any_body_is_survived(status in 300..600_u16, body in ".{0,200}") {
        let error = refused(status, &body);
        prop_assert!(!error.message.is_empty());
    }
}
