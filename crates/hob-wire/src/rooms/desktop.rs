//! `desktop.*`: information about the machine and its desktop, and launching applications.

use crate::method::{CliExposure, methods};
pub use crate::rooms::terminal::DisplayEnv;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "desktop";
    /// Shows information about this machine.
    System = "desktop.system" {
        params: DesktopSystemParams, result: SystemInfo, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Looks up a program in the shell's search path.
    Program = "desktop.program" {
        params: DesktopProgramParams, result: DesktopProgramResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["program"]),
    }
    /// Finds a desktop application by name.
    Find = "desktop.find" {
        params: DesktopFindParams, result: DesktopFindResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["name"]),
    }
    /// Launches a desktop application.
    Launch = "desktop.launch" {
        params: DesktopLaunchParams, result: DesktopLaunchResult, scope: Admin, effect: Opaque,
        cli: CliExposure::Verb(&["entry"]),
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DesktopSystemParams {}

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
    /// Terminal emulators, in hob's order of preference.
    pub terminals: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DesktopProgramParams {
    pub program: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopProgramResult {
    pub program: String,
    pub found: bool,
    #[serde(default)]
    pub path: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DesktopFindParams {
    /// An informal name, such as `firefox` or `text editor`.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopFindResult {
    #[serde(default)]
    pub entry: Option<DesktopEntry>,
}

/// A desktop application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopEntry {
    /// The name of its file without `.desktop`.
    pub id: String,
    pub file: String,
    pub name: String,
    #[serde(default)]
    pub generic_name: Option<String>,
    /// The command line without placeholders.
    pub exec: String,
    /// True if it runs in a terminal window.
    pub terminal: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DesktopLaunchParams {
    /// An entry's id or file.
    pub entry: String,
    /// The caller's display; the daemon's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<DisplayEnv>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopLaunchResult {
    pub entry: DesktopEntry,
}
