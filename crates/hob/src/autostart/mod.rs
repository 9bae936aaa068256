//! The start of hob at login: a systemd user unit, or an XDG autostart entry without systemd.
//!
//! - [`unit`]: the text of both files; pure
//! - [`systemctl`]: asks the user's service manager
//!
//! Invariants: the state is read from files alone, so that every command can tell it cheaply; a home
//! named by `HOB_HOME` has a unit of its own.

pub mod systemctl;
pub mod unit;

use crate::run_ui::folder_session::digest;
use hob_kit::host_environment::HostEnvironment;
use std::path::{Path, PathBuf};

/// The folder in which the login manager records who may run services without a login.
const LINGER_FOLDER: &str = "/var/lib/systemd/linger";
/// The folders of units that packages bring.
const PACKAGED_UNITS: [&str; 3] = [
    "/etc/systemd/user",
    "/usr/local/lib/systemd/user",
    "/usr/lib/systemd/user",
];

/// The files that start hob at login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutostartFiles {
    /// `hob.service`, or a name of its own for a home named by `HOB_HOME`.
    pub unit_name: String,
    pub unit: PathBuf,
    /// The link that enables the unit.
    pub wanted: PathBuf,
    /// The entry of the desktop.
    pub entry: PathBuf,
    user: Option<String>,
}

/// The way in which hob starts at login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// The user's service manager.
    Unit,
    /// The desktop.
    Entry,
}

/// The state of autostart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutostartState {
    pub starter: Option<Starter>,
    /// The unit also starts at boot, without a login.
    pub lingers: bool,
    /// The program that is started, if it does not exist any more.
    pub missing_program: Option<PathBuf>,
}

impl AutostartState {
    pub fn is_on(&self) -> bool {
        self.starter.is_some()
    }
}

impl AutostartFiles {
    /// Returns the files of this home; `None` without a home folder of the user.
    pub fn of(host: &HostEnvironment) -> Option<AutostartFiles> {
        let user_home = host.env.os("HOME").map(PathBuf::from);
        let user_home = user_home.filter(|home| home.is_absolute());
        let config = host.env.os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.filter(|config| config.is_absolute());
        let config = config.or_else(|| user_home.map(|home| home.join(".config")))?;
        let name = match host.env.os("HOB_HOME") {
            Some(_) => format!("hob-{}", digest(host.home.root())),
            None => "hob".to_owned(),
        };
        let units = config.join("systemd/user");
        let unit_name = format!("{name}.service");
        Some(AutostartFiles {
            unit: units.join(&unit_name),
            wanted: units.join("default.target.wants").join(&unit_name),
            entry: config.join("autostart").join(format!("{name}.desktop")),
            unit_name,
            user: host.env.text("USER").map(str::to_owned),
        })
    }

    pub fn state(&self) -> AutostartState {
        // The link itself counts: it may lead to a unit that a package brought.
        let is_enabled = std::fs::symlink_metadata(&self.wanted).is_ok();
        let (starter, text) = if is_enabled {
            (Some(Starter::Unit), self.unit_text())
        } else if self.entry.exists() {
            (Some(Starter::Entry), read(&self.entry))
        } else {
            (None, None)
        };
        let program = text.as_deref().and_then(unit::program);
        AutostartState {
            starter,
            lingers: starter == Some(Starter::Unit) && self.lingers(),
            missing_program: program.filter(|program| !program.exists()),
        }
    }

    /// Returns true if the user's services run without a login.
    fn lingers(&self) -> bool {
        let user = self.user.as_deref().filter(|user| !user.contains('/'));
        user.is_some_and(|user| Path::new(LINGER_FOLDER).join(user).exists())
    }

    fn unit_text(&self) -> Option<String> {
        let packaged = PACKAGED_UNITS
            .iter()
            .map(|folder| Path::new(folder).join(&self.unit_name));
        std::iter::once(self.unit.clone())
            .chain(packaged)
            .find_map(|file| read(&file))
    }
}

fn read(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok()
}
