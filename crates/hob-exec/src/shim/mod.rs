//! `hob shim`: the small process between the daemon and each child. The daemon starts it from its
//! own executable; it is single-threaded and holds nothing but its order.
//!
//! - `keeper`: the life of one run, from the order to the last descendant's end
//! - `start`: how the first process is started: `bubblewrap`, or `landlock` with `namespace`;
//!   `seccomp` and `limits` in both
//! - `tree`, `cage`: finding and ending every descendant, by `/proc` and by cgroup
//! - `census`: how many processes a run has, where the kernel does not count them
//! - `bound_files`: files that have approved bytes for one run
//! - `after_run`: what a run left behind that would run by itself
//! - `placeholder`: what stands where a protected path does not exist
//! - `read_only`: mounts through which nothing can be changed
//! - `own_network`: a network namespace with a loopback and one listening socket
//! - `probe`: what this machine can enforce, by trying it
//! - `sys`: the system calls that need raw memory
//!
//! Invariant: whatever ends the shim's work (the child's end, a command, the deadline, the
//! daemon's death) passes through `keeper`'s one ending, which leaves no descendant.

mod after_run;
mod bound_files;
mod bubblewrap;
mod cage;
mod census;
mod keeper;
mod landlock;
mod limits;
mod namespace;
mod own_network;
mod placeholder;
mod probe;
mod read_only;
mod seccomp;
mod start;
mod sys;
mod tree;

pub use after_run::{LeftBehind, Quarantined};
pub(crate) use sys::close_on_exec;

use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden subcommand's name.
pub const SUBCOMMAND: &str = "shim";
/// `hob shim probe` prints what this machine can enforce.
pub(crate) const PROBE: &str = "probe";

/// Runs the shim with what follows its name on the command line. Called at the very start of
/// `main`: before any thread, any runtime and any reading of the environment.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let done = match arguments.first().and_then(|first| first.to_str()) {
        None => keeper::run(),
        Some(PROBE) => probe::run(arguments.get(1).map(OsString::as_os_str)),
        Some(own_network::SUBCOMMAND) => return own_network::run(&arguments[1..]),
        Some(_) => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
