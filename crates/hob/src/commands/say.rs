//! `hob say "…"`: a text spoken aloud, or into a file.

use crate::context::Context;
use crate::failure::Failure;
use crate::mind::order::piped;
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{Arg, ArgMatches, Command, value_parser};
use data_encoding::BASE64;
use hob_core::speech;
use hob_core::speech::wav::{self, Wav};
use hob_exec::{Plan, Spawner, SpawnerParts, Stdin, Walls, look_up};
use hob_kit::tasks::Tasks;
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::{Say, SayParams};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Programs that play a file, the ordinary ones of a desktop first, with what they are told.
const PLAYERS: &[(&str, &[&str])] = &[
    ("pw-play", &[]),
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
    ("afplay", &[]),
];
const REASON: &str = "a person has a sound played";
/// Letters of one text; about an hour and a half.
const CHARS_MAX: usize = 80_000;

pub fn command() -> Command {
    Command::new("say")
        .about("Speaks a text aloud, or into a file")
        .long_about(
            "Speaks with a local service, espeak-ng unless the home has another one of the role \
             'tts'. Without --out the sound is played. Without words it speaks what is piped \
             into it.",
        )
        .after_help(text::examples(&[
            "hob say \"dinner is ready\"".to_owned(),
            "hob say --voice de --out morgen.wav \"Guten Morgen\"".to_owned(),
            "fortune | hob say --speed 80".to_owned(),
        ]))
        .arg(
            Arg::new("words")
                .value_name("WORDS")
                .num_args(0..)
                .help("What to say; what is piped into it when missing"),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Writes a WAV file instead of playing the sound"),
        )
        .arg(
            Arg::new("voice")
                .long("voice")
                .value_name("VOICE")
                .help("A voice the service knows, such as en, de or en-us+f3"),
        )
        .arg(
            Arg::new("speed")
                .long("speed")
                .value_name("PERCENT")
                .value_parser(value_parser!(u16).range(25..=400))
                .help("How fast, in percent of the ordinary: 25 to 400"),
        )
        .arg(
            Arg::new("service")
                .long("service")
                .value_name("NAME")
                .help("The service that speaks; the first that can when missing"),
        )
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    /// The file, if one was asked for.
    out: Option<PathBuf>,
    duration_ms: u64,
    service: String,
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let text = words(matches).await?;
    let out = matches.get_one::<PathBuf>("out").cloned();
    // Said before anything is spoken: there would be nobody to hear it.
    let player = match &out {
        Some(_) => None,
        None => Some(player(context)?),
    };
    let order = SayParams {
        text,
        voice: matches.get_one("voice").cloned(),
        speed: matches.get_one("speed").copied(),
        service: matches.get_one("service").cloned(),
    };
    let (sound, said) = speak(context, order, out.clone()).await?;
    if let Some(path) = &out {
        std::fs::write(path, &sound).map_err(|error| {
            Failure::failed(format!("'{}' cannot be written: {error}.", path.display()))
        })?;
    }
    if let Some(player) = player {
        play(context, player, &sound).await?;
    }
    let terminal = &context.terminal;
    match (terminal.json, &out) {
        (true, _) => terminal.document(&said)?,
        (false, Some(path)) => Terminal::note(format!(
            "{} ({}.{} s, by {})",
            path.display(),
            said.duration_ms / 1_000,
            said.duration_ms % 1_000 / 100,
            said.service
        )),
        (false, None) => {}
    }
    Ok(())
}

async fn words(matches: &ArgMatches) -> Result<String, Failure> {
    let given: Vec<String> = matches
        .get_many::<String>("words")
        .map(|words| words.cloned().collect())
        .unwrap_or_default();
    let text = if given.is_empty() {
        piped().await?.unwrap_or_default()
    } else {
        given.join(" ")
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("There is nothing to say.")
            .next("Give the words, or pipe them in: hob say \"hello\"."));
    }
    if text.chars().count() > CHARS_MAX {
        return Err(Failure::usage(format!(
            "A text has at most {CHARS_MAX} letters."
        )));
    }
    Ok(text)
}

