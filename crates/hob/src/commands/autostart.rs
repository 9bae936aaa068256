//! `hob autostart`: starts the daemon at login.

use crate::autostart::systemctl::Systemctl;
use crate::autostart::unit::{self, UnitParts};
use crate::autostart::{AutostartFiles, AutostartState, Starter};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::TextTone;
use crate::render::text::wrap;
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_kit::{atomic_file, home_lock};
use serde_json::json;
use std::path::Path;

/// Starts the daemon at login, so that jobs and loops run after a reboot.
///
/// With systemd it is a user unit: the daemon starts at your first login after a reboot, and again
/// if it fails. To start it at boot, before any login, allow lingering: loginctl enable-linger.
/// Without systemd it is an autostart entry of the desktop. Stopping the unit leaves your terminals
/// alone.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&["hob autostart on", "hob autostart status"]))]
pub enum AutostartSubcommand {
    /// Turns it on, and starts the daemon now.
    #[command(after_help = examples(&["hob autostart on"]))]
    On,
    /// Turns it off. A running daemon goes on.
    #[command(after_help = examples(&["hob autostart off"]))]
    Off,
    /// Shows whether the daemon starts at login.
    #[command(after_help = examples(&["hob autostart status", "hob autostart status --json"]))]
    Status,
}

pub async fn run(
    context: &CommandContext,
    command: AutostartSubcommand,
) -> Result<(), CommandFailure> {
    context.ensure_local()?;
    let files = files(context)?;
    match command {
        AutostartSubcommand::On => turn_on(context, &files).await?,
        AutostartSubcommand::Off => turn_off(context, &files).await?,
        AutostartSubcommand::Status => {}
    }
    print(context, &files)
}

fn files(context: &CommandContext) -> Result<AutostartFiles, CommandFailure> {
    AutostartFiles::of(&context.host)
        .ok_or_else(|| CommandFailure::usage("HOME is not set, so there is no login to start at."))
}

async fn turn_on(context: &CommandContext, files: &AutostartFiles) -> Result<(), CommandFailure> {
    let program = std::env::current_exe().map_err(|error| {
        CommandFailure::failed(format!("hob cannot find its own executable: {error}."))
    })?;
    let program = program.display().to_string();
    let env = &context.host.env;
    let home = env
        .os("HOB_HOME")
        .map(|_| context.host.home.root().display().to_string());
    let parts = UnitParts {
        program: &program,
        home: home.as_deref(),
        path: env.text("PATH"),
    };
    let Some(systemctl) = Systemctl::find(context).await else {
        return write(&files.entry, &unit::desktop_entry(&parts));
    };
    // Only one of the two may start the daemon.
    remove(&files.entry)?;
    write(&files.unit, &unit::unit(&parts))?;
    systemctl.run(&["daemon-reload"]).await?;
    systemctl.run(&["enable", &files.unit_name]).await?;
    // A daemon that runs already keeps the home; the unit takes over at the next login.
    if home_lock::holder_pid(&context.host.home).is_none() {
        systemctl.run(&["start", &files.unit_name]).await?;
    }
    Ok(())
}

/// Turns autostart off; what is not there is left alone.
pub(super) async fn turn_off(
    context: &CommandContext,
    files: &AutostartFiles,
) -> Result<(), CommandFailure> {
    remove(&files.entry)?;
    if !files.unit.exists() && std::fs::symlink_metadata(&files.wanted).is_err() {
        return Ok(());
    }
    let systemctl = Systemctl::find(context).await;
    if let Some(systemctl) = &systemctl {
        systemctl.run(&["disable", &files.unit_name]).await?;
    }
    // Without a manager that answers, the files decide about the next login.
    remove(&files.wanted)?;
    remove(&files.unit)?;
    if let Some(systemctl) = &systemctl {
        systemctl.run(&["daemon-reload"]).await?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), CommandFailure> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)
        .and_then(|()| atomic_file::replace_unsynced(file, text.as_bytes()))
        .map_err(|error| {
            CommandFailure::failed(format!("'{}' cannot be written: {error}.", file.display()))
        })
}

fn remove(file: &Path) -> Result<(), CommandFailure> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CommandFailure::failed(
            format!("'{}' cannot be removed: {error}.", file.display()),
        )),
        _ => Ok(()),
    }
}

fn print(context: &CommandContext, files: &AutostartFiles) -> Result<(), CommandFailure> {
    let state = files.state();
    let terminal = &context.terminal;
    if terminal.json {
        let by = state.starter.map(|starter| match starter {
            Starter::Unit => "systemd",
            Starter::Entry => "desktop",
        });
        let file = state.starter.map(|starter| file_of(files, starter));
        return Ok(terminal.document(&json!({
            "on": state.is_on(), "by": by, "file": file, "lingers": state.lingers,
            "missingProgram": state.missing_program,
        }))?);
    }
    let screen = terminal.screen();
    let room = screen.width.unwrap_or(usize::MAX);
    let lines = lines(files, &state).into_iter();
    let lines = lines.flat_map(|(tone, line)| {
        let pieces = wrap(&line, room).into_iter();
        pieces.map(move |piece| screen.paint(tone, &piece))
    });
    Ok(terminal.lines(lines)?)
}

fn file_of(files: &AutostartFiles, starter: Starter) -> &Path {
    match starter {
        Starter::Unit => &files.unit,
        Starter::Entry => &files.entry,
    }
}

fn lines(files: &AutostartFiles, state: &AutostartState) -> Vec<(TextTone, String)> {
    let mut lines = match state.starter {
        None => vec![(
            TextTone::Warning,
            "Autostart is off: after a reboot, jobs and loops run only once a command starts hob. \
             Turn it on: hob autostart on"
                .to_owned(),
        )],
        Some(Starter::Entry) => vec![(
            TextTone::Good,
            format!(
                "Autostart is on: your desktop starts hob ({}).",
                files.entry.display()
            ),
        )],
        Some(Starter::Unit) => {
            let unit = &files.unit_name;
            let mut lines = vec![(
                TextTone::Good,
                format!("Autostart is on: the user unit {unit} starts hob."),
            )];
            lines.push(if state.lingers {
                (
                    TextTone::Quiet,
                    "It starts at boot, before you log in.".to_owned(),
                )
            } else {
                let line = "It starts at your first login after a reboot. To start it at boot: \
                            loginctl enable-linger";
                (TextTone::Quiet, line.to_owned())
            });
            lines
        }
    };
    if let Some(program) = &state.missing_program {
        let line = format!(
            "Its program {} is gone. Write the unit anew: hob autostart on",
            program.display()
        );
        lines.push((TextTone::Bad, line));
    }
    if state.is_on() {
        let line = "Variables of your shell, such as API keys, are not set there.";
        lines.push((TextTone::Quiet, line.to_owned()));
    }
    lines
}

/// Notes that what was just scheduled does not run after a reboot, unless hob starts at login.
pub(super) fn note_if_off(context: &CommandContext) {
    if context.terminal.json || context.is_remote() {
        return;
    }
    let files = AutostartFiles::of(&context.host);
    if files.is_none_or(|files| files.state().is_on()) {
        return;
    }
    let screen = context.terminal.stderr_screen();
    let line =
        "After a reboot this runs only once hob is started. Start it at login: hob autostart on";
    for line in wrap(line, screen.width.unwrap_or(usize::MAX)) {
        Terminal::note(screen.paint(TextTone::Quiet, &line));
    }
}
