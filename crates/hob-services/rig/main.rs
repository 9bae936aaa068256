//! What the tests of this crate start beside themselves: the shim.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    hob_exec::shim::main(&arguments)
}
