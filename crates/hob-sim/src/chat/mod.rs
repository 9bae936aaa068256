//! OpenAI's chat completions, which most others speak too.

mod read;
mod write;

pub(crate) use read::{check_strict, picture, read};
pub(crate) use write::{error_frames, frames, models, whole};
