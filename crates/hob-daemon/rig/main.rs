//! What the tests of this crate start beside themselves: the shim, and the recorder of terminals.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some(hob_exec::tmux::recording::SUBCOMMAND) => {
            hob_exec::tmux::recording::main(&arguments[1..])
        }
        _ => hob_exec::shim::main(&arguments),
    }
}
