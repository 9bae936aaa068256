//! Installs a service, completely or not at all.
//!
//! - [`InstallRecipe`], [`RecipeStep`]: the steps of an installation, as data
//! - [`Installation`]: runs a recipe with progress; can be stopped and continued later
//! - [`InstallSite`]: the folder of an installation, and its atomic replacement and removal
//! - [`programs`]: the user's own Python, pip or npm
//! - `fetch`: downloads a file by name with a package client; `archive`: unpacks it
//!
//! Invariants: no file is used before its checksum was compared; `installed` is complete or absent.

mod archive;
mod error;
mod fetch;
mod installation;
pub mod programs;
mod recipe;
mod site;

pub use error::InstallError;
pub(crate) use error::size;
pub use installation::Installation;
pub(crate) use recipe::hex;
pub use recipe::{ArchiveKind, InstallRecipe, PackageClient, PackageFetch, RecipeStep};
pub(crate) use site::measure;
pub use site::{InstallRecord, InstallSite, free_bytes};
