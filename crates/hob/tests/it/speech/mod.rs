//! Speech as a person and a program meet it: espeak-ng really speaks, and what it says is measured.

mod sound;

use crate::support::{House, wait_until};
use serde_json::{Value, json};
use sound::Sound;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A sound whose mean is below this is silence.
const LOUD: f64 = 200.0;

/// Has `text` spoken into a file.
fn say(house: &House, more: &[&str]) -> (Sound, Value) {
    let path = house.work().join("said.wav");
    let out = path.to_str().expect("UTF-8").to_owned();
    let mut line = vec!["--json", "say", "--out", &out];
    line.extend(more);
    let told: Value = serde_json::from_str(&house.hob(&line).success()).expect("JSON");
    assert_eq!(told["out"], out);
    let sound = Sound::read(&std::fs::read(&path).expect("the file is there"));
    assert_eq!(told["durationMs"].as_u64(), Some(sound.duration_ms));
    (sound, told)
}

/// A request with a body of JSON: the status, the head and the body.
fn post(house: &House, path: &str, token: &str, body: &Value) -> (u16, String, Vec<u8>) {
    let mut answer = Vec::new();
    house
        .post(path, token, body)
        .read_to_end(&mut answer)
        .expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.expect("a head");
    let head = String::from_utf8(answer[..end].to_vec()).expect("a head is text");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), head, answer[end + 4..].to_vec())
}

/// What a command that must fail says.
fn refused(house: &House, line: &[&str]) -> String {
    let finished = house.hob(line);
    assert_ne!(finished.code, Some(0), "{finished:?}");
    finished.stderr
}

/// What a line of shell that must fail says.
fn refused_shell(house: &House, line: &str) -> String {
    let finished = house.shell(line);
    assert_ne!(finished.code, Some(0), "{finished:?}");
    finished.stderr
}

