//! Authentication of webhook calls, and detection of replays.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use subtle::ConstantTimeEq;

/// The greatest difference between a signature's timestamp and the clock.
pub const REPLAY_MS: u64 = 300_000;
/// Its value is `t=UNIX,v1=HEX`.
const TIMED_SIGNATURE: &str = "x-hob-signature";
/// Its value is `sha256=HEX`, as GitHub and others sign.
const BODY_SIGNATURE: &str = "x-hub-signature-256";
/// The prefix that makes a job's secret recognisable.
const SECRET_PREFIX: &str = "hobhook_";
const DELIVERY_KEY_BYTES_MAX: usize = 128;

/// Headers in which senders name a delivery.
const DELIVERY_HEADERS: [&str; 4] = [
    "x-github-delivery",
    "x-gitea-delivery",
    "x-request-id",
    "idempotency-key",
];

/// The time a signed call is remembered. A signature of the body alone never expires by itself, so
/// this is as long as the record of calls is kept.
const SIGNED_REPLAY_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// The identity of a call, for detecting replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayKey {
    /// None: the caller showed the secret itself and did not name the call.
    Absent,
    /// The name a caller gave the call after showing the secret itself.
    Delivery(String),
    /// The digest of the signed bytes. Unsigned headers are not part of it.
    Signed(String),
}

impl ReplayKey {
    /// Returns the same text for the same call; `None` if every call counts.
    pub fn key(&self) -> Option<&str> {
        match self {
            ReplayKey::Absent => None,
            ReplayKey::Delivery(key) | ReplayKey::Signed(key) => Some(key),
        }
    }

    /// Returns the time during which a call with this key counts as the same one.
    pub fn remembered_ms(&self) -> u64 {
        match self {
            ReplayKey::Absent => 0,
            // A sender retries within minutes or not at all.
            ReplayKey::Delivery(_) => 2 * REPLAY_MS,
            ReplayKey::Signed(_) => SIGNED_REPLAY_MS,
        }
    }
}

/// The reason a call is rejected. The caller does not learn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookAuthError {
    /// It has no credential.
    Missing,
    /// Its credential is wrong.
    Invalid,
    /// Its timestamp is too old or in the future.
    Stale,
}

/// Derives the secret of a job's callers from hob's key, the job and a nonce; a new nonce makes a
/// new secret.
pub fn job_secret(key: &[u8], job: &str, nonce: &str) -> String {
    let words = format!("hook\0{job}\0{nonce}");
    let made = mac(key, &[words.as_bytes()]);
    format!("{SECRET_PREFIX}{}", BASE64URL_NOPAD.encode(&made))
}

/// Returns the header `X-Hob-Signature` for a body at a time in seconds.
pub fn sign_body(secret: &str, at_s: u64, body: &[u8]) -> String {
    let made = timed_mac(secret, at_s, body);
    format!("t={at_s},v1={}", HEXLOWER.encode(&made))
}

/// Verifies that the sender of a call knows the secret; headers are keyed by lower-case name.
pub fn verify(
    secret: &str,
    headers: &BTreeMap<String, String>,
    body: &[u8],
    now_ms: u64,
) -> Result<ReplayKey, WebhookAuthError> {
    // Signatures come first: a wrong one is not saved by a good token beside it.
    if let Some(signature) = header(headers, TIMED_SIGNATURE) {
        return verify_timed_signature(secret, signature, body, now_ms);
    }
    if let Some(signature) = header(headers, BODY_SIGNATURE) {
        let given = signature.strip_prefix("sha256=").unwrap_or(signature);
        let made = mac(secret.as_bytes(), &[body]);
        check_hex(given, &made)?;
        return Ok(signed_key(&[body]));
    }
    verify_bearer(secret, headers)?;
    Ok(delivery_key(headers).map_or(ReplayKey::Absent, ReplayKey::Delivery))
}

/// Returns true if headers alone authenticate the call: it shows the secret itself instead of a
/// signature.
pub fn uses_bearer(headers: &BTreeMap<String, String>) -> bool {
    header(headers, TIMED_SIGNATURE).is_none() && header(headers, BODY_SIGNATURE).is_none()
}

/// Verifies that the headers contain the secret itself.
pub fn verify_bearer(
    secret: &str,
    headers: &BTreeMap<String, String>,
) -> Result<(), WebhookAuthError> {
    let authorization = header(headers, "authorization").ok_or(WebhookAuthError::Missing)?;
    let (scheme, token) = authorization
        .split_once(' ')
        .ok_or(WebhookAuthError::Invalid)?;
    // Hashes have one length, so comparing them leaks nothing about the secret's length.
    let (given, known) = (Sha256::digest(token.trim()), Sha256::digest(secret));
    let same = bool::from(given.as_slice().ct_eq(known.as_slice()));
    if !scheme.eq_ignore_ascii_case("bearer") || !same {
        return Err(WebhookAuthError::Invalid);
    }
    Ok(())
}

fn header<'h>(headers: &'h BTreeMap<String, String>, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.trim())
}

/// Returns the replay key of these signed bytes. Both kinds of signature share it: a signature with
/// a timestamp is also a valid signature of the body `TIME.BODY`, and must not count twice.
fn signed_key(parts: &[&[u8]]) -> ReplayKey {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    ReplayKey::Signed(format!("body-{}", HEXLOWER.encode(&digest.finalize())))
}

/// Verifies `t=UNIX,v1=HEX`.
fn verify_timed_signature(
    secret: &str,
    signature: &str,
    body: &[u8],
    now_ms: u64,
) -> Result<ReplayKey, WebhookAuthError> {
    let part = |name: &str| {
        let mut parts = signature.split(',').filter_map(|part| part.split_once('='));
        let found = parts.find(|(part, _)| part.trim() == name);
        found
            .map(|(_, value)| value.trim())
            .ok_or(WebhookAuthError::Invalid)
    };
    let at_s: u64 = part("t")?.parse().map_err(|_| WebhookAuthError::Invalid)?;
    let given = part("v1")?;
    check_hex(given, &timed_mac(secret, at_s, body))?;
    // Checked after the signature, so a forged time looks like any other forgery.
    if at_s.saturating_mul(1_000).abs_diff(now_ms) > REPLAY_MS {
        return Err(WebhookAuthError::Stale);
    }
    // The same body signed twice in one second is the same call.
    Ok(signed_key(&[format!("{at_s}.").as_bytes(), body]))
}

fn timed_mac(secret: &str, at_s: u64, body: &[u8]) -> Vec<u8> {
    mac(secret.as_bytes(), &[format!("{at_s}.").as_bytes(), body])
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC accepts a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn check_hex(given: &str, made: &[u8]) -> Result<(), WebhookAuthError> {
    let given = HEXLOWER_PERMISSIVE
        .decode(given.as_bytes())
        .map_err(|_| WebhookAuthError::Invalid)?;
    // An empty MAC would equal an empty credential.
    let same = !made.is_empty() && bool::from(given.as_slice().ct_eq(made));
    if same {
        Ok(())
    } else {
        Err(WebhookAuthError::Invalid)
    }
}

/// Returns the sender's name for this delivery, reduced to plain characters.
fn delivery_key(headers: &BTreeMap<String, String>) -> Option<String> {
    let named = DELIVERY_HEADERS
        .iter()
        .find_map(|name| headers.get(*name))?;
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mark: String = named
        .chars()
        .filter(plain)
        .take(DELIVERY_KEY_BYTES_MAX)
        .collect();
    (!mark.is_empty()).then(|| format!("id-{mark}"))
}

#[cfg(test)]
#[path = "authentication_tests.rs"]
mod tests;
