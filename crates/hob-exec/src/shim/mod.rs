//! `hob shim`: the small process between the daemon and each child. The daemon starts it from its
//! own executable. It is single-threaded and knows nothing but its request.
//!
//! - `supervisor`: one run, from the request to the end of the last descendant
//! - `start`: starts the first process by `bubblewrap`, or by `landlock` with `namespace`; both use
//!   `seccomp` and `limits`
//! - `tree`, `cgroup`: find and end every descendant, by `/proc` and by cgroup
//! - `task_counter`: counts the processes of a run where the kernel does not limit them
//! - `bound_files`: files that keep approved bytes during one run
//! - `after_run`: files of a run that other programs would run by themselves
//! - `placeholder`: empty files and folders at protected paths that do not exist
//! - `read_only`: read-only mounts
//! - `own_network`: a network namespace with a loopback and one listening socket
//! - `probe`: finds what this machine can enforce, by trying it
//! - `sys`: the system calls that need raw memory
//!
//! Invariant: every end of a run (exit of the child, command, deadline, death of the daemon) passes
//! through one function of `supervisor`, which leaves no descendant.

mod after_run;
mod bound_files;
mod bubblewrap;
mod cgroup;
mod landlock;
mod limits;
mod namespace;
mod own_network;
mod placeholder;
mod probe;
mod read_only;
mod seccomp;
mod start;
mod supervisor;
mod sys;
mod task_counter;
mod tree;

pub use after_run::{LeftBehind, QuarantinedRepository};
pub(crate) use sys::close_on_exec;

use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden subcommand's name.
pub const SUBCOMMAND: &str = "shim";
/// `hob shim probe` prints what this machine can enforce.
pub(crate) const PROBE: &str = "probe";

/// Runs the shim with the arguments after its subcommand. Called at the very start of `main`:
/// before any thread, any runtime and any read of the environment.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let done = match arguments.first().and_then(|first| first.to_str()) {
        None => supervisor::run(),
        Some(PROBE) => probe::run(arguments.get(1).map(OsString::as_os_str)),
        Some(own_network::SUBCOMMAND) => return own_network::run(&arguments[1..]),
        Some(_) => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
