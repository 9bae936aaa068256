//! The payload of `run.delta`, parsed without copying its text: an answer has thousands of them.

use hob_core::transcript::TextDelta;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::DeltaKind;
use serde::Deserialize;
use std::borrow::Cow;

/// The fields of `run.delta` that a surface needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BorrowedDelta<'a> {
    pub(crate) run_id: RunId,
    step: u32,
    attempt: u32,
    offset: u64,
    kind: DeltaKind,
    #[serde(borrow, rename = "delta")]
    text: Cow<'a, str>,
}

impl BorrowedDelta<'_> {
    pub fn piece(&self) -> TextDelta<'_> {
        TextDelta {
            step: self.step,
            attempt: self.attempt,
            offset: self.offset,
            kind: self.kind,
            text: &self.text,
        }
    }
}