/// Has the text spoken, in pieces if it is long, and puts their sound together.
async fn speak(
    context: &Context,
    order: SayParams,
    out: Option<PathBuf>,
) -> Result<(Vec<u8>, Said), Failure> {
    let client = context.client().await?;
    let weight_max = speech::weight_max(SPEECH_CHARS_MAX, order.speed);
    let mut sounds = Vec::new();
    let mut said = Said {
        out,
        duration_ms: 0,
        service: String::new(),
    };
    for piece in speech::split(&order.text, weight_max) {
        let params = SayParams {
            text: piece.to_owned(),
            ..order.clone()
        };
        let spoken = client.call::<Say>(&params).await?;
        let sound = BASE64.decode(spoken.wav.as_bytes());
        sounds.push(sound.map_err(|error| broken(&error))?);
        said.service = spoken.service;
    }
    let sound = wav::join(&sounds).map_err(|error| broken(&error))?;
    let whole = Wav::read(&sound).map_err(|error| broken(&error))?;
    said.duration_ms = whole.duration_ms();
    Ok((sound, said))
}

fn broken(why: &dyn std::error::Error) -> Failure {
    Failure::failed(format!("The sound cannot be put together: {why}."))
}

/// The first program of this machine that plays a file, with its arguments.
fn player(context: &Context) -> Result<Vec<OsString>, Failure> {
    for (name, arguments) in PLAYERS {
        if let Some(program) = look_up(name, &context.world.env) {
            let mut argv = vec![program.into_os_string()];
            argv.extend(arguments.iter().map(OsString::from));
            return Ok(argv);
        }
    }
    let sentence = "No program of this machine plays a sound.";
    Err(Failure::failed(sentence).next(
        "Write a file with --out FILE, or install one: pipewire, pulseaudio-utils, alsa-utils or ffmpeg.",
    ))
}

/// Plays the sound and waits for its end.
async fn play(context: &Context, mut argv: Vec<OsString>, sound: &[u8]) -> Result<(), Failure> {
    let failed = |why: String| Failure::failed(format!("The sound cannot be played: {why}."));
    let file = SoundFile::write(context, sound).map_err(|error| failed(error.to_string()))?;
    argv.push(file.0.clone().into_os_string());
    let spawner = Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: context.world.env.clone(),
        tasks: Tasks::new(),
        facts: None,
    });
    let program = argv[0].to_string_lossy().into_owned();
    let walls = Walls::Unsandboxed { reason: REASON };
    let mut plan = Plan::new(argv, PathBuf::from("/"), walls);
    plan.stdin = Stdin::Empty;
    // Where the desktop's sound server listens.
    for name in [
        "XDG_RUNTIME_DIR",
        "PULSE_SERVER",
        "PIPEWIRE_REMOTE",
        "DISPLAY",
    ] {
        if let Some(value) = context.world.env.os(name) {
            plan.env.push((name.into(), value.into()));
        }
    }
    let child = spawner.spawn(plan).await;
    let child = child.map_err(|error| failed(error.to_string()))?;
    let exit = child
        .wait()
        .await
        .map_err(|error| failed(error.to_string()))?;
    if exit.is_success() {
        return Ok(());
    }
    let printed = exit.stderr.text();
    let printed = printed.lines().next().unwrap_or_default();
    let code = exit.ended.code();
    let sentence = format!("The sound cannot be played: {program} ended with {code}. {printed}");
    Err(Failure::failed(sentence.trim()).next("Write a file with --out FILE."))
}

/// A file that is there while it is played. Players want one: they read its lengths first.
struct SoundFile(PathBuf);

impl SoundFile {
    fn write(context: &Context, sound: &[u8]) -> std::io::Result<SoundFile> {
        let folder = context.world.home.run();
        std::fs::create_dir_all(&folder)?;
        let file = SoundFile(folder.join(format!("say-{}.wav", std::process::id())));
        std::fs::write(&file.0, sound)?;
        Ok(file)
    }
}

impl Drop for SoundFile {
    fn drop(&mut self) {
        // It may be gone with its home.
        let _ = std::fs::remove_file(&self.0);
    }
}
