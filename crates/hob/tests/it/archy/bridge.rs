//! A client in Python that behaves as Archy's own bridge does: a connection for each request, read
//! until its end, and little patience.

use super::Stage;
use std::path::Path;

#[test]
fn archys_own_kind_of_client_works() {
    let stage = Stage::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/archy/bridge.py");
    let script = script.display().to_string();
    let socket = stage.socket.display().to_string();
    let mut python = stage.house.command_of("python3", &[&script, &socket]);
    let output = python.output().expect("python3 starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("all well\n"), "{said}");
}
