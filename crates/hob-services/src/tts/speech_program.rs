//! Runs the speech program, espeak-ng or Piper, one process per text: text on stdin, sound on
//! stdout, in the sandbox without network and without a writable path.

use crate::tts::voices::VoiceList;
use hob_core::speech::wav::WavFile;
use hob_exec::{
    Child, ChildExit, OutputMode, SandboxMode, SandboxPolicy, SpawnPlan, Spawner, StdinSource,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OnceCell;

/// The time limit of one text; synthesis is many times faster than playback.
const DEADLINE: Duration = Duration::from_mins(1);
/// The maximum size of one sound: about ten minutes.
const WAV_BYTES_MAX: usize = 32 * 1024 * 1024;
const MEMORY_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const PROCESSES_MAX: u64 = 64;
const LIST_BYTES_MAX: usize = 256 * 1024;
/// Words per minute at 100 percent, and espeak-ng's range.
const WORDS_A_MINUTE: u32 = 175;
const WORDS_MIN: u32 = 80;
const WORDS_MAX: u32 = 450;
/// The longest quote of the program's error output.
const COMPLAINT_CHARS_MAX: usize = 300;

/// The speech program and its sandbox.
#[derive(Debug)]
pub(crate) struct SpeechProgram {
    pub(crate) program: PathBuf,
    /// Piper's voice; none if the program is espeak-ng.
    pub(crate) voice_file: Option<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) spawner: Spawner,
    pub(crate) voices: OnceCell<VoiceList>,
}

/// A text to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SynthesisRequest {
    pub(crate) text: String,
    pub(crate) voice: Option<String>,
    /// In percent of the normal speed.
    pub(crate) speed: u16,
}

/// The reason why a text was not spoken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SynthesisError {
    /// The request is invalid.
    Refused(String),
    Failed(String),
}

impl SpeechProgram {
    /// Returns the sound of a text as a WAV file.
    pub(crate) async fn synthesize(
        &self,
        request: &SynthesisRequest,
    ) -> Result<Vec<u8>, SynthesisError> {
        let arguments = match &self.voice_file {
            Some(file) => piper_arguments(file, request)?,
            None => self.espeak_arguments(request).await?,
        };
        let mut plan = self.plan(&arguments);
        plan.output_mode = OutputMode::Pipes;
        plan.stdin = StdinSource::Open;
        let child = self
            .spawner
            .spawn(plan)
            .await
            .map_err(|error| spawn_failure(&error))?;
        // Piper treats each line as a separate text.
        let text = request.text.replace(['\n', '\r'], " ");
        let sound = exchange(&child, text.as_bytes()).await;
        // The process has ended before an error of the exchange is returned.
        let exit = child.wait().await.map_err(|error| spawn_failure(&error))?;
        let sound = sound?;
        if !exit.is_success() {
            return Err(failure_with_output(&exit));
        }
        // The programs write the header before they know the length, so it is written again.
        let wav = WavFile::parse(&sound).and_then(|wav| wav.to_bytes());
        wav.map_err(|why| {
            SynthesisError::Failed(format!("The speech program returned no sound: {why}."))
        })
    }

    async fn espeak_arguments(
        &self,
        request: &SynthesisRequest,
    ) -> Result<Vec<OsString>, SynthesisError> {
        let voices = self.voices().await?;
        let voice = voices.choose(request.voice.as_deref());
        let voice = voice.map_err(SynthesisError::Refused)?;
        let words = u32::from(request.speed) * WORDS_A_MINUTE / 100;
        let words = words.clamp(WORDS_MIN, WORDS_MAX).to_string();
        let arguments = ["--stdin", "--stdout", "-b", "1", "-v", &voice, "-s", &words];
        Ok(arguments.iter().map(OsString::from).collect())
    }

    async fn voices(&self) -> Result<&VoiceList, SynthesisError> {
        let ask = || async {
            let voices = self.list_voices("--voices").await?;
            let variants = self.list_voices("--voices=variant").await?;
            Ok(VoiceList::parse(&voices, &variants))
        };
        self.voices.get_or_try_init(ask).await
    }

