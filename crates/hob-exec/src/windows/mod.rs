//! Windows of the desktop that show a terminal.
//!
//! - [`programs`]: the programs that show terminals, in the order in which they are looked for
//!
//! A window's command writes its own process id to `FOLDER/window.N` and becomes the tmux client,
//! so the id is the client's: closing the window is detaching that client
//! ([`crate::tmux::Control::detach`]), whereupon the program ends by itself.
//!
//! Invariants: a window is the person's and outlives the daemon; nothing here ends a process.

pub mod programs;

pub use programs::{ORDER, Program};

use crate::detached;
use crate::tmux::words::quoted;
use hob_kit::world::Env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a window may take to come up.
pub const OPEN_MAX: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Windows on one terminal that hob remembers.
pub const WINDOWS_MAX: u32 = 64;
const PREFIX: &str = "window.";

/// What a program needs to know to show a window; what is missing is taken from the daemon's own
/// environment only if nothing is given at all.
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
pub struct Opening {
    /// The terminal's name, for the title and for people.
    pub name: String,
    /// The terminal's folder.
    pub folder: PathBuf,
    /// What runs in the window: [`crate::tmux::Server::attach_argv`].
    pub attach: Vec<OsString>,
    pub desktop: Desktop,
    /// The program that was asked for.
    pub program: Option<String>,
    /// The setting `terminal.window`: a program, or the beginning of a command line.
    pub setting: Option<String>,
}

/// A window that hob opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Names it among those of its terminal.
    pub number: u32,
    /// The process of its tmux client.
    pub pid: u32,
}

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    #[error(
        "There is no display here to open a window on; in a terminal of yours run: hob terminal attach {name}"
    )]
    NoDisplay { name: String },
    #[error(
        "No program that shows a terminal was found (looked for {}); set terminal.window to yours, or run: hob terminal attach {name}",
        ORDER.join(", ")
    )]
    NoProgram { name: String },
    #[error("There is no program '{program}' to show a window with.")]
    Named { program: String },
    #[error("The command line of the window cannot be read: {0}.")]
    Line(&'static str),
    #[error("'{program}' opened no window: {reason}.")]
    Failed { program: String, reason: String },
    #[error("{WINDOWS_MAX} windows are open on this terminal, which is the most; close one first.")]
    TooMany,
    #[error("The window could not be opened: {0}")]
    Io(#[from] io::Error),
}

impl Desktop {
    /// The desktop of an environment.
    pub fn of(env: &Env) -> Desktop {
        let text = |name: &str| env.text(name).map(str::to_owned);
        Desktop {
            x11: text("DISPLAY"),
            wayland: text("WAYLAND_DISPLAY"),
            authority: text("XAUTHORITY"),
            runtime_dir: text("XDG_RUNTIME_DIR"),
            bus: text("DBUS_SESSION_BUS_ADDRESS"),
        }
    }

    /// Whether anything can be shown.
    pub fn is_there(&self) -> bool {
        self.x11.is_some() || self.wayland.is_some()
    }

    /// As variables. One that is missing is empty, so that none of another desktop is left.
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

/// The programs that are installed and could show a window on this desktop, the first choice first.
pub fn detect(env: &Env, desktop: &Desktop) -> Vec<Program> {
    programs::found(env, desktop)
}

/// Opens a window and waits until it shows the terminal; the program and the window.
pub async fn open(env: &Env, opening: Opening) -> Result<(Program, Window), WindowError> {
    let desktop = &opening.desktop;
    if !desktop.is_there() {
        return Err(WindowError::NoDisplay { name: opening.name });
    }
    let asked = [&opening.program, &opening.setting];
    let mut asked = asked.into_iter().flatten().map(|asked| asked.trim());
    let program = if let Some(asked) = asked.find(|asked| !asked.is_empty()) {
        programs::named(asked, env)?
    } else {
        let first = programs::found(env, desktop).into_iter().next();
        first.ok_or_else(|| WindowError::NoProgram {
            name: opening.name.clone(),
        })?
    };
    let (number, file) = free(&opening.folder)?;
    let argv = program.argv(
        &format!("hob: {}", opening.name),
        &inside(&file, &opening.attach),
    );
    // What this process says of a desktop must not mix with the one that was given.
    let own = env.without(&[
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "DBUS_SESSION_BUS_ADDRESS",
    ]);
    let variables = detached::variables(&own, &desktop.variables());
    let mut child = detached::start(&argv, Path::new("/"), variables)?;
    let pid = came_up(&mut child, &file, &program).await?;
    Ok((program, Window { number, pid }))
}

/// The windows hob opened on a terminal and did not forget. Whether one is still there is known by
/// the terminal's clients.
pub fn opened(folder: &Path) -> io::Result<Vec<Window>> {
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

/// Forgets a window that is gone.
pub fn forget(folder: &Path, number: u32) -> io::Result<()> {
    match std::fs::remove_file(folder.join(format!("{PREFIX}{number}"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A number that no window of this terminal has; its file is made, so that it is taken.
fn free(folder: &Path) -> Result<(u32, PathBuf), WindowError> {
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

/// The command inside a window: it says which process it is and becomes the tmux client.
fn inside(file: &Path, attach: &[OsString]) -> Vec<OsString> {
    let mut line = OsString::from("echo $$ > ");
    line.push(quoted(file.as_os_str()));
    line.push("; exec");
    for word in attach {
        line.push(" ");
        line.push(quoted(word));
    }
    vec!["/bin/sh".into(), "-c".into(), line]
}

/// Waits until the window's command has said which process it is.
async fn came_up(
    child: &mut tokio::process::Child,
    file: &Path,
    program: &Program,
) -> Result<u32, WindowError> {
    let begun = tokio::time::Instant::now();
    let reason = loop {
        let said = std::fs::read_to_string(file)?;
        if let Some(pid) = said.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
            return Ok(pid);
        }
        // Some programs hand the window over to another process of theirs and end well.
        if let Some(status) = child.try_wait()?.filter(|status| !status.success()) {
            break format!("it ended at once ({status})");
        }
        if begun.elapsed() > OPEN_MAX {
            break "nothing came up".to_owned();
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    // Nothing will write to it any more, or it is nobody's.
    let _ = std::fs::remove_file(file);
    Err(WindowError::Failed {
        program: program.name.clone(),
        reason,
    })
}
