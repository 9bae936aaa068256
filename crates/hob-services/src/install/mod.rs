//! Bringing a service onto this machine, whole or not at all.
//!
//! - [`Recipe`], [`Step`]: what is to be done, as data
//! - [`Installation`]: doing it, with progress; stopping it; going on where an earlier one was
//! - [`Site`]: where it lies, and how it comes and goes as a whole
//! - [`programs`]: the Python, pip or npm of the person's own
//! - `fetch`: a package client fetches a file by name; `archive`: it is taken apart
//!
//! Invariants: nothing is used whose checksum was not compared; `installed` is whole or not there.

mod archive;
mod error;
mod fetch;
pub mod programs;
mod recipe;
mod run;
mod site;

pub use error::InstallError;
pub(crate) use error::size;
pub use recipe::{Archive, Fetch, Fetcher, Recipe, Step};
pub use run::Installation;
pub use site::{Installed, Site, free_bytes};
