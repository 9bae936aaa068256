//! `hob say "…"`: speaks a text aloud, or into a WAV file.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::run_request::read_piped_stdin;
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use clap::value_parser;
use data_encoding::BASE64;
use hob_core::speech;
use hob_core::speech::wav::{self, WavFile};
use hob_exec::{SandboxMode, SpawnPlan, Spawner, SpawnerParts, StdinSource, find_program};
use hob_kit::tasks::TaskGroup;
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::{Say, SpeechSayParams};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Programs that play a sound file, with their arguments; the usual ones of a desktop first.
const PLAYERS: &[(&str, &[&str])] = &[
    ("pw-play", &[]),
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
    ("afplay", &[]),
];
const REASON: &str = "the sound player the user asked for";
/// Characters of one text; about an hour and a half of speech.
const CHARS_MAX: usize = 80_000;

/// Speaks a text aloud, or into a file.
///
/// Speaks with a local service: espeak-ng unless the home has another one with the role 'tts'.
/// Without --out the sound is played. Without words the text is read from stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob say \"dinner is ready\"",
    "hob say --voice de --out morgen.wav \"Guten Morgen\"",
    "fortune | hob say --speed 80",
]))]
pub struct SayArgs {
    /// The text to speak; read from stdin if missing.
    words: Vec<String>,
    /// Writes a WAV file instead of playing the sound.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A voice of the service, such as en, de or en-us+f3.
    #[arg(long)]
    voice: Option<String>,
    /// The speed in percent of normal: 25 to 400.
    #[arg(long, value_name = "PERCENT", value_parser = value_parser!(u16).range(25..=400))]
    speed: Option<u16>,
    /// The service that speaks; the first suitable one if missing.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SayReport {
    /// The file given with `--out`.
    out: Option<PathBuf>,
    duration_ms: u64,
    service: String,
}

pub async fn run(context: &CommandContext, args: SayArgs) -> Result<(), CommandFailure> {
    let text = read_text(&args.words).await?;
    let out = args.out;
    // Looked up first: without a player, synthesizing the speech would be wasted work.
    let player = match &out {
        Some(_) => None,
        None => Some(find_player(context)?),
    };
    let params = SpeechSayParams {
        text,
        voice: args.voice,
        speed: args.speed,
        service: args.service,
    };
    let (sound, report) = synthesize(context, params, out.clone()).await?;
    if let Some(path) = &out {
        std::fs::write(path, &sound).map_err(|error| {
            CommandFailure::failed(format!("'{}' cannot be written: {error}.", path.display()))
        })?;
    }
    if let Some(player) = player {
        play(context, player, &sound).await?;
    }
    let terminal = &context.terminal;
    match (terminal.json, &out) {
        (true, _) => terminal.document(&report)?,
        (false, Some(path)) => Terminal::note(format!(
            "{} ({}.{} s, by {})",
            path.display(),
            report.duration_ms / 1_000,
            report.duration_ms % 1_000 / 100,
            report.service
        )),
        (false, None) => {}
    }
    Ok(())
}

async fn read_text(words: &[String]) -> Result<String, CommandFailure> {
    let text = if words.is_empty() {
        read_piped_stdin().await?.unwrap_or_default()
    } else {
        words.join(" ")
    };
    if text.trim().is_empty() {
        return Err(CommandFailure::usage("There is nothing to say.")
            .next("Give the words, or pipe them in: hob say \"hello\"."));
    }
    if text.chars().count() > CHARS_MAX {
        return Err(CommandFailure::usage(format!(
            "The text is longer than {CHARS_MAX} characters."
        )));
    }
    Ok(text)
}

/// Synthesizes the text, in pieces if it is long, and joins their sound.
async fn synthesize(
    context: &CommandContext,
    params: SpeechSayParams,
    out: Option<PathBuf>,
) -> Result<(Vec<u8>, SayReport), CommandFailure> {
    let client = context.client().await?;
    let weight_max = speech::weight_max(SPEECH_CHARS_MAX, params.speed);
    let mut sounds = Vec::new();
    let mut report = SayReport {
        out,
        duration_ms: 0,
        service: String::new(),
    };
    for piece in speech::split(&params.text, weight_max) {
        let piece_params = SpeechSayParams {
            text: piece.to_owned(),
            ..params.clone()
        };
        let spoken = client.call::<Say>(&piece_params).await?;
        let sound = BASE64.decode(spoken.wav.as_bytes());
        sounds.push(sound.map_err(|error| sound_failure(&error))?);
        report.service = spoken.service;
    }
    let sound = wav::join(&sounds).map_err(|error| sound_failure(&error))?;
    let whole = WavFile::parse(&sound).map_err(|error| sound_failure(&error))?;
    report.duration_ms = whole.duration_ms();
    Ok((sound, report))
}

fn sound_failure(why: &dyn std::error::Error) -> CommandFailure {
    CommandFailure::failed(format!("The sound cannot be joined: {why}."))
}

/// Returns the first installed player with its arguments.
fn find_player(context: &CommandContext) -> Result<Vec<OsString>, CommandFailure> {
    for (name, arguments) in PLAYERS {
        if let Some(program) = find_program(name, &context.host.env) {
            let mut argv = vec![program.into_os_string()];
            argv.extend(arguments.iter().map(OsString::from));
            return Ok(argv);
        }
    }
    let sentence = "No program to play sound was found.";
    Err(CommandFailure::failed(sentence).next(
        "Write a file with --out FILE, or install one: pipewire, pulseaudio-utils, alsa-utils or ffmpeg.",
    ))
}

/// Plays the sound and waits until it ends.
async fn play(
    context: &CommandContext,
    mut argv: Vec<OsString>,
    sound: &[u8],
) -> Result<(), CommandFailure> {
    let failed =
        |why: String| CommandFailure::failed(format!("The sound cannot be played: {why}."));
    let file = SoundFile::write(context, sound).map_err(|error| failed(error.to_string()))?;
    argv.push(file.0.clone().into_os_string());
    let spawner = Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: context.host.env.clone(),
        tasks: TaskGroup::new(),
        sandbox_support: None,
    });
    let program = argv[0].to_string_lossy().into_owned();
    let sandbox = SandboxMode::Unsandboxed { reason: REASON };
    let mut plan = SpawnPlan::new(argv, PathBuf::from("/"), sandbox);
    plan.stdin = StdinSource::Empty;
    // The player finds the desktop's sound server through these.
    for name in [
        "XDG_RUNTIME_DIR",
        "PULSE_SERVER",
        "PIPEWIRE_REMOTE",
        "DISPLAY",
    ] {
        if let Some(value) = context.host.env.os(name) {
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
    let code = exit.status.code();
    let sentence = format!("The sound cannot be played: {program} ended with {code}. {printed}");
    Err(CommandFailure::failed(sentence.trim()).next("Write a file with --out FILE."))
}

/// A WAV file that exists while it is played. Players need a file, not a pipe: they read the
/// lengths in its header first.
struct SoundFile(PathBuf);

impl SoundFile {
    fn write(context: &CommandContext, sound: &[u8]) -> std::io::Result<SoundFile> {
        let folder = context.host.home.run();
        std::fs::create_dir_all(&folder)?;
        let file = SoundFile(folder.join(format!("say-{}.wav", std::process::id())));
        std::fs::write(&file.0, sound)?;
        Ok(file)
    }
}

impl Drop for SoundFile {
    fn drop(&mut self) {
        // The file may be gone together with the home.
        let _ = std::fs::remove_file(&self.0);
    }
}
