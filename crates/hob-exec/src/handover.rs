//! Handing the terminal of this very process over to another program: nothing of hob stays.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes `program`, with this process's own terminal, folder and environment but `without`.
/// Returns only if that cannot be, with the reason.
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
