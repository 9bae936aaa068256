//! The download of one file: attempts that continue where the last one ended, then the comparison of
//! the checksum.
//!
//! How far a download came is written down after the bytes are on the disk, every few megabytes and
//! at least every second. After a kill or a power cut it continues there.
//!
//! Invariants: the file gets its final name only after size and checksum were compared with what the
//! hub listed; no more bytes are written than the hub announced; a part that does not belong to the
//! listed file is never continued.

use super::download_answer::{AskedPart, AttemptEnd};
use super::error::PullError;
use super::file_check::{digest, find_difference};
use super::hub::HubRepository;
use super::model_folder::{ModelPlace, ModelRecord};
use super::transfer_rate::TransferRate;
use bytes::Bytes;
use hob_kit::clock::Clock;
use hob_net::{FileClient, HttpResponse, NetError};
use hob_wire::rooms::model_files::{DownloadState, ModelDownload};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Bytes that are collected before they are written.
const WRITE_BYTES: usize = 1024 * 1024;
/// Bytes between two records of the progress.
const SAFE_BYTES: u64 = 32 * 1024 * 1024;
/// The longest time between two records of the progress.
const SAFE_MS: u64 = 1_000;
/// Silence after which a connection counts as dead.
const SILENCE: Duration = Duration::from_secs(30);
/// Attempts in a row that bring nothing.
const ATTEMPTS_MAX: u32 = 6;
/// The longest pause that a server may ask for.
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// Free space that must remain after a download.
pub const ROOM_SPARE_BYTES: u64 = 256 * 1024 * 1024;

/// Access to the disk, which tests replace to fill it.
#[derive(Clone, Copy, Debug)]
pub struct DiskAccess {
    /// Returns the free space of the disk of a folder.
    pub free_bytes: fn(&Path) -> io::Result<u64>,
    /// Writes all bytes at an offset.
    pub write_at: fn(&File, &[u8], u64) -> io::Result<()>,
}

impl Default for DiskAccess {
    fn default() -> DiskAccess {
        DiskAccess {
            free_bytes: crate::install::free_bytes,
            write_at: |file, bytes, offset| file.write_all_at(bytes, offset),
        }
    }
}

/// The download of one file.
#[derive(Debug)]
pub struct FileTransfer {
    pub client: FileClient,
    pub place: ModelPlace,
    pub record: ModelRecord,
    pub clock: Clock,
    pub disk: DiskAccess,
    /// The pause after the first failed attempt; it doubles with each further one.
    pub retry_pause: Duration,
    pub progress: Arc<watch::Sender<ModelDownload>>,
}

impl FileTransfer {
    /// The pause between attempts in production.
    pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

    /// Downloads and verifies the file. Cancelling `stop` ends it soon and keeps what was fetched.
    pub async fn run(&mut self, stop: &CancellationToken) -> Result<(), PullError> {
        let done = self.fetch_and_verify(stop).await;
        if let Err(error) = &done {
            self.record.failure = match error {
                PullError::Stopped => None,
                other => Some(other.to_string()),
            };
            let (place, record) = (self.place.clone(), self.record.clone());
            // On a full disk the record may not fit either; the file it continues from is intact.
            let _ = blocking(move || place.write(&record)).await;
        }
        done
    }

