//! `terminal.stream`: the bytes of a recording, page by page, from any offset.
//!
//! Invariants: a page ends at the latest where the owner of the terminal has processed the
//! recording, so it agrees with the stored places of commands; `ended` is said only when nothing
//! can follow, and for a command only after its end is stored.

use super::TerminalContext;
use super::messages::{self, invalid, not_found, stopping};
use super::requests::wait_until;
use super::session::RecordingView;
use data_encoding::BASE64;
use hob_bus::RequestContext;
use hob_core::terminal::shell_marks::{mark_head_bytes, mask_keys};
use hob_exec::tmux::recording::{RecordedPage, read_page, recording_end};
use hob_exec::tmux::shells::KEY_DIGITS;
use hob_wire::rooms::terminal::{CommandState, TerminalStreamParams, TerminalStreamResult};
use hob_wire::{CommandId, ErrorCode, WireError};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Bytes of a page.
const PAGE_BYTES_MAX: usize = 256 * 1024;
/// Bytes before a page in which a mark may begin whose key reaches into it.
const BYTES_BEFORE: u64 = mark_head_bytes(KEY_DIGITS) as u64 - 1;

/// Time until a command is looked up again whose terminal is not recovered yet.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The part of a recording that a request is about, as it is now.
struct StreamSource {
    name: String,
    /// None if the command has not begun.
    recording: Option<String>,
    from: u64,
    end: u64,
    has_ended: bool,
    state: Option<CommandState>,
    /// Changes when there may be more; none for the recording of a terminal that has ended.
    changes: Option<watch::Receiver<RecordingView>>,
}

impl TerminalContext {
    pub(super) async fn stream(
        &self,
        call: RequestContext,
        params: TerminalStreamParams,
    ) -> Result<TerminalStreamResult, WireError> {
        let until = params.wait_ms.map(|wait_ms| wait_until(Some(wait_ms)));
        loop {
            let source = match params.command {
                Some(id) => self.command_source(id).await?,
                None => self.terminal_source(&params).await?,
            };
            let recordings = params.recording.as_ref().zip(source.recording.as_ref());
            if recordings.is_some_and(|(wanted, found)| wanted != found) {
                return Err(gone(&source.name));
            }
            let page = self.page(&source, &params).await?;
            let Some(until) = until.filter(|until| *until > Instant::now()) else {
                return Ok(page);
            };
            if page.next > page.offset || page.skipped > 0 || page.ended {
                return Ok(page);
            }
            let changed = async {
                match source.changes {
                    // An error means that the owner is gone; then the source is another one.
                    Some(mut changes) => {
                        let _ = changes.changed().await;
                    }
                    None => tokio::time::sleep(ASK_AGAIN_AFTER).await,
                }
            };
            tokio::select! {
                // After a timeout the page is read once more.
                _ = tokio::time::timeout_at(until, changed) => {}
                // Nobody gets the answer, and a waiting request takes the place of another.
                () = call.abandoned.cancelled() => return Ok(page),
                () = self.stopping.cancelled() => return Err(stopping()),
            }
        }
    }

