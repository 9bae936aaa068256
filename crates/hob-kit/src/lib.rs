//! What the standard library lacks, for every room.
//!
//! - [`clock`], [`dice`]: time and randomness, handed in at `main` so that tests own them
//! - [`tasks`]: the one door through which tasks are spawned
//! - [`backoff`]: how long to wait before the next try
//! - [`duration`]: `30s`, `10m`, `7d` as people write them
//! - [`figures`]: numbers that rooms keep of themselves
//! - [`failpoint`]: named places where a fault build can be told to fail
//! - [`world`]: what comes from outside, captured once at `main`
//! - [`home`], [`lock`], [`file`]: where things live, who owns them, how a file is replaced
//! - [`last_down`]: which starts began before the last `hob down`
//! - [`text_file`]: where a file stops being text
//! - [`settings`]: keys declared by their crates, read from one file and the environment
//! - [`mask`], [`secret`], [`logging`]: the log, and what must never appear in it
//! - [`known_secrets`], [`prompt_file`]: what a model reads: without secrets, from files that are
//!   no links
//!
//! Invariant: nothing here knows what hob is for.

pub mod backoff;
pub mod clock;
pub mod dice;
pub mod duration;
pub mod failpoint;
pub mod figures;
pub mod file;
pub mod home;
pub mod known_secrets;
pub mod last_down;
pub mod lock;
pub mod logging;
pub mod mask;
pub mod prompt_file;
pub mod secret;
pub mod settings;
pub mod tasks;
pub mod text_file;
pub mod world;
