//! The branch of a local model, fetched from a hub on loopback.

use super::{ids, options};
use crate::model_files::SERVER;
use crate::support::{House, Tty};
use hob_services::models::catalog;
use hob_sim::{HubSimFile, ModelHub};
use std::os::unix::fs::PermissionsExt;

/// An empty home that knows a hub with every model of the catalogue, and has a server for them.
fn newcomer() -> (ModelHub, tempfile::TempDir, House) {
    let files = catalog::MODELS.iter().map(|model| {
        let mut content = b"GGUF".to_vec();
        content.extend((0..=250_u8).cycle().take(300 * 1_024));
        HubSimFile::new(model.repository, model.file, content)
    });
    let hub = ModelHub::start(files.collect(), None);
    let bin = tempfile::tempdir().expect("a folder");
    let program = bin.path().join("llama-server");
    std::fs::write(&program, SERVER).expect("a file");
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, runnable).expect("is set");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.path().display());
    let house = House::builder()
        .config("[llm]\nservers = []\n")
        .env("PATH", &path)
        .env("HF_ENDPOINT", &hub.endpoint())
        .start();
    (hub, bin, house)
}

#[test]
fn a_model_that_fits_is_fetched_after_a_yes_and_answers() {
    let (_hub, _bin, house) = newcomer();
    let offered = ids(&house);
    let first = offered.first().expect("an option").clone();
    let name = first
        .strip_prefix("pull:")
        .expect("a model fits")
        .to_owned();
    assert!(
        offered.iter().filter(|id| id.starts_with("pull:")).count() <= 3,
        "{offered:?}"
    );
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    let seen = tty.seen();
    assert!(
        seen.contains(&format!("1  {name} on this machine")),
        "{seen}"
    );
    assert!(
        seen.contains("to download") && seen.contains("of memory"),
        "{seen}"
    );
    tty.press("1");
    tty.wait_for("[Y/n]");
    tty.press("y");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("hob uses llm/"), "{seen}");
    assert!(seen.contains("of 307204 bytes"), "{seen}");
    let found = options(&house);
    assert_eq!(
        (&found["offer"], &found["demo"]),
        (&false.into(), &false.into()),
        "{found}"
    );
}

#[test]
fn ctrl_c_at_the_plan_fetches_nothing_and_offers_again() {
    let (hub, _bin, house) = newcomer();
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    tty.press("1");
    tty.wait_for("[Y/n]");
    tty.press("\u{3}");
    assert_eq!(tty.end().0, Some(130));
    assert!(!hub.requests().iter().any(|request| request.to_storage));
    assert_eq!(options(&house)["offer"], true);
    // A no goes back to the list.
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    tty.press("1");
    tty.wait_for("[Y/n]");
    tty.press("n");
    crate::support::wait_until("the second list", || {
        tty.seen().matches("Which one?").count() == 2
    });
    tty.press("n");
    assert_eq!(tty.end().0, Some(6));
}
