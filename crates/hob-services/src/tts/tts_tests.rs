//! Finding the speech program.

use super::{NAME, SUBCOMMAND, find};
use crate::discovery::{DiscoveryContext, FoundService};
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_net::{HttpClient, HttpOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// What is found with these programs on the path.
fn found_with(programs: &[&str]) -> FoundService {
    let folder = tempfile::tempdir().unwrap();
    for name in programs {
        let path = folder.path().join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let env = EnvVars::from_pairs([("PATH", folder.path().as_os_str())]);
    let catalog = Arc::new(SettingsCatalog::new(&[]));
    let settings = Settings::load(&catalog, "config.toml", "", &env).unwrap();
    let spawner = Spawner::new(SpawnerParts {
        shim: Vec::new(),
        env: env.clone(),
        tasks: TaskGroup::new(),
        sandbox_support: None,
    });
    find(&DiscoveryContext {
        home: &Home::at(Path::new("/home/nobody/.hob")),
        settings: &settings,
        env: &env,
        http: &HttpClient::new(HttpOptions::new(Clock::system())).unwrap(),
        spawner: &spawner,
    })
}

#[tokio::test]
async fn espeak_is_found_by_either_name() {
    for programs in [&["espeak", "espeak-ng"][..], &["espeak"]] {
        let FoundService::Command { argv, cwd, .. } = found_with(programs) else {
            panic!("it is there");
        };
        assert_eq!(argv[1], SUBCOMMAND);
        let program = argv[5].to_str().unwrap();
        assert!(program.ends_with(programs.last().unwrap()), "{program}");
        assert!(argv.iter().any(|word| word == "/home/nobody/.hob"));
        assert!(cwd.ends_with(NAME));
    }
}

#[tokio::test]
async fn what_is_missing_is_said_with_what_installs_it() {
    let FoundService::Missing { why } = found_with(&["dnf"]) else {
        panic!("it is not there");
    };
    assert!(why.contains("sudo dnf install espeak-ng"), "{why}");
    let FoundService::Missing { why } = found_with(&[]) else {
        panic!("it is not there");
    };
    assert!(why.contains("package manager"), "{why}");
}
