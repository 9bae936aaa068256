//! A machine of a test's own: a home, a path with programs of its own, a shim.

use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_kit::tasks::TaskGroup;
use hob_net::{HttpClient, HttpOptions};
use hob_services::{DiscoveryContext, FoundService};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) struct Rig {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) env: EnvVars,
    pub(crate) spawner: Spawner,
    pub(crate) home: Home,
    http: HttpClient,
}

impl Rig {
    /// Only `bin` of the folder is on the path, beside `/bin` for the scripts themselves if asked.
    pub(crate) fn new(more: &[(&str, &str)]) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).expect("made");
        let mut pairs = vec![
            ("PATH".to_owned(), bin.display().to_string()),
            ("HOME".to_owned(), folder.path().display().to_string()),
        ];
        pairs.extend(
            more.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let env = EnvVars::from_pairs(pairs);
        let spawner = Spawner::new(SpawnerParts {
            shim: vec![env!("CARGO_BIN_EXE_hob-services-rig").into()],
            env: env.clone(),
            tasks: TaskGroup::new(),
            sandbox_support: None,
        });
        Rig {
            home: Home::at(&folder.path().join("home")),
            http: HttpClient::new(HttpOptions::new(Clock::system())).expect("a client"),
            folder,
            env,
            spawner,
        }
    }

    /// Puts a shell script on the path.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join("bin").join(name);
        let text = format!("#!/bin/sh\nexport PATH=/usr/bin:/bin\n{text}\n");
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        path
    }

    /// What there is of the local model with these settings.
    pub(crate) async fn find(&self, settings: &str) -> FoundService {
        let settings = settings_of(settings);
        let find = hob_services::llm::ENTRY.find.expect("it is looked for");
        find(&self.place(&settings)).await
    }

    pub(crate) fn place<'p>(&'p self, settings: &'p Settings) -> DiscoveryContext<'p> {
        DiscoveryContext {
            home: &self.home,
            settings,
            env: &self.env,
            http: &self.http,
            spawner: &self.spawner,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The settings of a file with this text.
pub(crate) fn settings_of(text: &str) -> Settings {
    let catalog = Arc::new(SettingsCatalog::new(&[
        hob_services::llm::KEYS,
        hob_services::opencode::KEYS,
        &[hob_services::trust::KEY],
    ]));
    let loaded = Settings::load(&catalog, "config.toml", text, &EnvVars::default());
    loaded.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Serves these answers by path until the test ends; anything else is 404.
pub(crate) fn serve(answers: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head = lines.next().unwrap_or_default();
            // The rest of the head is of no interest.
            lines.find(String::is_empty);
            let path = head.split(' ').nth(1).unwrap_or_default();
            let answer = answers.iter().find(|(known, _)| *known == path);
            let (status, body) =
                answer.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", *body));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

/// The names in a folder; none if there is no such folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("read")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    names
}
