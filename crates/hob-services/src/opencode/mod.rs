//! `OpenCode`'s server: an agent with models of its own, behind a password.
//!
//! It is the person's own `OpenCode`: their configuration and logins are used, because their
//! providers are what it is wanted for. Its database is the service's own, so that what hob asks is
//! not among their sessions and another version never changes theirs.
//!
//! Invariants: it answers nobody without the password of this start; unless a person says
//! otherwise its tools are denied, whatever its configuration allows.

mod package;

use crate::descriptor::{Descriptor, Health, Kind, Liveness, Port, ServiceLimits};
use crate::found::{Entry, Found, Place};
use crate::install::Site;
use crate::install::programs::on_path;
use hob_exec::programs::is_program;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_wire::rooms::service::ServiceRole;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub const NAME: &str = "opencode";

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(async { find(place) })),
    install: Some(|place| Box::pin(async { package::recipe(place) })),
};

pub const KEYS: &[Key] = &[
    Key::new(
        "opencode.acts",
        SettingKind::Bool,
        "false",
        "Whether OpenCode may use its own tools (shell, files, web), as its own configuration allows them and without hob's permissions. Otherwise it only answers.",
    )
    .live(),
    Key::new(
        "opencode.idle",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "30m",
        "How long OpenCode's server stays without being asked.",
    )
    .live(),
    Key::new(
        "opencode.variables",
        SettingKind::List,
        "",
        "Variables of the daemon's environment that OpenCode is given, such as the keys its configuration names.",
    )
    .live(),
];

/// Names a program that is not on the path.
const EXECUTABLE: &str = "OPENCODE_EXECUTABLE";
/// The user its password goes with.
const LOGIN: &str = "opencode";
/// What hob's questions are answered as.
const AGENT: &str = "hob";
/// Instead of the instructions for working on code.
const PROMPT: &str = "You are a helpful assistant.";
/// Where it looks for the person's own configuration and logins, and how it reaches out.
const PASSED: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];
const VARIABLES_MAX: usize = 256;

fn descriptor() -> Descriptor {
    Descriptor {
        about: "OpenCode, an agent with models of its own".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Agent),
        port: Port::Free,
        health: Some(Health::Path("/global/health".to_owned())),
        login: Some(LOGIN.to_owned()),
        // It takes seven seconds on a busy machine.
        ready: Duration::from_mins(2),
        liveness: Liveness {
            timeout: Duration::from_secs(10),
            ..Liveness::default()
        },
        idle: Some(Duration::from_mins(30)),
        limits: ServiceLimits {
            processes: Some(1_024),
            ..ServiceLimits::default()
        },
        licence: Some(package::LICENCE.to_owned()),
        // Which program it is depends on what is found.
        ..Descriptor::defaults(NAME)
    }
}

fn find(place: &Place<'_>) -> Found {
    let program = match program(place) {
        Ok(program) => program,
        Err(why) => return Found::Missing { why },
    };
    let words = ["serve", "--hostname", "127.0.0.1", "--port", "{port}"];
    let mut argv = vec![program.clone().into_os_string()];
    argv.extend(words.map(OsString::from));
    Found::Command {
        argv,
        env: environment(place),
        cwd: place.home.service(NAME),
        what: program.display().to_string(),
        // Whichever it takes itself; its list has the others.
        model: Some("default".to_owned()),
        modest: false,
    }
}

/// The one a person names, the one on their path, the one hob installed.
fn program(place: &Place<'_>) -> Result<PathBuf, String> {
    if let Some(named) = place.env.os(EXECUTABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_absolute() && is_program(&named) {
            Ok(named)
        } else {
            Err(format!(
                "{EXECUTABLE} is '{}', which is not the whole path of a program.",
                named.display()
            ))
        };
    }
    if let Some(found) = on_path(place.env, NAME) {
        return Ok(found);
    }
    let site = Site::new(place.home.service(NAME));
    let installed = site.installed().join(package::PROGRAM);
    if site.look().is_some() && is_program(&installed) {
        return Ok(installed);
    }
    Err(package::missing())
}

fn environment(place: &Place<'_>) -> Vec<(OsString, OsString)> {
    let database = place.home.service(NAME).join("opencode.db");
    let acts = place.settings.bool("opencode.acts");
    let mut pairs: Vec<(OsString, OsString)> = [
        ("OPENCODE_SERVER_USERNAME", LOGIN.into()),
        ("OPENCODE_SERVER_PASSWORD", "{password}".into()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
        ("OPENCODE_DB", database.into_os_string()),
        ("OPENCODE_CONFIG_CONTENT", config(acts).to_string().into()),
    ]
    .map(|(name, value)| (OsString::from(name), value))
    .into();
    let named = place.settings.list("opencode.variables");
    let named = named.iter().take(VARIABLES_MAX).map(String::as_str);
    for name in PASSED.iter().copied().chain(named) {
        let is_ours = pairs.iter().any(|(known, _)| known == name);
        if let (false, Some(value)) = (is_ours, place.env.os(name)) {
            pairs.push((name.into(), value.to_owned()));
        }
    }
    pairs
}

/// What is laid over the person's own configuration. What an agent of this file's own is denied
/// comes after everything else that is allowed, so it holds.
fn config(acts: bool) -> Value {
    let agent = if acts {
        // Nobody could answer it.
        json!({ "mode": "primary", "permission": { "question": "deny" } })
    } else {
        json!({ "mode": "primary", "prompt": PROMPT, "permission": { "*": "deny" } })
    };
    json!({
        "autoupdate": false,
        "share": "disabled",
        "default_agent": AGENT,
        "agent": { AGENT: agent },
    })
}
