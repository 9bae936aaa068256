//! Anthropic's messages.

mod blocks;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::{error_frames, frames, models, whole};
