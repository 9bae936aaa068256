//! Desktop windows that show a terminal.
//!
//! - [`programs`]: the terminal programs, in order of preference
//!
//! A window's command writes its pid to `FOLDER/window.N` and becomes the tmux client, so the pid
//! is the client's. A window is closed by detaching that client
//! ([`crate::tmux::TmuxConnection::detach`]); its program then exits by itself.
//!
//! Invariants: a window belongs to the user and outlives the daemon; nothing here ends a process.

pub mod programs;

pub use programs::{PREFERENCE, WindowProgram};

use crate::detached;
use crate::tmux::quoting::quote_for_shell;
use hob_kit::host_environment::EnvVars;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit of opening a window.
pub const OPEN_MAX: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Windows on one terminal that hob remembers.
pub const WINDOWS_MAX: u32 = 64;
const PREFIX: &str = "window.";

/// The display variables of a desktop. The daemon's own environment is used only if none is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desktop {
    pub x11: Option<String>,
    pub wayland: Option<String>,
    pub authority: Option<String>,
    pub runtime_dir: Option<String>,
    pub bus: Option<String>,
}

/// A window to open.
#[derive(Clone, Debug)]
pub struct WindowRequest {
    /// The terminal's name, for the title and for people.
    pub name: String,
    /// The terminal's folder.
    pub folder: PathBuf,
    /// The command in the window: [`crate::tmux::TmuxServer::attach_argv`].
    pub attach: Vec<OsString>,
    pub desktop: Desktop,
    /// The requested program.
    pub program: Option<String>,
    /// The setting `terminal.window`: a program, or the beginning of a command line.
    pub setting: Option<String>,
}

/// A window that hob opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its number among the windows of the terminal.
    pub number: u32,
    /// The pid of its tmux client.
    pub pid: u32,
}

/// The reason why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    #[error(
        "There is no display here to open a window on; in a terminal of yours run: hob terminal attach {name}"
    )]
    NoDisplay { name: String },
    #[error(
        "No program that shows a terminal was found (looked for {}); set terminal.window to yours, or run: hob terminal attach {name}",
        PREFERENCE.join(", ")
    )]
    NoProgram { name: String },
    #[error("There is no program '{program}' to show a window with.")]
    Named { program: String },
    #[error("The command line of the window cannot be read: {0}.")]
    Line(&'static str),
    #[error("'{program}' opened no window: {reason}.")]
    Failed { program: String, reason: String },
    #[error(
        "{WINDOWS_MAX} windows are open on this terminal, which is the limit; close one first."
    )]
    TooMany,
    #[error("The window could not be opened: {0}")]
    Io(#[from] io::Error),
}

impl Desktop {
    /// The desktop of an environment.
    pub fn of(env: &EnvVars) -> Desktop {
        let text = |name: &str| env.text(name).map(str::to_owned);
        Desktop {
            x11: text("DISPLAY"),
            wayland: text("WAYLAND_DISPLAY"),
            authority: text("XAUTHORITY"),
            runtime_dir: text("XDG_RUNTIME_DIR"),
            bus: text("DBUS_SESSION_BUS_ADDRESS"),
        }
    }

    /// Returns true if a display is known.
    pub fn has_display(&self) -> bool {
        self.x11.is_some() || self.wayland.is_some()
    }

    /// Returns the known values as variables.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let pairs = [
            ("DISPLAY", &self.x11),
            ("WAYLAND_DISPLAY", &self.wayland),
            ("XAUTHORITY", &self.authority),
            ("XDG_RUNTIME_DIR", &self.runtime_dir),
            ("DBUS_SESSION_BUS_ADDRESS", &self.bus),
        ];
        let given = pairs.iter().filter_map(|(name, value)| {
            Some((OsString::from(name), OsString::from(value.as_ref()?)))
        });
        given.collect()
    }
}

/// Lists the installed programs that can show a window on this desktop, in order of preference.
pub fn detect(env: &EnvVars, desktop: &Desktop) -> Vec<WindowProgram> {
    programs::installed_programs(env, desktop)
}

