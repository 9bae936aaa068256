//! Who may call a job.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use subtle::ConstantTimeEq;

/// How far the time of a signature may be from ours, and how long a call that comes again is the
/// same one.
pub const REPLAY_MS: u64 = 300_000;
/// What makes a job's secret recognisable.
const PREFIX: &str = "hobhook_";
const MARK_BYTES_MAX: usize = 128;

/// Headers with which senders name a delivery.
const DELIVERY_HEADERS: [&str; 4] = [
    "x-github-delivery",
    "x-gitea-delivery",
    "x-request-id",
    "idempotency-key",
];

/// What is the same in a call that comes again; none where nothing of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(pub Option<String>);

/// Why a call is not taken. Callers are told none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It shows nothing.
    Missing,
    /// What it shows is wrong.
    Wrong,
    /// Its signature is too old, or from the future.
    Stale,
}

/// The secret of a job's callers: the house's key, the job and a nonce that a new secret changes.
pub fn secret(key: &[u8], job: &str, nonce: &str) -> String {
    let words = format!("hook\0{job}\0{nonce}");
    let made = mac(key, &[words.as_bytes()]);
    format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&made))
}

/// The header `X-Hob-Signature` for a body at a time in seconds.
pub fn sign(secret: &str, at_s: u64, body: &[u8]) -> String {
    let made = timed(secret, at_s, body);
    format!("t={at_s},v1={}", HEXLOWER.encode(&made))
}

/// Whether the sender of a call knows the secret; headers by lower-case name.
pub fn verify(
    secret: &str,
    headers: &BTreeMap<String, String>,
    body: &[u8],
    now_ms: u64,
) -> Result<Mark, Refusal> {
    let header = |name: &str| headers.get(name).map(|value| value.trim());
    if let Some(signature) = header("x-hob-signature") {
        return timed_signature(secret, signature, body, now_ms);
    }
    if let Some(signature) = header("x-hub-signature-256") {
        let given = signature.strip_prefix("sha256=").unwrap_or(signature);
        let made = mac(secret.as_bytes(), &[body]);
        same_hex(given, &made)?;
        let digest = || format!("body-{}", HEXLOWER.encode(&Sha256::digest(body)));
        return Ok(Mark(Some(delivery(headers).unwrap_or_else(digest))));
    }
    let authorization = header("authorization").ok_or(Refusal::Missing)?;
    let (scheme, token) = authorization.split_once(' ').ok_or(Refusal::Wrong)?;
    // Hashes have one length, so that comparing tells nothing of the secret's.
    let (given, known) = (Sha256::digest(token.trim()), Sha256::digest(secret));
    let same = bool::from(given.as_slice().ct_eq(known.as_slice()));
    if !scheme.eq_ignore_ascii_case("bearer") || !same {
        return Err(Refusal::Wrong);
    }
    Ok(Mark(delivery(headers)))
}

/// `t=UNIX,v1=HEX`.
fn timed_signature(
    secret: &str,
    signature: &str,
    body: &[u8],
    now_ms: u64,
) -> Result<Mark, Refusal> {
    let part = |name: &str| {
        let mut parts = signature.split(',').filter_map(|part| part.split_once('='));
        let found = parts.find(|(part, _)| part.trim() == name);
        found.map(|(_, value)| value.trim()).ok_or(Refusal::Wrong)
    };
    let at_s: u64 = part("t")?.parse().map_err(|_| Refusal::Wrong)?;
    let given = part("v1")?;
    same_hex(given, &timed(secret, at_s, body))?;
    if at_s.saturating_mul(1_000).abs_diff(now_ms) > REPLAY_MS {
        return Err(Refusal::Stale);
    }
    // Who signs the same body twice in one second says the same thing twice.
    Ok(Mark(Some(format!("{at_s}-{}", given.to_ascii_lowercase()))))
}

fn timed(secret: &str, at_s: u64, body: &[u8]) -> Vec<u8> {
    mac(secret.as_bytes(), &[format!("{at_s}.").as_bytes(), body])
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn same_hex(given: &str, made: &[u8]) -> Result<(), Refusal> {
    let given = HEXLOWER_PERMISSIVE
        .decode(given.as_bytes())
        .map_err(|_| Refusal::Wrong)?;
    let same = !made.is_empty() && bool::from(given.as_slice().ct_eq(made));
    if same { Ok(()) } else { Err(Refusal::Wrong) }
}

/// What the sender calls this delivery.
fn delivery(headers: &BTreeMap<String, String>) -> Option<String> {
    let named = DELIVERY_HEADERS
        .iter()
        .find_map(|name| headers.get(*name))?;
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mark: String = named.chars().filter(plain).take(MARK_BYTES_MAX).collect();
    (!mark.is_empty()).then(|| format!("id-{mark}"))
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