#[test]
fn espeak_speaks() {
    let house = House::start();
    let (short, told) = say(&house, &["Hello there, this is hob."]);
    assert_eq!(told["service"], "tts");
    assert!((500..10_000).contains(&short.duration_ms), "{short:?}");
    assert!(short.loudness > LOUD, "{short:?}");
    let (long, _) = say(
        &house,
        &["Hello there, this is hob.", "And it says more than that."],
    );
    assert!(long.duration_ms > short.duration_ms, "{long:?} {short:?}");
    let (slow, _) = say(&house, &["--speed", "60", "Hello there, this is hob."]);
    assert!(slow.duration_ms > short.duration_ms, "{slow:?} {short:?}");
    let (other, _) = say(
        &house,
        &["--voice", "de+f2", "--service", "kokomo", "Guten Morgen"],
    );
    assert!(other.loudness > LOUD, "{other:?}");

    let piped = house.shell("echo 'words from a pipe' | hob --json say --out piped.wav");
    let told: Value = serde_json::from_str(&piped.success()).expect("JSON");
    assert!(told["durationMs"].as_u64() > Some(300));
    // It is a service like any other.
    let listed = house.hob(&["--json", "rpc", "service.status", r#"{"name":"kokomo"}"#]);
    let status: Value = serde_json::from_str(&listed.success()).expect("JSON");
    assert_eq!(
        (&status["name"], &status["state"]),
        (&json!("tts"), &json!("running"))
    );
}

#[test]
fn a_long_text_is_spoken_in_pieces_that_make_one_file() {
    let house = House::start();
    let sentence = "This is a sentence of a middling length, spoken again. ";
    let (one, _) = say(&house, &[sentence]);
    let text = sentence.repeat(40);
    assert!(text.len() > 2_000);
    let (all, _) = say(&house, &[&text]);
    let expected = one.duration_ms * 40;
    assert!(
        all.duration_ms > expected / 2 && all.duration_ms < expected * 2,
        "{} ms for forty times {} ms",
        all.duration_ms,
        one.duration_ms
    );
    assert!(all.loudness > LOUD, "{all:?}");
}

#[test]
fn programs_ask_over_http() {
    let house = House::start();
    let line = ["token", "create", "--name", "voice", "--scope", "chat"];
    let token = house.hob(&line).success().trim().to_owned();
    let words = "Hello there, this is hob.";
    for (path, body) in [
        ("/tts", json!({ "text": words })),
        (
            "/tts",
            json!({ "input": words, "voice": "en-gb", "speed": 90, "temperature": 0.5 }),
        ),
        (
            "/v1/audio/speech",
            json!({ "model": "tts-1", "input": words, "voice": "alloy" }),
        ),
        (
            "/v1/audio/speech",
            json!({ "input": words, "speed": 1.5, "response_format": "wav" }),
        ),
    ] {
        let (status, head, sound) = post(&house, path, &token, &body);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&sound));
        assert!(
            head.to_lowercase().contains("content-type: audio/wav"),
            "{head}"
        );
        let sound = Sound::read(&sound);
        assert!((500..10_000).contains(&sound.duration_ms), "{sound:?}");
        assert!(sound.loudness > LOUD, "{sound:?}");
    }
    for (path, body, why) in [
        ("/tts", json!({ "text": " " }), "empty"),
        ("/tts", json!({}), "'text'"),
        ("/tts", json!({ "text": "x", "voice": "elvish" }), "elvish"),
        ("/tts", json!({ "text": "x", "service": "llm" }), "llm"),
        ("/tts", json!({ "text": "x".repeat(10_001) }), "10000"),
        (
            "/v1/audio/speech",
            json!({ "input": "x", "response_format": "mp3" }),
            "'mp3'",
        ),
        (
            "/v1/audio/speech",
            json!({ "input": "x", "speed": 9 }),
            "speed",
        ),
    ] {
        let (status, _, told) = post(&house, path, &token, &body);
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        let message = told["error"]["message"].as_str().expect("a sentence");
        assert!(
            (400..500).contains(&status) && message.contains(why),
            "{status} {told}"
        );
    }
    let line = ["token", "create", "--name", "reader", "--scope", "read"];
    let reader = house.hob(&line).success().trim().to_owned();
    assert_eq!(
        post(&house, "/tts", &reader, &json!({ "text": "x" })).0,
        403
    );
    assert_eq!(
        post(
            &house,
            "/v1/audio/speech",
            "hob_wrong",
            &json!({ "input": "x" })
        )
        .0,
        401
    );
}

#[test]
fn the_official_client_gets_a_sound() {
    let house = House::start();
    let file = house.work().join("client.wav");
    let script = "\
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2])
with client.audio.speech.with_streaming_response.create(
    model='tts-1', voice='nova', input='Hello from the official client.', response_format='wav'
) as answer:
    answer.stream_to_file(sys.argv[3])
try:
    client.audio.speech.create(model='tts-1', voice='nova', input='x', response_format='opus')
    sys.exit('it must be refused')
except openai.BadRequestError as error:
    assert 'wav' in str(error), error
";
    let tools = Path::new(env!("CARGO_BIN_EXE_hob"));
    let tools = tools
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/hob");
    #[expect(
        clippy::disallowed_methods,
        reason = "a test stands outside every room and starts clients as a person would"
    )]
    let mut python = Command::new("python3");
    let output = python
        .args([
            "-c",
            script,
            &format!("http://{}/v1", house.address()),
            &house.token(),
        ])
        .arg(&file)
        .env("PYTHONPATH", tools.join("tools/python/openai"))
        .stdin(Stdio::null())
        .output()
        .expect("python3 runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "is it installed by 'cargo xtask test'? {printed}"
    );
    let sound = Sound::read(&std::fs::read(&file).expect("the file is there"));
    assert!(
        sound.duration_ms > 500 && sound.loudness > LOUD,
        "{sound:?}"
    );
}

