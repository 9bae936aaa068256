//! Who may call a job.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use subtle::ConstantTimeEq;

/// How far the time of a signature may be from ours.
pub const REPLAY_MS: u64 = 300_000;
/// `t=UNIX,v1=HEX`.
const TIMED_SIGNATURE: &str = "x-hob-signature";
/// `sha256=HEX`, as GitHub and others sign.
const BODY_SIGNATURE: &str = "x-hub-signature-256";
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

/// How long what was signed is remembered. A signature of the body alone never gets old by itself,
/// so this is as long as the record of calls is kept.
const SIGNED_REPLAY_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// What makes two calls the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: the caller showed the secret itself and gave the call no name.
    Unmarked,
    /// The name a caller gave the call, having shown the secret itself.
    Delivery(String),
    /// The digest of what was signed. Headers that nobody signed have no part in it.
    Signed(String),
}

impl Mark {
    /// The same text for the same call; none where each call counts.
    pub fn key(&self) -> Option<&str> {
        match self {
            Mark::Unmarked => None,
            Mark::Delivery(key) | Mark::Signed(key) => Some(key),
        }
    }

    /// For how long a call with this mark is the same one.
    pub fn same_within_ms(&self) -> u64 {
        match self {
            Mark::Unmarked => 0,
            // Its sender sends again within minutes, or not at all.
            Mark::Delivery(_) => 2 * REPLAY_MS,
            Mark::Signed(_) => SIGNED_REPLAY_MS,
        }
    }
}

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
    if let Some(signature) = header(headers, TIMED_SIGNATURE) {
        return timed_signature(secret, signature, body, now_ms);
    }
    if let Some(signature) = header(headers, BODY_SIGNATURE) {
        let given = signature.strip_prefix("sha256=").unwrap_or(signature);
        let made = mac(secret.as_bytes(), &[body]);
        same_hex(given, &made)?;
        return Ok(signed(&[body]));
    }
    verify_bearer(secret, headers)?;
    Ok(delivery(headers).map_or(Mark::Unmarked, Mark::Delivery))
}

/// Whether a call can be judged by its headers alone: it shows the secret itself, not a signature.
pub fn shows_secret(headers: &BTreeMap<String, String>) -> bool {
    header(headers, TIMED_SIGNATURE).is_none() && header(headers, BODY_SIGNATURE).is_none()
}

/// Whether the headers hold the secret itself.
pub fn verify_bearer(secret: &str, headers: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let authorization = header(headers, "authorization").ok_or(Refusal::Missing)?;
    let (scheme, token) = authorization.split_once(' ').ok_or(Refusal::Wrong)?;
    // Hashes have one length, so that comparing tells nothing of the secret's.
    let (given, known) = (Sha256::digest(token.trim()), Sha256::digest(secret));
    let same = bool::from(given.as_slice().ct_eq(known.as_slice()));
    if !scheme.eq_ignore_ascii_case("bearer") || !same {
        return Err(Refusal::Wrong);
    }
    Ok(())
}

fn header<'h>(headers: &'h BTreeMap<String, String>, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.trim())
}

/// The mark of these signed bytes. Both kinds of signature share it: a signature with a time is one
/// of the body `TIME.BODY` as well, and must not count a second time as that.
fn signed(parts: &[&[u8]]) -> Mark {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    Mark::Signed(format!("body-{}", HEXLOWER.encode(&digest.finalize())))
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
    Ok(signed(&[format!("{at_s}.").as_bytes(), body]))
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
