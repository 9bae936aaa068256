//! OpenAI's chat completions, which most others speak too, each in its flavour.

mod flavour;
mod messages;
mod read;
mod write;

pub(crate) use messages::picture;
pub(crate) use read::{check_strict, read};
pub(crate) use write::{error_frames, frames, models, whole};
