//! The real `OpenCode`, in both directions: hob asks it, and it asks hob. The model behind both is
//! the scripted one.

mod asked;
mod asking;

use std::path::{Path, PathBuf};

/// The program that `cargo xtask test` installs.
fn opencode() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_hob"));
    let target = binary.parent().and_then(Path::parent);
    let tools = target.expect("target/PROFILE/hob").join("tools");
    let program = tools.join("node_modules/opencode-linux-x64/bin/opencode");
    assert!(
        program.is_file(),
        "needs OpenCode at {}: cargo xtask test installs it",
        program.display()
    );
    program
}
