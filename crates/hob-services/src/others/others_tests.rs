//! What is found of other services, and what is said to be missing.

use super::{kokoro, mlx, piper, vlm};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
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
use tempfile::TempDir;

/// A machine with these programs and files, all in one folder.
fn machine(programs: &[&str], files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in programs.iter().chain(files) {
        std::fs::write(folder.path().join(name), "#!/bin/sh\n").unwrap();
    }
    for name in programs {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path().join(name), mode).unwrap();
    }
    folder
}

async fn find(entry: ShippedService, machine: &TempDir, config: &str) -> FoundService {
    let env = EnvVars::from_pairs([("PATH", machine.path()), ("HOME", machine.path())]);
    let keys = [piper::KEYS, kokoro::KEYS, vlm::KEYS, mlx::KEYS];
    let catalog = Arc::new(SettingsCatalog::new(&keys));
    let settings = Settings::load(&catalog, "config.toml", config, &env).unwrap();
    let spawner = Spawner::new(SpawnerParts {
        shim: Vec::new(),
        env: env.clone(),
        tasks: TaskGroup::new(),
        sandbox_support: None,
    });
    let context = DiscoveryContext {
        home: &Home::at(Path::new("/home/nobody/.hob")),
        settings: &settings,
        env: &env,
        http: &HttpClient::new(HttpOptions::new(Clock::system())).unwrap(),
        spawner: &spawner,
    };
    (entry.find.unwrap())(&context).await
}

async fn missing(entry: ShippedService, machine: &TempDir, config: &str) -> String {
    match find(entry, machine, config).await {
        FoundService::Missing { why } => why,
        other => panic!("{other:?}"),
    }
}

async fn words(entry: ShippedService, machine: &TempDir, config: &str) -> Vec<String> {
    match find(entry, machine, config).await {
        FoundService::Command { argv, .. } => {
            let words = argv.into_iter().map(|word| word.into_string().unwrap());
            words.collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_missing_is_said_with_how_to_get_it() {
    let nothing = machine(&[], &[]);
    // A port that nobody listens on: it is not given out while this holds it.
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = held.local_addr().unwrap();
    drop(held);
    let config = format!("kokoro.server = \"{closed}\"");
    for (entry, how) in [
        (piper::ENTRY, "pipx install piper-tts"),
        (kokoro::ENTRY, "kokoro.server"),
        (vlm::ENTRY, "llama.cpp"),
        (mlx::LM, "pipx install mlx-lm"),
        (mlx::VLM, "pipx install mlx-vlm"),
    ] {
        let why = missing(entry, &nothing, &config).await;
        assert!(why.contains(how), "{why}");
    }
    let programs = machine(&["piper", "llama-server"], &[]);
    let why = missing(piper::ENTRY, &programs, "").await;
    assert!(why.contains("hob config set piper.voice"), "{why}");
    let why = missing(vlm::ENTRY, &programs, "vlm.model = \"/nowhere\"").await;
    assert!(why.contains("'/nowhere'"), "{why}");
}

/// hob may answer at Kokoro's address itself, for clients of other systems.
#[tokio::test]
async fn kokoro_is_not_looked_for_where_hob_itself_listens() {
    let nothing = machine(&[], &[]);
    let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = own.local_addr().unwrap();
    let config = format!("kokoro.server = \"{address}\"");
    let why = missing(kokoro::ENTRY, &nothing, &config).await;
    assert!(
        why.contains(&format!("hob itself answers at {address}")),
        "{why}"
    );
    assert!(why.contains("hob config set kokoro.server"), "{why}");
}

#[tokio::test]
async fn what_is_there_is_started_with_its_files() {
    let here = machine(
        &["piper", "llama-server", "mlx_lm.server"],
        &["a.onnx", "m.gguf", "p.gguf"],
    );
    let argv = words(piper::ENTRY, &here, "piper.voice = \"~/a.onnx\"").await;
    assert!(argv.contains(&"speech-server".to_owned()) && argv.contains(&"--voice".to_owned()));
    let config = "vlm.model = \"~/m.gguf\"\nvlm.projector = \"~/p.gguf\"";
    let argv = words(vlm::ENTRY, &here, config).await;
    let at = argv.iter().position(|word| word == "--mmproj").unwrap();
    assert!(argv[at + 1].ends_with("/p.gguf"));
    assert!(argv.contains(&"m".to_owned()));
    let argv = words(mlx::LM, &here, "mlx.model = \"mine\"").await;
    assert_eq!(
        argv[1..],
        ["--host", "127.0.0.1", "--port", "{port}", "--model", "mine"]
    );
}

#[test]
fn apples_servers_run_on_apples_machines() {
    for entry in [mlx::LM, mlx::VLM] {
        let guard = (entry.descriptor)().guard;
        assert!(guard.refusal("linux", "x86_64").is_some());
        assert!(guard.refusal("macos", "aarch64").is_none());
    }
}