#[test]
fn what_cannot_be_said_is_said_in_words() {
    let house = House::start();
    let told = refused(
        &house,
        &["say", "--out", "/dev/null", "--voice", "elvish", "nuqneH"],
    );
    assert!(
        told.contains("elvish") && told.contains("espeak-ng --voices"),
        "{told}"
    );
    let told = refused(&house, &["say", "--out", "/dev/null", "  "]);
    assert!(told.contains("nothing to say"), "{told}");
    let told = refused(&house, &["say", "--out", "/nowhere/x.wav", "hello"]);
    assert!(told.contains("/nowhere/x.wav"), "{told}");
    let told = refused(
        &house,
        &["say", "--out", "/dev/null", "--service", "llm", "hello"],
    );
    assert!(told.contains("tts"), "{told}");
    let huge = "word ".repeat(20_000);
    std::fs::write(house.work().join("huge.txt"), huge).expect("it is written");
    let told = refused_shell(&house, "hob say --out /dev/null < huge.txt");
    assert!(told.contains("80000"), "{told}");
    // Letters that are no words must not break anything.
    let (odd, _) = say(&house, &["[[x]] <speak> \u{1f600} \\ `ls` $(ls) ; -v de"]);
    assert!(odd.duration_ms > 0);
}

/// A folder with links to these programs and no others.
fn only(house: &House, programs: &[&str]) -> PathBuf {
    let folder = house.work().join("only");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in programs {
        let script = format!(
            "#!/bin/sh\nlast=\"\"; for last; do :; done\ncp \"$last\" {}/played.wav\n",
            house.work().display()
        );
        let path = folder.join(name);
        std::fs::write(&path, script).expect("it is written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("it is made a program");
    }
    folder
}

#[test]
fn a_sound_is_played_by_what_the_machine_has() {
    let house = House::start();
    let hob = Path::new(env!("CARGO_BIN_EXE_hob")).display();
    let empty = only(&house, &[]);
    let told = refused_shell(&house, &format!("PATH={} {hob} say hello", empty.display()));
    assert!(
        told.contains("--out") && told.contains("alsa-utils"),
        "{told}"
    );
    let desktop = only(&house, &["aplay"]);
    let played = house.shell(&format!(
        "PATH={}:/bin:/usr/bin {hob} say hello",
        desktop.display()
    ));
    played.success();
    let sound =
        Sound::read(&std::fs::read(house.work().join("played.wav")).expect("it was played"));
    assert!(sound.loudness > LOUD, "{sound:?}");
    let left = std::fs::read_dir(house.home().join("run")).expect("a folder");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with("say-")),
        "{left:?}"
    );
}

#[test]
fn without_espeak_it_says_what_to_install() {
    let empty = tempfile::tempdir().expect("a folder");
    let path = empty.path().to_str().expect("UTF-8");
    let house = House::builder().env("PATH", path).start();
    let told = refused(&house, &["say", "--out", "/dev/null", "hello"]);
    assert!(told.contains("espeak-ng is not installed"), "{told}");
}

#[test]
fn a_server_that_dies_is_started_again() {
    let house = House::start();
    say(&house, &["first"]);
    let status = |house: &House| -> Value {
        let told = house.hob(&["--json", "rpc", "service.status", r#"{"name":"tts"}"#]);
        serde_json::from_str(&told.success()).expect("JSON")
    };
    let before = status(&house);
    let pid = before["pid"]
        .as_u64()
        .and_then(|pid| i32::try_from(pid).ok());
    let pid = rustix::process::Pid::from_raw(pid.expect("it runs")).expect("a pid");
    let killing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
    });
    // Whatever it is doing then, all of it is said.
    let words = "These are many words that take a while to say. ".repeat(60);
    let (sound, _) = say(&house, &[&words]);
    killing.join().expect("it ends").expect("it is killed");
    assert!(sound.duration_ms > 30_000, "{sound:?}");
    wait_until("it runs again", || status(&house)["state"] == "running");
    assert_ne!(status(&house)["pid"], before["pid"]);
}
