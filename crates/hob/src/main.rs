//! The `hob` binary. The code is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    hob::main()
}