    async fn terminal_source(
        &self,
        params: &TerminalStreamParams,
    ) -> Result<StreamSource, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let mut source = StreamSource {
            name: name.to_owned(),
            recording: params.recording.clone(),
            from: 0,
            end: u64::MAX,
            has_ended: true,
            state: None,
            changes: None,
        };
        let handle = self.find(name).await?;
        let is_wanted = |id: &str| params.recording.as_deref().is_none_or(|it| it == id);
        match handle.filter(|handle| is_wanted(&handle.id)) {
            Some(handle) => {
                let mut changes = handle.recording.clone();
                source.end = changes.borrow_and_update().end;
                source.recording = Some(handle.id);
                source.has_ended = false;
                source.changes = Some(changes);
            }
            None if params.recording.is_none() => return Err(not_found(name)),
            None => {}
        }
        Ok(source)
    }

    async fn command_source(&self, id: CommandId) -> Result<StreamSource, WireError> {
        let mut command = self.deps.store.command(id).await?;
        let mut changes = None;
        if !command.state.is_final()
            && let Some(handle) = self.find(&command.terminal).await?
        {
            // Marked as seen before the command is looked up, so that no change is missed.
            let mut view = handle.recording.clone();
            let seen = *view.borrow_and_update();
            if let Some((_, from)) = seen.running.filter(|(running, _)| *running == id) {
                return Ok(StreamSource {
                    name: command.terminal,
                    recording: Some(handle.id),
                    from,
                    end: seen.end,
                    has_ended: false,
                    state: Some(CommandState::Running),
                    changes: Some(view),
                });
            }
            changes = Some(view);
        }
        // Looked up again: it may have ended before the view was taken, or with its terminal.
        if !command.state.is_final() {
            command = self.deps.store.command(id).await?;
        }
        let has_ended = command.state.is_final();
        let recorded = command.recorded.filter(|_| has_ended);
        Ok(StreamSource {
            name: command.terminal,
            from: recorded.as_ref().map_or(0, |it| it.from),
            end: recorded.as_ref().map_or(0, |it| it.to.unwrap_or(u64::MAX)),
            recording: recorded.map(|it| it.recording),
            has_ended,
            state: Some(command.state),
            changes: changes.filter(|_| !has_ended),
        })
    }

    /// Reads what there is of a source, from the asked offset.
    async fn page(
        &self,
        source: &StreamSource,
        params: &TerminalStreamParams,
    ) -> Result<TerminalStreamResult, WireError> {
        let since = params.since.max(source.from);
        let limit = params.limit.map_or(PAGE_BYTES_MAX, |limit| limit as usize);
        let limit = limit.clamp(1, PAGE_BYTES_MAX);
        let (end, page) = if let Some(recording) = &source.recording {
            check_recording(recording)?;
            let folder = self.deps.home.terminal(recording);
            let end = source.end;
            // On a blocking thread, because old bytes may have to come from the disk.
            let read = tokio::task::spawn_blocking(move || {
                let end = match end {
                    u64::MAX => recording_end(&folder)?,
                    end => end,
                };
                Ok((end, read_masked(&folder, since, end, limit)?))
            });
            let read = read
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)));
            read.map_err(|error: io::Error| match error.kind() {
                io::ErrorKind::NotFound => gone(&source.name),
                _ => WireError::new(ErrorCode::Internal, format!("Not read: {error}.")),
            })?
        } else {
            let none = RecordedPage {
                offset: since,
                bytes: Vec::new(),
            };
            (since, none)
        };
        let next = page.offset + page.bytes.len() as u64;
        Ok(TerminalStreamResult {
            name: source.name.clone(),
            recording: source.recording.clone(),
            offset: page.offset,
            data: BASE64.encode(&page.bytes),
            next,
            end,
            skipped: page.offset - since,
            ended: source.has_ended && next >= end,
            state: source.state,
        })
    }
}

/// Reads a page, with the keys in its marks masked.
fn read_masked(folder: &Path, since: u64, until: u64, limit: usize) -> io::Result<RecordedPage> {
    let begin = since.saturating_sub(BYTES_BEFORE);
    let before = usize::try_from(since - begin).unwrap_or(0);
    let mut page = read_page(folder, begin, until, limit + before)?;
    // The bytes right before the page are missing, so they say nothing about it.
    if page.offset + page.bytes.len() as u64 <= since {
        page = read_page(folder, since, until, limit)?;
    }
    mask_keys(&mut page.bytes, KEY_DIGITS);
    let before = usize::try_from(since.saturating_sub(page.offset)).unwrap_or(0);
    page.bytes.drain(..before);
    page.offset = page.offset.max(since);
    page.bytes.truncate(limit);
    Ok(page)
}

/// The id is the name of a folder, so it must not lead out of its parent.
fn check_recording(id: &str) -> Result<(), WireError> {
    let fits = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if id.is_empty() || !id.bytes().all(fits) {
        return Err(invalid(
            "`recording` is not the id of a recording.".to_owned(),
        ));
    }
    Ok(())
}

fn gone(name: &str) -> WireError {
    let message =
        format!("The recording is gone: the terminal '{name}' has ended or is a new one.");
    WireError::new(ErrorCode::NotFound, message)
}