    async fn list_voices(&self, argument: &str) -> Result<String, SynthesisError> {
        let mut plan = self.plan(&[argument.into()]);
        plan.limits.kept_output_bytes = LIST_BYTES_MAX;
        let child = self
            .spawner
            .spawn(plan)
            .await
            .map_err(|error| spawn_failure(&error))?;
        let exit = child.wait().await.map_err(|error| spawn_failure(&error))?;
        if !exit.is_success() {
            return Err(failure_with_output(&exit));
        }
        Ok(exit.stdout.text())
    }

    fn plan(&self, arguments: &[OsString]) -> SpawnPlan {
        let mut argv = vec![self.program.clone().into_os_string()];
        argv.extend_from_slice(arguments);
        let policy = SandboxPolicy {
            read: vec![PathBuf::from("/")],
            write: Vec::new(),
            protected: Vec::new(),
            bound_files: Vec::new(),
            hidden: self.hidden.clone(),
            network: hob_exec::NetworkAccess::Off,
            unix_sockets: false,
        };
        let mut plan = SpawnPlan::new(argv, PathBuf::from("/"), SandboxMode::Policy(policy));
        plan.deadline = Some(DEADLINE);
        plan.limits.processes = PROCESSES_MAX;
        plan.limits.memory_bytes = Some(MEMORY_BYTES_MAX);
        plan
    }
}

fn piper_arguments(
    voice_file: &Path,
    request: &SynthesisRequest,
) -> Result<Vec<OsString>, SynthesisError> {
    if let Some(voice) = &request.voice {
        let shown: String = voice.chars().take(64).collect();
        return Err(SynthesisError::Refused(format!(
            "There is no voice '{shown}': Piper has the one that piper.voice names."
        )));
    }
    // Piper's scale is the length of the sound, so it is the inverse of the speed.
    let scale = f64::from(100) / f64::from(request.speed);
    Ok(vec![
        "--model".into(),
        voice_file.into(),
        "--length_scale".into(),
        format!("{scale:.2}").into(),
        "--output_file".into(),
        "-".into(),
    ])
}

/// Writes the text and reads the sound concurrently.
async fn exchange(child: &Child, text: &[u8]) -> Result<Vec<u8>, SynthesisError> {
    let Some((mut stdin, stdout)) = child.take_pipes().await else {
        return Err(SynthesisError::Failed(
            "The speech program has no pipes.".to_owned(),
        ));
    };
    let write = async move {
        // If the program ends early, its exit status explains why.
        let _ = stdin.write_all(text).await;
        let _ = stdin.shutdown().await;
    };
    let mut sound = Vec::new();
    // One byte more than allowed, to notice a sound that is too long.
    let mut bounded = stdout.take(WAV_BYTES_MAX as u64 + 1);
    // Concurrently, because a full pipe in one direction would block the program in the other.
    let (read, ()) = tokio::join!(bounded.read_to_end(&mut sound), write);
    read.map_err(|error| {
        SynthesisError::Failed(format!(
            "The output of the speech program cannot be read: {error}."
        ))
    })?;
    if sound.len() > WAV_BYTES_MAX {
        child.request_cancel();
        let why = "This text takes too long to say; send it in pieces.";
        return Err(SynthesisError::Refused(why.to_owned()));
    }
    Ok(sound)
}

fn spawn_failure(error: &hob_exec::ExecError) -> SynthesisError {
    SynthesisError::Failed(format!("The speech program does not run: {error}"))
}

fn failure_with_output(exit: &ChildExit) -> SynthesisError {
    let printed = exit.stderr.text();
    let printed: String = printed.trim().chars().take(COMPLAINT_CHARS_MAX).collect();
    let code = exit.status.code();
    SynthesisError::Failed(format!(
        "The speech program failed with exit code {code}. {printed}"
    ))
}
