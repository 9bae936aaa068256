//! Fault 43: ten thousand guesses from loopback, in parallel, beside decoys and an honest caller.

use crate::faults::http;
use crate::faults::rig::Rig;
use crate::faults::trial::{Trial, number_from_env, percentile};
use crate::faults::websocket::UPGRADE;
use hob_kit::randomness::Randomness;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const GUESSES: u64 = 10_000;
const GUESSERS: u64 = 8;
/// What the limiter answers in full: so many at once and so many a minute, with room for its clock.
const FULL_ANSWERS_AT_ONCE: u64 = 40;
const FULL_ANSWERS_A_SECOND: u64 = 2;
const TIMED: usize = 300;
/// Far beyond chance: the two means differ by nothing but noise.
const T_MAX: f64 = 6.0;

#[test]
fn f43_brute_force_from_loopback() {
    let trial = Trial::begin(43);
    let mut rig = Rig::new();
    rig.start();
    let made = rig.peer().must(
        "token.create",
        &json!({ "name": "decoy", "scopes": ["read"] }),
    );
    let decoy = made["token"].as_str().expect("a token").to_owned();
    let honest = Honest::start(&rig);
    let begun = Instant::now();
    let guesses = number_from_env("HOB_FAULT_GUESSES").unwrap_or(GUESSES);
    let crowd: Vec<_> = (0..GUESSERS)
        .map(|_| {
            let (port, decoy) = (rig.port(), decoy.clone());
            let randomness = Randomness::seeded(trial.randomness.u64());
            std::thread::spawn(move || {
                let mut statuses = Vec::new();
                for guess in 0..guesses / GUESSERS {
                    statuses.push(one_guess(port, guess, &randomness.hex(32), &decoy));
                }
                statuses
            })
        })
        .collect();
    let statuses: Vec<u16> = crowd
        .into_iter()
        .flat_map(|guesser| guesser.join().expect("a guesser"))
        .collect();
    let elapsed = begun.elapsed();
    let (mut honest_ms, refused) = honest.finish();
    let count = |status: u16| statuses.iter().filter(|&&seen| seen == status).count() as u64;
    let full = count(401);
    // Two credentials at once are none.
    let limited = count(429) + count(400) + count(0);
    assert_eq!(
        full + limited,
        statuses.len() as u64,
        "each guess is refused: {statuses:?}"
    );
    let allowed = FULL_ANSWERS_AT_ONCE + elapsed.as_secs() * FULL_ANSWERS_A_SECOND;
    assert!(
        full <= allowed,
        "the limiter let {full} through in {elapsed:?}"
    );
    assert_eq!(refused, 0, "the right token works meanwhile");
    let t = timing_t(&rig);
    assert!(
        t.abs() <= T_MAX,
        "a nearly right guess takes another time: t = {t:.1}"
    );
    trial.figure("guesses", statuses.len());
    trial.figure(
        "answered_in_full_per_min",
        full * 60 / elapsed.as_secs().max(60),
    );
    trial.figure("accepted", 0);
    trial.figure(
        "right_token_p99_ms",
        format_args!("{:.1}", percentile(&mut honest_ms, 99)),
    );
    trial.figure("timing_t", format_args!("{t:.2}"));
}

/// One guess at one of the doors; 0 when the connection was closed instead of answered.
fn one_guess(port: u16, guess: u64, secret: &str, decoy: &str) -> u16 {
    let wrong = format!("Authorization: Bearer {secret}");
    let id = decoy.split('_').nth(1).unwrap_or_default();
    let near = format!("Authorization: Bearer hob_{id}_{}", &secret[..48]);
    let aside = format!("X-Device-Token: {decoy}");
    let protocol = format!("Sec-WebSocket-Protocol: hob.v1, hob.token.{secret}");
    let rpc = |lines: &[&str]| http::request("POST", port, "/api/rpc/session.list", lines, "");
    let request = match guess % 5 {
        0 => rpc(&[&wrong]),
        1 => rpc(&[&near]),
        // A decoy beside the guess opens nothing and turns nothing off.
        2 => rpc(&[&wrong, &aside, &format!("Cookie: device={decoy}")]),
        3 => rpc(&[
            &wrong,
            &format!("Sec-WebSocket-Protocol: hob.token.{decoy}"),
        ]),
        _ => {
            let lines = [UPGRADE.as_slice(), &[&protocol]].concat();
            format!(
                "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{}\r\n\r\n",
                lines.join("\r\n")
            )
            .into_bytes()
        }
    };
    http::exchange(port, &request).map_or(0, |reply| reply.status)
}

/// Somebody with the right token, all the while.
struct Honest {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(Vec<f64>, usize)>,
}

impl Honest {
    fn start(rig: &Rig) -> Honest {
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        let port = rig.port();
        let bearer = format!("Authorization: Bearer {}", rig.token());
        let thread = std::thread::spawn(move || {
            let (mut took_ms, mut refused) = (Vec::new(), 0);
            while !watched.load(Ordering::Relaxed) || took_ms.is_empty() {
                let begun = Instant::now();
                let reply = http::post(port, "/api/rpc/session.list", &[&bearer], "");
                took_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
                refused += usize::from(!reply.is_ok_and(|reply| reply.status == 200));
            }
            (took_ms, refused)
        });
        Honest { stop, thread }
    }

    fn finish(self) -> (Vec<f64>, usize) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("an honest caller")
    }
}

/// Welch's t between guesses wrong from the first digit and guesses wrong only in the last, in
/// turns and without the slowest fifth, which is the machine's noise.
fn timing_t(rig: &Rig) -> f64 {
    let token = rig.token();
    let flip = |digit: u8| if digit == b'0' { '1' } else { '0' };
    let far = format!("{}{}", flip(token.as_bytes()[0]), &token[1..]);
    let near = format!("{}{}", &token[..63], flip(token.as_bytes()[63]));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..TIMED {
        for (guess, times) in [&far, &near].into_iter().zip(&mut times) {
            let bearer = format!("Authorization: Bearer {guess}");
            let begun = Instant::now();
            let reply = http::post(rig.port(), "/api/rpc/session.list", &[&bearer], "");
            times.push(begun.elapsed().as_secs_f64() * 1e6);
            assert!(
                !reply.is_ok_and(|reply| reply.status == 200),
                "a wrong token was taken"
            );
        }
    }
    let [(far_mean, far_error), (near_mean, near_error)] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.truncate(TIMED * 4 / 5);
        let count = f64::from(u32::try_from(times.len()).expect("a few hundred"));
        let mean = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    });
    (near_mean - far_mean) / (far_error + near_error).sqrt().max(f64::MIN_POSITIVE)
}
