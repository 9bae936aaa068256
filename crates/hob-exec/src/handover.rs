//! Replaces this process by another program (`exec`), which takes over its terminal.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes `program` with this process's terminal, folder and environment, except for the variables
/// in `without`. Returns only on failure, with the reason.
pub fn become_program<I, A>(program: &OsStr, arguments: I, without: &[&str]) -> io::Error
where
    I: IntoIterator<Item = A>,
    A: AsRef<OsStr>,
{
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is where programs start"
    )]
    let mut command = Command::new(program);
    command.args(arguments);
    for name in without {
        command.env_remove(name);
    }
    command.exec()
}
