//! OpenAI's responses.

mod items;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::{error_frames, frames, whole};
