//! The head of the answer to a download, compared with the hub's list.
//!
//! Invariants: a body is read only if it is the rest of the listed file; a refusal that lasts ends the
//! download, and one that passes does not.

use super::error::PullError;
use super::hub;
use super::model_folder::ModelRecord;
use hob_net::{FileResponse, HttpResponse, NetError};
use std::time::Duration;

/// The end of one attempt to download the rest of a file.
#[derive(Debug)]
pub(crate) enum AttemptEnd {
    Complete,
    /// The connection ended; another attempt may bring the rest.
    Interrupted {
        error: PullError,
        /// The pause that the server asks for.
        pause: Option<Duration>,
    },
    Failed(PullError),
}

impl AttemptEnd {
    pub(crate) fn interrupted(error: PullError) -> AttemptEnd {
        AttemptEnd::Interrupted { error, pause: None }
    }

    pub(crate) fn of_network(error: &NetError) -> AttemptEnd {
        let failure = PullError::of_network(error);
        match error {
            // The same address is refused every time.
            NetError::Refused(_) => AttemptEnd::Failed(failure),
            _ => AttemptEnd::interrupted(failure),
        }
    }
}

/// The request that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedPart<'a> {
    pub(crate) record: &'a ModelRecord,
    /// The offset from which the rest was asked for.
    pub(crate) from: u64,
    pub(crate) has_token: bool,
}

impl AskedPart<'_> {
    /// Checks the head of an answer and returns the offset at which its body begins.
    pub(crate) fn check(self, answer: &FileResponse) -> Result<u64, AttemptEnd> {
        let response = &answer.response;
        self.check_status(response)?;
        self.check_linked(answer.redirected.as_ref().unwrap_or(response))?;
        let start = if response.status() == 206 {
            let range = response.header("content-range");
            match range.and_then(parse_content_range) {
                Some((_, total)) if total != self.record.bytes => {
                    return Err(contradiction("another size"));
                }
                Some((start, _)) if start == self.from => start,
                _ => return Err(contradiction("another part of the file")),
            }
        } else {
            0
        };
        let length = response.header("content-length");
        let length: Option<u64> = length.and_then(|length| length.parse().ok());
        if length.is_some_and(|length| start.saturating_add(length) != self.record.bytes) {
            return Err(contradiction("another size"));
        }
        Ok(start)
    }

    fn check_status(self, response: &HttpResponse) -> Result<(), AttemptEnd> {
        let status = response.status();
        if matches!(status, 200 | 206) {
            return Ok(());
        }
        if status == 416 {
            return Err(contradiction("it refuses to continue at this place"));
        }
        let (host, repository) = (response.host(), &self.record.repository);
        let error = hub::refusal(response, host, repository, self.has_token);
        if hub::is_passing(status) {
            let pause = response.retry_after_ms().map(Duration::from_millis);
            return Err(AttemptEnd::Interrupted { error, pause });
        }
        Err(AttemptEnd::Failed(error))
    }

    /// Checks size and checksum in the hub's own head, which stands for what the storage sends.
    fn check_linked(self, head: &HttpResponse) -> Result<(), AttemptEnd> {
        let bytes = head.header("x-linked-size").and_then(|it| it.parse().ok());
        if bytes.is_some_and(|bytes: u64| bytes != self.record.bytes) {
            return Err(contradiction("another size"));
        }
        let etag = head
            .header("x-linked-etag")
            .map(|etag| etag.trim_matches('"'));
        // Other kinds of tags say nothing about the content.
        let hash = etag.filter(|etag| etag.len() == self.record.sha256.len());
        if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(&self.record.sha256)) {
            return Err(contradiction("another checksum"));
        }
        Ok(())
    }
}

fn contradiction(what: &str) -> AttemptEnd {
    AttemptEnd::Failed(PullError::Hub(format!(
        "The hub's answer does not fit its list of files: {what}. Pull it again."
    )))
}

/// Parses `bytes START-END/TOTAL`.
fn parse_content_range(text: &str) -> Option<(u64, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.parse().ok()?, total.parse().ok()?))
}

#[cfg(test)]
#[path = "download_answer_tests.rs"]
mod tests;
