//! `desktop.*`: the machine and the desktop around hob: what it is, which programs it has, and
//! starting one for the person.

use crate::method::{Cli, methods};
pub use crate::rooms::terminal::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "desktop";
    /// Shows what machine this is.
    System = "desktop.system" {
        params: SystemParams, result: SystemInfo, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Says whether a program can be run from a shell, and where it is.
    Program = "desktop.program" {
        params: ProgramParams, result: ProgramFound, scope: Read, effect: Pure,
        cli: Cli::Verb(&["program"]),
    }
    /// Finds an application of the desktop by its name.
    Find = "desktop.find" {
        params: FindParams, result: EntryFound, scope: Read, effect: Pure,
        cli: Cli::Verb(&["name"]),
    }
    /// Starts an application of the desktop.
    Launch = "desktop.launch" {
        params: LaunchParams, result: Launched, scope: Admin, effect: Opaque,
        cli: Cli::Verb(&["entry"]),
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemParams {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemInfo {
    /// The distribution, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    pub kernel: String,
    pub hostname: String,
    pub architecture: String,
    pub user: String,
    pub shell: String,
    pub processors: u32,
    pub memory_bytes: u64,
    pub memory_available_bytes: u64,
    pub uptime_seconds: u64,
    pub load: [f64; 3],
    /// `wayland`, `x11`, or missing on a machine without a display.
    #[serde(default)]
    pub display: Option<String>,
    /// Programs that show a terminal window, in the order hob would take them.
    pub terminals: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramParams {
    pub program: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramFound {
    pub program: String,
    pub found: bool,
    #[serde(default)]
    pub path: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindParams {
    /// A name as a person says it, such as `firefox` or `text editor`.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryFound {
    #[serde(default)]
    pub entry: Option<DesktopEntry>,
}

/// An application of the desktop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopEntry {
    /// Its file's name without `.desktop`.
    pub id: String,
    pub file: String,
    pub name: String,
    #[serde(default)]
    pub generic_name: Option<String>,
    /// The command line it starts, placeholders taken out.
    pub exec: String,
    /// Whether it wants a terminal window.
    pub terminal: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LaunchParams {
    /// An entry's id or file.
    pub entry: String,
    /// The desktop of whoever asks; the daemon's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Launched {
    pub entry: DesktopEntry,
}
