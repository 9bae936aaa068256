//! The `OpenCode` server: an agent with its own models, protected by a password.
//!
//! It uses the configuration and logins of the user's own `OpenCode`, because it is wanted for the
//! user's providers. Its database is separate, so that hob's requests are not among the user's
//! sessions and another version never migrates the user's database.
//!
//! Invariants: it answers only with the password of this start; unless the user allows them, its
//! tools are denied, whatever its configuration allows.

mod package;

use crate::descriptor::{
    HealthProbe, LivenessCheck, PortChoice, ServiceDescriptor, ServiceKind, ServiceLimits,
};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::install::InstallSite;
use crate::install::programs::find_on_path;
use hob_exec::programs::is_executable;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_wire::rooms::service::ServiceRole;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub const NAME: &str = "opencode";

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(async { find(context) })),
    install: Some(|context| Box::pin(async { package::recipe(context) })),
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "opencode.acts",
        SettingKind::Bool,
        "false",
        "Whether OpenCode may use its own tools (shell, files, web), as its own configuration allows them and without hob's permissions. Otherwise it only answers.",
    )
    .live(),
    SettingKey::new(
        "opencode.idle",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "30m",
        "How long OpenCode's server stays without being asked.",
    )
    .live(),
    SettingKey::new(
        "opencode.variables",
        SettingKind::List,
        "",
        "Variables of the daemon's environment that OpenCode is given, such as the keys its configuration names.",
    )
    .live(),
];

/// The variable that names a program which is not on the path.
const EXECUTABLE: &str = "OPENCODE_EXECUTABLE";
/// The user name of its password.
const LOGIN: &str = "opencode";
/// The agent that answers hob's requests.
const AGENT: &str = "hob";
/// The system prompt, instead of OpenCode's instructions for working on code.
const PROMPT: &str = "You are a helpful assistant.";
/// Variables for the user's configuration and logins, proxies and certificates.
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

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "OpenCode, an agent with models of its own".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Agent),
        port: PortChoice::Free,
        health: Some(HealthProbe::Path("/global/health".to_owned())),
        login: Some(LOGIN.to_owned()),
        // A start took seven seconds on a busy machine.
        ready: Duration::from_mins(2),
        liveness: LivenessCheck {
            timeout: Duration::from_secs(10),
            ..LivenessCheck::default()
        },
        idle: Some(Duration::from_mins(30)),
        limits: ServiceLimits {
            processes: Some(1_024),
            ..ServiceLimits::default()
        },
        licence: Some(package::LICENCE.to_owned()),
        // The command depends on what is found.
        ..ServiceDescriptor::defaults(NAME)
    }
}

fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let program = match program(context) {
        Ok(program) => program,
        Err(why) => return FoundService::Missing { why },
    };
    let words = ["serve", "--hostname", "127.0.0.1", "--port", "{port}"];
    let mut argv = vec![program.clone().into_os_string()];
    argv.extend(words.map(OsString::from));
    FoundService::Command {
        argv,
        env: environment(context),
        cwd: context.home.service(NAME),
        what: program.display().to_string(),
        // OpenCode chooses the model itself; its own list has the others.
        model: Some("default".to_owned()),
        modest: false,
    }
}

/// Finds the program: the one that the user names, the one on the path, or the installed one.
fn program(context: &DiscoveryContext<'_>) -> Result<PathBuf, String> {
    if let Some(named) = context.env.os(EXECUTABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_absolute() && is_executable(&named) {
            Ok(named)
        } else {
            Err(format!(
                "{EXECUTABLE} is '{}', which is not the whole path of a program.",
                named.display()
            ))
        };
    }
    if let Some(found) = find_on_path(context.env, NAME) {
        return Ok(found);
    }
    let site = InstallSite::new(context.home.service(NAME));
    let installed = site.installed().join(package::PROGRAM);
    if site.read_record().is_some() && is_executable(&installed) {
        return Ok(installed);
    }
    Err(package::missing_message())
}

fn environment(context: &DiscoveryContext<'_>) -> Vec<(OsString, OsString)> {
    let database = context.home.service(NAME).join("opencode.db");
    let acts = context.settings.bool("opencode.acts");
    let mut pairs: Vec<(OsString, OsString)> = [
        ("OPENCODE_SERVER_USERNAME", LOGIN.into()),
        ("OPENCODE_SERVER_PASSWORD", "{password}".into()),
        // An update would replace the program that was verified or that the user chose.
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
        ("OPENCODE_DB", database.into_os_string()),
        ("OPENCODE_CONFIG_CONTENT", config(acts).to_string().into()),
    ]
    .map(|(name, value)| (OsString::from(name), value))
    .into();
    let named = context.settings.list("opencode.variables");
    let named = named.iter().take(VARIABLES_MAX).map(String::as_str);
    for name in PASSED.iter().copied().chain(named) {
        // The user's list must not override the password or the denied tools.
        let is_ours = pairs.iter().any(|(known, _)| known == name);
        if let (false, Some(value)) = (is_ours, context.env.os(name)) {
            pairs.push((name.into(), value.to_owned()));
        }
    }
    pairs
}

/// The configuration that is merged over the user's own. The permissions of an agent are applied
/// last, so its denials win.
fn config(acts: bool) -> Value {
    let agent = if acts {
        // Nobody could answer a question of the agent.
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
