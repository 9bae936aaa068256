//! What a call may say.

use super::*;
use crate::trial::Trial;
use serde_json::json;

fn checked(trial: &Trial, command: &str, cwd: Option<&str>) -> Result<Errand, Refused> {
    let work = trial.work("exec", json!({}));
    let network = NetworkGrant::Off;
    Errand::new(
        &work,
        Said {
            command,
            cwd,
            network,
            hosts: None,
        },
        &trial.ground,
    )
}

#[test]
fn a_folder_below_the_workspace_is_taken_and_no_other() {
    let trial = Trial::new();
    trial.put("sub/x", "");
    std::os::unix::fs::symlink(trial.outside(""), trial.path("link")).expect("links");
    let real = |path: PathBuf| std::fs::canonicalize(path).expect("is there");
    let errand = checked(&trial, "true", Some("sub")).expect("is below");
    assert_eq!(errand.cwd, real(trial.path("sub")));
    assert_eq!(errand.root, real(trial.path("")));
    let absolute = trial.path("sub");
    checked(&trial, "true", absolute.to_str()).expect("is below");
    for cwd in [
        "..",
        "/",
        "/etc",
        "link",
        "sub/../..",
        "missing",
        "sub/x",
        "",
    ] {
        checked(&trial, "true", Some(cwd)).expect_err(cwd);
    }
    for command in ["", " \n", "a\0b"] {
        checked(&trial, command, None).expect_err("is no command");
    }
}

#[test]
fn settings_become_limits() {
    let catalog = Arc::new(hob_kit::settings::Catalog::new(&[KEYS]));
    let text = "[exec]\nmemory_mib = 0\nfile_mib = 3\ncpu = \"1500ms\"\n";
    let env = hob_kit::world::Env::default();
    let settings = Settings::load(&catalog, "test", text, &env).expect("loads");
    let limits = limits(&settings);
    assert_eq!(limits.memory_bytes, None);
    assert_eq!(limits.file_bytes, 3 * MIB);
    assert_eq!(limits.cpu_seconds, Some(2));
    assert_eq!(limits.processes, 512);
}
