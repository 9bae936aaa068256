//! The program that speaks, espeak-ng or Piper, a process for each text: the text on stdin, the
//! sound on stdout, in the sandbox without network and without a place to write.

use crate::tts::voices::Voices;
use hob_core::speech::wav::Wav;
use hob_exec::{Child, Exit, Feed, Plan, Policy, Spawner, Stdin, Walls};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OnceCell;

/// How long one text may take; the sound comes many times faster than it plays.
const DEADLINE: Duration = Duration::from_mins(1);
/// The longest sound of one text: about ten minutes.
const WAV_BYTES_MAX: usize = 32 * 1024 * 1024;
const MEMORY_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const PROCESSES_MAX: u64 = 64;
const LIST_BYTES_MAX: usize = 256 * 1024;
/// Words a minute at 100 percent, and what espeak-ng takes at all.
const WORDS_A_MINUTE: u32 = 175;
const WORDS_MIN: u32 = 80;
const WORDS_MAX: u32 = 450;
/// Of what it prints when it fails.
const COMPLAINT_CHARS_MAX: usize = 300;

/// The program, and what it must not see.
#[derive(Debug)]
pub(crate) struct Speaker {
    pub(crate) program: PathBuf,
    /// Piper's voice; none: the program is espeak-ng.
    pub(crate) voice_file: Option<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) spawner: Spawner,
    pub(crate) voices: OnceCell<Voices>,
}

/// What is to be said, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) text: String,
    pub(crate) voice: Option<String>,
    /// In percent of the ordinary.
    pub(crate) speed: u16,
}

/// Why it was not said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The order is wrong.
    Refused(String),
    Failed(String),
}

impl Speaker {
    /// The sound of a text, as a WAV file.
    pub(crate) async fn speak(&self, order: &Order) -> Result<Vec<u8>, Silence> {
        let arguments = match &self.voice_file {
            Some(file) => piper_arguments(file, order)?,
            None => self.espeak_arguments(order).await?,
        };
        let mut plan = self.plan(&arguments);
        plan.feed = Feed::Pipes;
        plan.stdin = Stdin::Open;
        let child = self
            .spawner
            .spawn(plan)
            .await
            .map_err(|error| failed(&error))?;
        // Piper takes each line for a text of its own.
        let text = order.text.replace(['\n', '\r'], " ");
        let sound = talk(&child, text.as_bytes()).await;
        let exit = child.wait().await.map_err(|error| failed(&error))?;
        let sound = sound?;
        if !exit.is_success() {
            return Err(complaint(&exit));
        }
        let mended = Wav::read(&sound).and_then(|wav| wav.write());
        mended.map_err(|why| {
            Silence::Failed(format!("The program that speaks gave no sound: {why}."))
        })
    }

    async fn espeak_arguments(&self, order: &Order) -> Result<Vec<OsString>, Silence> {
        let voices = self.voices().await?;
        let voice = voices.choose(order.voice.as_deref());
        let voice = voice.map_err(Silence::Refused)?;
        let words = u32::from(order.speed) * WORDS_A_MINUTE / 100;
        let words = words.clamp(WORDS_MIN, WORDS_MAX).to_string();
        let arguments = ["--stdin", "--stdout", "-b", "1", "-v", &voice, "-s", &words];
        Ok(arguments.iter().map(OsString::from).collect())
    }

    async fn voices(&self) -> Result<&Voices, Silence> {
        let ask = || async {
            let voices = self.list("--voices").await?;
            let variants = self.list("--voices=variant").await?;
            Ok(Voices::read(&voices, &variants))
        };
        self.voices.get_or_try_init(ask).await
    }

    async fn list(&self, argument: &str) -> Result<String, Silence> {
        let mut plan = self.plan(&[argument.into()]);
        plan.limits.kept_output_bytes = LIST_BYTES_MAX;
        let child = self
            .spawner
            .spawn(plan)
            .await
            .map_err(|error| failed(&error))?;
        let exit = child.wait().await.map_err(|error| failed(&error))?;
        if !exit.is_success() {
            return Err(complaint(&exit));
        }
        Ok(exit.stdout.text())
    }

    fn plan(&self, arguments: &[OsString]) -> Plan {
        let mut argv = vec![self.program.clone().into_os_string()];
        argv.extend_from_slice(arguments);
        let policy = Policy {
            read: vec![PathBuf::from("/")],
            write: Vec::new(),
            protected: Vec::new(),
            bound_files: Vec::new(),
            hidden: self.hidden.clone(),
            network: hob_exec::NetworkAccess::Off,
            unix_sockets: false,
        };
        let mut plan = Plan::new(argv, PathBuf::from("/"), Walls::Policy(policy));
        plan.deadline = Some(DEADLINE);
        plan.limits.processes = PROCESSES_MAX;
        plan.limits.memory_bytes = Some(MEMORY_BYTES_MAX);
        plan
    }
}

fn piper_arguments(voice_file: &Path, order: &Order) -> Result<Vec<OsString>, Silence> {
    if let Some(voice) = &order.voice {
        let shown: String = voice.chars().take(64).collect();
        return Err(Silence::Refused(format!(
            "There is no voice '{shown}': Piper has the one that piper.voice names."
        )));
    }
    // How long a sound is drawn out, against the ordinary.
    let scale = f64::from(100) / f64::from(order.speed);
    Ok(vec![
        "--model".into(),
        voice_file.into(),
        "--length_scale".into(),
        format!("{scale:.2}").into(),
        "--output_file".into(),
        "-".into(),
    ])
}

/// Writes the text and reads the sound, side by side.
async fn talk(child: &Child, text: &[u8]) -> Result<Vec<u8>, Silence> {
    let Some((mut stdin, stdout)) = child.take_pipes().await else {
        return Err(Silence::Failed(
            "The program that speaks has no pipes.".to_owned(),
        ));
    };
    let write = async move {
        // One that ends early says why by how it ends.
        let _ = stdin.write_all(text).await;
        let _ = stdin.shutdown().await;
    };
    let mut sound = Vec::new();
    let mut bounded = stdout.take(WAV_BYTES_MAX as u64 + 1);
    let (read, ()) = tokio::join!(bounded.read_to_end(&mut sound), write);
    read.map_err(|error| {
        Silence::Failed(format!("The program that speaks cannot be heard: {error}."))
    })?;
    if sound.len() > WAV_BYTES_MAX {
        child.tell_to_end();
        let why = "This text takes too long to say; send it in pieces.";
        return Err(Silence::Refused(why.to_owned()));
    }
    Ok(sound)
}

fn failed(error: &hob_exec::ExecError) -> Silence {
    Silence::Failed(format!("The program that speaks does not run: {error}"))
}

fn complaint(exit: &Exit) -> Silence {
    let printed = exit.stderr.text();
    let printed: String = printed.trim().chars().take(COMPLAINT_CHARS_MAX).collect();
    let code = exit.ended.code();
    Silence::Failed(format!(
        "The program that speaks failed with {code}. {printed}"
    ))
}