/// Opens a window and waits until it shows the terminal. Returns the program and the window.
pub async fn open(
    env: &EnvVars,
    request: WindowRequest,
) -> Result<(WindowProgram, Window), WindowError> {
    let desktop = &request.desktop;
    if !desktop.has_display() {
        return Err(WindowError::NoDisplay { name: request.name });
    }
    let asked = [&request.program, &request.setting];
    let mut asked = asked.into_iter().flatten().map(|asked| asked.trim());
    let program = if let Some(asked) = asked.find(|asked| !asked.is_empty()) {
        programs::parse_named(asked, env)?
    } else {
        let first = programs::installed_programs(env, desktop)
            .into_iter()
            .next();
        first.ok_or_else(|| WindowError::NoProgram {
            name: request.name.clone(),
        })?
    };
    let (number, file) = reserve_number(&request.folder)?;
    let argv = program.argv(
        &format!("hob: {}", request.name),
        &window_command(&file, &request.attach),
    );
    // The daemon's own display variables must not mix with those of the request.
    let own = env.without(&[
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "DBUS_SESSION_BUS_ADDRESS",
    ]);
    let variables = detached::variables(&own, &desktop.variables());
    let mut child = detached::start(&argv, Path::new("/"), variables)?;
    let pid = wait_for_client(&mut child, &file, &program).await?;
    Ok((program, Window { number, pid }))
}

/// Lists the windows that hob opened on a terminal and has not forgotten. The terminal's clients
/// show which of them still exist.
pub fn list_opened(folder: &Path) -> io::Result<Vec<Window>> {
    let mut windows = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        let pid = std::fs::read_to_string(entry.path()).unwrap_or_default();
        if let (Some(number), Ok(pid)) = (number, pid.trim().parse()) {
            windows.push(Window { number, pid });
        }
    }
    windows.sort_by_key(|window| window.number);
    Ok(windows)
}

/// Removes the record of a window that is gone.
pub fn forget(folder: &Path, number: u32) -> io::Result<()> {
    match std::fs::remove_file(folder.join(format!("{PREFIX}{number}"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reserves a free window number of this terminal by creating its file.
fn reserve_number(folder: &Path) -> Result<(u32, PathBuf), WindowError> {
    use std::os::unix::fs::OpenOptionsExt;
    for number in 1..=WINDOWS_MAX {
        let file = folder.join(format!("{PREFIX}{number}"));
        let mut options = std::fs::OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&file) {
            Ok(_) => return Ok((number, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(WindowError::TooMany)
}

/// The command in a window: it writes its pid to `file` and becomes the tmux client.
fn window_command(file: &Path, attach: &[OsString]) -> Vec<OsString> {
    let mut line = OsString::from("echo $$ > ");
    line.push(quote_for_shell(file.as_os_str()));
    line.push("; exec");
    for word in attach {
        line.push(" ");
        line.push(quote_for_shell(word));
    }
    vec!["/bin/sh".into(), "-c".into(), line]
}

/// Waits until the window's command has written its pid.
async fn wait_for_client(
    child: &mut tokio::process::Child,
    file: &Path,
    program: &WindowProgram,
) -> Result<u32, WindowError> {
    let started_at = tokio::time::Instant::now();
    let reason = loop {
        let content = std::fs::read_to_string(file)?;
        // Without its line break the number may be written only in part.
        if let Some(pid) = content.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
            return Ok(pid);
        }
        // Some programs pass the window to another process and exit successfully.
        if let Some(status) = child.try_wait()?.filter(|status| !status.success()) {
            break format!("it ended at once ({status})");
        }
        if started_at.elapsed() > OPEN_MAX {
            break "no window appeared".to_owned();
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    // Frees the number. A window that opens later is not managed.
    let _ = std::fs::remove_file(file);
    Err(WindowError::Failed {
        program: program.name.clone(),
        reason,
    })
}