    async fn fetch_and_verify(&mut self, stop: &CancellationToken) -> Result<(), PullError> {
        let mut part = self.begin().await?;
        let mut fruitless = 0;
        while part.written < self.record.bytes {
            let before = part.written;
            match self.attempt(&mut part, stop).await {
                AttemptEnd::Complete => break,
                AttemptEnd::Failed(error) => return Err(error),
                AttemptEnd::Interrupted { error, pause } => {
                    // An attempt that brought something begins the count anew.
                    fruitless = if part.written > before {
                        1
                    } else {
                        fruitless + 1
                    };
                    if fruitless >= ATTEMPTS_MAX {
                        return Err(error);
                    }
                    tracing::info!(model = self.place.name, "a download is continued: {error}");
                    let doubled = self.retry_pause * 2_u32.pow(fruitless - 1);
                    let pause = pause.unwrap_or(doubled).min(PAUSE_MAX);
                    tokio::select! {
                        () = stop.cancelled() => return Err(PullError::Stopped),
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
        self.verify(stop).await
    }

    /// Opens the part at the place from which it continues, after a look at the free space.
    async fn begin(&mut self) -> Result<PartFile, PullError> {
        let (place, record, disk) = (self.place.clone(), self.record.clone(), self.disk);
        let part = blocking(move || {
            place.prepare()?;
            let written = place.bytes_done(&record);
            let path = place.part(&record);
            let folder = path.parent().unwrap_or(&path);
            let needed_bytes = record.bytes - written + ROOM_SPARE_BYTES;
            // A disk that cannot be asked is tried.
            let free_bytes = (disk.free_bytes)(folder).unwrap_or(u64::MAX);
            if free_bytes < needed_bytes {
                return Err(PullError::NoRoom {
                    folder: folder.display().to_string(),
                    needed_bytes,
                    free_bytes,
                });
            }
            place.write(&record)?;
            let failed = |error: io::Error| PullError::at(&path, &error);
            // A link in its place is not followed.
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
            let file = File::from(opened.map_err(|error| failed(error.into()))?);
            file.set_len(written).map_err(failed)?;
            Ok((file, written))
        });
        let (file, written) = part.await?;
        self.record.safe_bytes = written;
        self.record.failure = None;
        self.report(written, DownloadState::Fetching);
        Ok(PartFile {
            file: Arc::new(file),
            written,
            safe_at_ms: self.clock.monotonic_ms(),
            rate: TransferRate::default(),
        })
    }

    /// One request and its body.
    async fn attempt(&mut self, part: &mut PartFile, stop: &CancellationToken) -> AttemptEnd {
        let record = &self.record;
        let path = HubRepository::download_path(&record.repository, &record.revision, &record.path);
        let got = tokio::select! {
            () = stop.cancelled() => return AttemptEnd::Failed(PullError::Stopped),
            got = self.client.get(&path, Some(part.written)) => got,
        };
        let answer = match got {
            Ok(answer) => answer,
            Err(error) => return AttemptEnd::of_network(&error),
        };
        let asked = AskedPart {
            record,
            from: part.written,
            has_token: self.client.token.is_some(),
        };
        let start = match asked.check(&answer) {
            Ok(start) => start,
            Err(end) => return end,
        };
        if start < part.written
            && let Err(error) = self.restart(part).await
        {
            return AttemptEnd::Failed(error);
        }
        let response = answer.response;
        self.read_body(response, part, stop).await
    }

    /// Begins the part anew, for a server that always sends the whole file.
    async fn restart(&mut self, part: &mut PartFile) -> Result<(), PullError> {
        part.written = 0;
        let file = Arc::clone(&part.file);
        let path = self.place.part(&self.record);
        blocking(move || {
            file.set_len(0)
                .map_err(|error| PullError::at(&path, &error))
        })
        .await?;
        self.save_progress(part).await
    }

    async fn read_body(
        &mut self,
        mut response: HttpResponse,
        part: &mut PartFile,
        stop: &CancellationToken,
    ) -> AttemptEnd {
        let mut buffer = Vec::with_capacity(WRITE_BYTES);
        loop {
            let chunk = match self
                .next_chunk(&mut response, part, &mut buffer, stop)
                .await
            {
                Ok(chunk) => chunk,
                Err(error) => return AttemptEnd::Failed(error),
            };
            let received = part.written + buffer.len() as u64;
            let ended = match chunk {
                Ok(Some(bytes)) if received + bytes.len() as u64 > self.record.bytes => {
                    return AttemptEnd::Failed(self.refuse_excess().await);
                }
                Ok(Some(bytes)) => {
                    buffer.extend_from_slice(&bytes);
                    self.report_received(part, buffer.len());
                    None
                }
                Ok(None) if received == self.record.bytes => Some(AttemptEnd::Complete),
                Ok(None) => Some(AttemptEnd::interrupted(PullError::Hub(format!(
                    "{} closed the connection too early.",
                    response.host()
                )))),
                Err(error) => Some(AttemptEnd::interrupted(PullError::of_network(&error))),
            };
            let since_ms = self.clock.monotonic_ms().saturating_sub(part.safe_at_ms);
            let is_due = since_ms >= SAFE_MS || received - self.record.safe_bytes >= SAFE_BYTES;
            let written = if ended.is_some() || is_due {
                self.write_and_save(part, &mut buffer).await
            } else if buffer.len() >= WRITE_BYTES {
                self.write(part, &mut buffer).await
            } else {
                Ok(())
            };
            if let Err(error) = written {
                return AttemptEnd::Failed(error);
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Waits for more of the body. What came is noted meanwhile, however long the server is silent,
    /// and at a stop.
    async fn next_chunk(
        &mut self,
        response: &mut HttpResponse,
        part: &mut PartFile,
        buffer: &mut Vec<u8>,
        stop: &CancellationToken,
    ) -> Result<Result<Option<Bytes>, NetError>, PullError> {
        let mut next = pin!(response.chunk(SILENCE));
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.write_and_save(part, buffer).await?;
                    return Err(PullError::Stopped);
                }
                chunk = &mut next => return Ok(chunk),
                () = tokio::time::sleep(Duration::from_millis(SAFE_MS)) => {
                    self.write_and_save(part, buffer).await?;
                    // A rate that nothing brings any more must not stay on the screen.
                    self.report_received(part, 0);
                }
            }
        }
    }

    /// Deletes the part of a body that is longer than announced: it is another file.
    async fn refuse_excess(&mut self) -> PullError {
        let file = self.record.path.clone();
        let what = format!("more than the announced {} bytes came", self.record.bytes);
        match self.discard().await {
            Ok(()) => PullError::Wrong { file, what },
            Err(error) => error,
        }
    }

    async fn discard(&mut self) -> Result<(), PullError> {
        let (place, mut record) = (self.place.clone(), self.record.clone());
        self.record = blocking(move || {
            place.discard_part(&mut record)?;
            Ok(record)
        })
        .await?;
        Ok(())
    }

    async fn write(&self, part: &mut PartFile, buffer: &mut Vec<u8>) -> Result<(), PullError> {
        if buffer.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::replace(buffer, Vec::with_capacity(WRITE_BYTES));
        let length = bytes.len() as u64;
        let (file, offset, write_at) = (Arc::clone(&part.file), part.written, self.disk.write_at);
        let path = self.place.part(&self.record);
        let written = blocking(move || {
            write_at(&file, &bytes, offset).map_err(|error| PullError::at(&path, &error))
        });
        written.await?;
        part.written += length;
        Ok(())
    }

    /// Publishes how much arrived, of which the last piece may not be written yet.
    fn report_received(&self, part: &mut PartFile, collected: usize) {
        let received = part.written + collected as u64;
        part.rate.note(self.clock.monotonic_ms(), received);
        let (rate, rest) = (&part.rate, self.record.bytes - received);
        self.progress.send_modify(|progress| {
            progress.bytes_done = received;
            progress.bytes_per_second = rate.bytes_per_second();
            progress.seconds_left = rate.seconds_left(rest);
        });
    }

    async fn write_and_save(
        &mut self,
        part: &mut PartFile,
        buffer: &mut Vec<u8>,
    ) -> Result<(), PullError> {
        self.write(part, buffer).await?;
        if part.written == self.record.safe_bytes {
            return Ok(());
        }
        self.save_progress(part).await
    }

    /// Syncs the part and notes how far it came.
    async fn save_progress(&mut self, part: &mut PartFile) -> Result<(), PullError> {
        self.record.safe_bytes = part.written;
        part.safe_at_ms = self.clock.monotonic_ms();
        let (place, record) = (self.place.clone(), self.record.clone());
        let file = Arc::clone(&part.file);
        blocking(move || {
            let synced = file.sync_data();
            synced.map_err(|error| PullError::at(&place.part(&record), &error))?;
            place.write(&record)
        })
        .await
    }

    /// Compares the checksum of what is on the disk, and gives the file its name.
    async fn verify(&mut self, stop: &CancellationToken) -> Result<(), PullError> {
        self.report(0, DownloadState::Verifying);
        let (place, record) = (self.place.clone(), self.record.clone());
        let (stop, progress) = (stop.clone(), Arc::clone(&self.progress));
        let path = place.part(&record);
        let checked = blocking(move || {
            let found = digest(&path, &stop, |done| {
                progress.send_modify(|progress| progress.bytes_done = done);
            })?;
            Ok(find_difference(&record, &found))
        });
        if let Some(what) = checked.await? {
            let file = self.record.path.clone();
            self.discard().await?;
            return Err(PullError::Wrong { file, what });
        }
        let (place, mut record) = (self.place.clone(), self.record.clone());
        self.record = blocking(move || {
            place.finish(&mut record)?;
            Ok(record)
        })
        .await?;
        Ok(())
    }

    fn report(&self, bytes_done: u64, state: DownloadState) {
        self.progress.send_modify(|progress| {
            progress.state = state;
            progress.bytes_done = bytes_done;
            progress.bytes_total = self.record.bytes;
            progress.bytes_per_second = None;
            progress.seconds_left = None;
        });
    }
}

/// The part while it is written.
struct PartFile {
    file: Arc<File>,
    written: u64,
    /// When the progress was noted last.
    safe_at_ms: u64,
    rate: TransferRate,
}

/// Runs work on the disk in a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PullError> + Send + 'static,
) -> Result<T, PullError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(PullError::Hub(format!(
            "The download ended unexpectedly: {error}."
        )))
    })
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
