//! What a call may say.

use super::*;
use crate::trial::TestWorkspace;
use serde_json::json;

fn checked(
    trial: &TestWorkspace,
    command: &str,
    cwd: Option<&str>,
) -> Result<SandboxedCommand, ToolRefusal> {
    let work = trial.work("exec", json!({}));
    let network = NetworkGrant::Off;
    SandboxedCommand::new(
        &work,
        CommandArguments {
            command,
            cwd,
            network,
            hosts: None,
        },
        &trial.env,
    )
}

#[test]
fn a_folder_below_the_workspace_is_taken_and_no_other() {
    let trial = TestWorkspace::new();
    trial.put("sub/x", "");
    std::os::unix::fs::symlink(trial.outside(""), trial.path("link")).expect("links");
    let real = |path: PathBuf| std::fs::canonicalize(path).expect("is there");
    let sandboxed = checked(&trial, "true", Some("sub")).expect("is below");
    assert_eq!(sandboxed.cwd, real(trial.path("sub")));
    assert_eq!(sandboxed.root, real(trial.path("")));
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
    let catalog = Arc::new(hob_kit::settings::SettingsCatalog::new(&[KEYS]));
    let text = "[exec]\nmemory_mib = 0\nfile_mib = 3\ncpu = \"1500ms\"\n";
    let env = hob_kit::host_environment::EnvVars::default();
    let settings = Settings::load(&catalog, "test", text, &env).expect("loads");
    let limits = limits(&settings);
    assert_eq!(limits.memory_bytes, None);
    assert_eq!(limits.file_bytes, 3 * MIB);
    assert_eq!(limits.cpu_seconds, Some(2));
    assert_eq!(limits.processes, 512);
}
