//! Model files: which ones are worth fetching, where they come from, and how they are fetched.
//!
//! - [`catalog`]: a short list of models that run on an ordinary machine, as data
//! - [`machine_room`]: the memory and the disk of this machine
//! - [`ModelSource`]: the text that names a model to fetch
//! - [`HubRepository`], [`HubFile`]: what the hub says about a repository
//! - [`ModelFolder`], [`ModelPlace`], [`ModelRecord`]: the files on the disk
//! - [`FileTransfer`]: a download that continues where it ended, and is verified
//! - [`OllamaPull`], [`find_ollama`]: a model that a running Ollama fetches
//! - [`PullError`]: what went wrong, and what to do
//!
//! Invariant: nothing in the catalogue is trusted at a download. Size and SHA-256 come from the hub
//! at that moment.

pub mod catalog;
mod download_answer;
mod error;
mod file_check;
mod hub;
mod machine;
mod model_folder;
mod ollama;
mod source;
mod transfer;
mod transfer_rate;

pub use crate::llm::find_ollama;
pub use error::PullError;
pub use hub::{ENDPOINT_DEFAULT, HubFile, HubRepository, gated};
pub use machine::machine_room;
pub use model_folder::{ModelFolder, ModelPlace, ModelRecord};
pub use ollama::OllamaPull;
pub use source::{HubSource, ModelSource};
pub use transfer::{DiskAccess, FileTransfer, ROOM_SPARE_BYTES};
