//! A model of one's own, really installed: pip fetches it as the person who runs the tests has
//! configured it, into homes that are empty.

mod everyday;
mod first_answer;
mod install;
mod looping;
mod plain;
mod pull;

use crate::support::{House, HouseBuilder};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Fetching takes as long as the network does.
const INSTALL_WAIT: Duration = Duration::from_mins(4);

/// A home without servers to be found, where pip works as it does for the tester.
fn builder() -> HouseBuilder {
    let mut builder = House::builder().config("[llm]\nservers = []\n");
    let passed = [
        "PATH",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
    ];
    let outside = outside();
    for (name, value) in &outside {
        let is_proxy = name.to_lowercase().ends_with("_proxy");
        if passed.contains(&name.as_str()) || name.starts_with("PIP_") || is_proxy {
            builder = builder.env(name, value);
        }
    }
    // The home of the test is another, so what lies below the tester's is named.
    let below = |variable: &str, folder: &str| {
        let home = outside.get("HOME").cloned().unwrap_or_default();
        let given = outside.get(variable).map(PathBuf::from);
        given.unwrap_or_else(|| Path::new(&home).join(folder))
    };
    let cache = below("XDG_CACHE_HOME", ".cache").join("pip");
    let config = below("XDG_CONFIG_HOME", ".config").join("pip/pip.conf");
    for (name, path) in [("PIP_CACHE_DIR", cache), ("PIP_CONFIG_FILE", config)] {
        if !outside.contains_key(name) && path.exists() {
            builder = builder.env(name, &path.display().to_string());
        }
    }
    builder
}

/// The tester's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a test stands outside every room"
)]
fn outside() -> BTreeMap<String, String> {
    std::env::vars().collect()
}

/// Waits as long as a network may take.
fn patiently(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < INSTALL_WAIT, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Calls a method that answers.
fn rpc(house: &House, method: &str, params: &Value) -> Value {
    let done = house.hob(&["--json", "rpc", method, &params.to_string()]);
    serde_json::from_str(&done.success()).expect("JSON")
}

/// The local model in the list of services.
fn llm(house: &House) -> Value {
    let listed = rpc(house, "service.list", &json!({}));
    let all = listed["services"].as_array().expect("a list");
    let found = all.iter().find(|service| service["name"] == "llm");
    found.expect("it is shipped").clone()
}

/// Begins an installation with a person's yes.
fn begin(house: &House) -> Value {
    rpc(
        house,
        "service.install",
        &json!({ "name": "llm", "yes": true }),
    )
}

/// Waits until no installation is under way; gives the service as it is then.
fn installed(house: &House) -> Value {
    patiently("the installation ends", || {
        llm(house)["installation"]["state"] != "running"
    });
    llm(house)
}

/// What lies in the service's folder; none if there is no such folder.
fn lies_there(house: &House) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(house.home().join("services/llm")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.expect("read").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// A folder with a `python3` of the test's own, a shell script.
fn python(folder: &Path, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("python3");
    let greets = "[ \"$2\" = -c ] && { echo \"hob 3 11 pip $0\"; exit 0; }";
    let text = format!("#!/bin/sh\n{greets}\nfor last; do :; done\n{script}\n");
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    folder.display().to_string()
}

/// The tester's own Python.
fn real_python() -> PathBuf {
    let path = outside().remove("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    all.find(|file| file.exists())
        .expect("python3 is on the path")
}
