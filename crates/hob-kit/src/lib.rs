//! Shared infrastructure for all crates of hob.
//!
//! - [`clock`], [`randomness`]: injected at `main`, so that tests control them
//! - [`tasks`]: the only way to spawn tasks
//! - [`duration`]: durations such as `30s`, `10m`, `7d`
//! - [`metrics`]: the registry of metrics
//! - [`failpoint`]: named points at which a fault build can be made to fail
//! - [`host_environment`]: the inputs from the host, captured once at `main`
//! - [`home`], [`home_lock`], [`atomic_file`]: paths, the lock of a home, atomic file replacement
//! - [`last_down`]: the mark of the last `hob down`
//! - [`text_file`]: decoding of UTF-8 files with a helpful error
//! - [`settings`]: keys declared by their crates, read from one file and the environment
//! - [`mask`], [`secret`], [`logging`]: the log, and the secrets that must never appear in it
//! - [`key_files`]: provider keys that a person pasted
//! - [`known_secrets`], [`prompt_file`]: text for a model, with secrets masked and links refused
//!
//! Invariant: nothing here knows what hob is for.

pub mod atomic_file;
pub mod clock;
pub mod duration;
pub mod failpoint;
pub mod home;
pub mod home_lock;
pub mod host_environment;
pub mod key_files;
pub mod known_secrets;
pub mod last_down;
pub mod logging;
pub mod mask;
pub mod metrics;
pub mod prompt_file;
pub mod randomness;
pub mod secret;
pub mod settings;
pub mod tasks;
pub mod text_file;
