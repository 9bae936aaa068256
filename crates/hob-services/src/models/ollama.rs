//! A model that a running Ollama fetches: its `POST /api/pull`, which streams one JSON object per
//! line.
//!
//! Invariants: only a server that hob may use is asked; the stream is bounded; a dropped stream stops
//! the pull, and Ollama continues it at the next one.

use super::error::PullError;
use hob_net::{HttpClient, HttpRequest, HttpResponse};
use hob_wire::rooms::model_files::{DownloadState, ModelDownload};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::transfer_rate::TransferRate;
use hob_kit::clock::Clock;

/// Ollama looks for the model before it answers.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
/// While it verifies a large file it says nothing.
const SILENCE: Duration = Duration::from_mins(10);
const LINE_BYTES_MAX: usize = 64 * 1024;
/// The layers of a model that are counted.
const LAYERS_MAX: usize = 256;
const WORDS_CHARS_MAX: usize = 300;

/// A pull through a running Ollama.
#[derive(Debug)]
pub struct OllamaPull<'a> {
    pub http: &'a HttpClient,
    /// `http://HOST:PORT`.
    pub url: &'a str,
    pub name: &'a str,
    pub clock: &'a Clock,
    pub progress: &'a watch::Sender<ModelDownload>,
}

/// A line of the stream.
#[derive(Debug, Default, Deserialize)]
struct PullLine {
    #[serde(default)]
    status: String,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default)]
    completed: Option<u64>,
    #[serde(default)]
    error: Option<String>,
}

/// The layers seen so far: total and completed bytes by digest.
#[derive(Debug, Default)]
struct LayerSizes(BTreeMap<String, (u64, u64)>);

impl OllamaPull<'_> {
    /// Fetches the model and reports the progress.
    pub async fn run(&self, stop: &CancellationToken) -> Result<(), PullError> {
        tokio::select! {
            () = stop.cancelled() => Err(PullError::Stopped),
            done = self.fetch() => done,
        }
    }

    async fn fetch(&self) -> Result<(), PullError> {
        let body = serde_json::json!({ "model": self.name, "stream": true }).to_string();
        let request = HttpRequest::post(format!("{}/api/pull", self.url), body)
            .header("content-type", "application/json")
            .head_timeout(HEAD_TIMEOUT);
        let sent = self.http.send(request).await;
        let mut response = sent.map_err(|error| PullError::of_network(&error))?;
        let status = response.status();
        let (mut layers, mut rate) = (LayerSizes::default(), TransferRate::default());
        let (mut rest, mut is_done) = (Vec::new(), false);
        while let Some(line) = next_line(&mut response, &mut rest).await? {
            let line: PullLine = serde_json::from_slice(&line).unwrap_or_default();
            if let Some(error) = &line.error {
                return Err(self.refused(status, error));
            }
            is_done = line.status == "success";
            layers.note(&line);
            let (total, done) = layers.sums();
            rate.note(self.clock.monotonic_ms(), done);
            self.progress.send_modify(|progress| {
                let verifies = line.status.starts_with("verifying");
                progress.state = if verifies {
                    DownloadState::Verifying
                } else {
                    DownloadState::Fetching
                };
                (progress.bytes_done, progress.bytes_total) = (done, total);
                progress.bytes_per_second = rate.bytes_per_second();
                progress.seconds_left = rate.seconds_left(total.saturating_sub(done));
            });
        }
        match (status, is_done) {
            (200, true) => Ok(()),
            (200, false) => Err(PullError::Hub(
                "Ollama ended the pull before it was complete; pull it again to continue."
                    .to_owned(),
            )),
            _ => Err(self.refused(status, "")),
        }
    }

    fn refused(&self, status: u16, error: &str) -> PullError {
        let plain = error.chars().filter(|letter| !letter.is_control());
        let words: String = plain.take(WORDS_CHARS_MAX).collect();
        let name = self.name;
        // Ollama has no code for a missing model.
        if status == 404 || words.contains("file does not exist") || words.contains("not found") {
            return PullError::NotFound(format!("Ollama finds no model '{name}': {words}."));
        }
        match words.as_str() {
            "" => PullError::Hub(format!("Ollama answered with status {status}.")),
            words => PullError::Hub(format!("Ollama could not pull '{name}': {words}.")),
        }
    }
}

impl LayerSizes {
    fn note(&mut self, line: &PullLine) {
        let (Some(digest), Some(total)) = (&line.digest, line.total) else {
            return;
        };
        if self.0.len() < LAYERS_MAX || self.0.contains_key(digest) {
            let completed = line.completed.unwrap_or(0).min(total);
            self.0.insert(digest.clone(), (total, completed));
        }
    }

    /// The total and the completed bytes.
    fn sums(&self) -> (u64, u64) {
        let add = |(total, done): (u64, u64), layer: &(u64, u64)| {
            (total.saturating_add(layer.0), done.saturating_add(layer.1))
        };
        self.0.values().fold((0, 0), add)
    }
}

/// Reads the next line; `None` at the end of the stream.
async fn next_line(
    response: &mut HttpResponse,
    rest: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>, PullError> {
    loop {
        if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.drain(..=end).collect();
            return Ok(Some(line));
        }
        if rest.len() > LINE_BYTES_MAX {
            let why = "The server at Ollama's address sends something else than a pull.";
            return Err(PullError::Hub(why.to_owned()));
        }
        let chunk = response.chunk(SILENCE).await;
        match chunk.map_err(|error| PullError::of_network(&error))? {
            Some(bytes) => rest.extend_from_slice(&bytes),
            // The last line may have no line break.
            None if rest.is_empty() => return Ok(None),
            None => return Ok(Some(std::mem::take(rest))),
        }
    }
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
