//! `hob uninstall`: stops everything that hob started and removes what starts it again. With
//! `--purge` also its data.
//!
//! Invariants: nothing is removed before the person agreed to the list shown, or `--yes`; only files
//! that hob made are removed, never the folder of a home that holds something else; what is left is
//! listed.

use super::{autostart, down};
use crate::autostart::AutostartFiles;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::own_process;
use crate::render::TextTone;
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal;
use crate::tree::help_text::{examples, quoted};
use hob_exec::find_program;
use hob_kit::home::Home;
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const REASON: &str = "the user's own tmux";
/// Files beside the database that belong to it.
const DATABASE_FILES: [&str; 4] = ["hob.db-wal", "hob.db-shm", "hob.db.mark", "hob.db.lock"];
/// The folder of pasted keys, and the file of `hob doctor`'s probes; both below the home.
const OTHER_ENTRIES: [&str; 2] = ["keys", "models"];
/// The folders from which a package manager removes the program.
const PACKAGED: [&str; 2] = ["/usr/bin/hob", "/bin/hob"];

/// Stops hob and removes what starts it.
///
/// Stops the daemon with its services and jobs, asks about your terminals, and turns autostart off.
/// Your data stays; --purge removes it too. Lists what is left, with the command that removes the
/// program itself.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob uninstall", "hob uninstall --purge"]))]
pub struct UninstallArgs {
    /// Removes conversations, settings, keys and everything else that hob stored.
    #[arg(long)]
    purge: bool,
    /// Does not ask.
    #[arg(long, short)]
    yes: bool,
    /// Closes your terminals and what runs in them, without asking.
    #[arg(long)]
    close_terminals: bool,
}

pub async fn run(context: &CommandContext, args: UninstallArgs) -> Result<(), CommandFailure> {
    context.ensure_local()?;
    let person = if context.terminal.json {
        None
    } else {
        TerminalUser::find()
    };
    consent(context, &args, person.as_ref()).await?;
    let mut report = UninstallReport::default();
    if let Some(files) = AutostartFiles::of(&context.host)
        && files.state().is_on()
    {
        autostart::turn_off(context, &files).await?;
        report.done.push("Autostart is off.".to_owned());
    }
    if let Some(pid) = down::stop(context).await? {
        let line = format!("Stopped the daemon (pid {pid}) with its services and jobs.");
        report.done.push(line);
    }
    terminals(context, &args, person.as_ref(), &mut report).await?;
    if args.purge {
        purge(&context.host.home, &mut report)?;
    }
    add_left(context, &mut report);
    print(context, &report)
}

/// What was done, and what is left with the way to remove it.
#[derive(Debug, Default)]
struct UninstallReport {
    done: Vec<String>,
    left: Vec<String>,
    has_terminals: bool,
}

async fn consent(
    context: &CommandContext,
    args: &UninstallArgs,
    person: Option<&TerminalUser>,
) -> Result<(), CommandFailure> {
    if args.yes {
        return Ok(());
    }
    let home = context.host.home.root().display();
    let Some(person) = person else {
        return Err(CommandFailure::usage("Nobody is there to ask.")
            .next("To go on without a question: hob uninstall --yes"));
    };
    Terminal::note("This stops the daemon, its services, jobs and loops, and turns autostart off.");
    let data = if args.purge {
        format!("It also removes all conversations, settings and keys in {home}, for good.")
    } else {
        format!("Your data in {home} stays.")
    };
    let tone = if args.purge {
        TextTone::Bad
    } else {
        TextTone::Quiet
    };
    Terminal::note(context.terminal.stderr_screen().paint(tone, &data));
    if ask(person, "Go on?").await? {
        return Ok(());
    }
    Err(CommandFailure::failed("Nothing was changed."))
}

async fn ask(person: &TerminalUser, question: &str) -> Result<bool, CommandFailure> {
    let key = person
        .key(&format!("{question} [y] yes  [n] no  "), &['y', 'n'])
        .await?;
    // The terminal does not echo in key mode.
    Terminal::note(key);
    Ok(key == 'y')
}

/// Closes the terminals if the person wants that.
async fn terminals(
    context: &CommandContext,
    args: &UninstallArgs,
    person: Option<&TerminalUser>,
    report: &mut UninstallReport,
) -> Result<(), CommandFailure> {
    let open = tmux(context, &["list-sessions", "-F", "#S"]).await;
    let open: Vec<String> = open
        .iter()
        .flat_map(|text| text.lines())
        .map(str::to_owned)
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let names = open.join(", ");
    let question = format!("Close your terminals ({names}) and what runs in them?");
    let is_agreed = match person {
        _ if args.close_terminals => true,
        Some(person) => ask(person, &question).await?,
        // `--yes` is no answer about what a person runs there.
        None => false,
    };
    if is_agreed && tmux(context, &["kill-server"]).await.is_some() {
        report.done.push(format!("Closed the terminals: {names}."));
        return Ok(());
    }
    report.has_terminals = true;
    let socket = quoted(&context.host.home.tmux_socket().display().to_string());
    report.left.push(format!(
        "the terminals {names}; close them with: tmux -S {socket} kill-server"
    ));
    Ok(())
}

/// Asks the tmux server of this home; `None` without one.
async fn tmux(context: &CommandContext, arguments: &[&str]) -> Option<String> {
    let socket = context.host.home.tmux_socket();
    if !socket.exists() || hob_kit::home::check_socket_folder(&socket).is_err() {
        return None;
    }
    let program = find_program("tmux", &context.host.env)?;
    let mut argv: Vec<OsString> = vec![program.into(), "-S".into(), socket.into()];
    argv.extend(arguments.iter().map(OsString::from));
    let result = own_process::run(context, argv, REASON).await.ok()?;
    result.is_success.then_some(result.stdout)
}

/// Removes what hob stored, and the folders that are empty then.
fn purge(home: &Home, report: &mut UninstallReport) -> Result<(), CommandFailure> {
    if hob_kit::home_lock::is_held(home) {
        return Err(CommandFailure::failed(
            "Another hob command uses this home; its data was not removed.",
        )
        .next("Wait for it, then: hob uninstall --purge"));
    }
    for entry in stored_entries(home, report.has_terminals) {
        remove(&entry).map_err(|error| {
            CommandFailure::failed(format!("'{}' cannot be removed: {error}.", entry.display()))
        })?;
    }
    for folder in home.folders() {
        // Fails if something else is in it, which stays and is listed.
        let _ = std::fs::remove_dir(folder);
    }
    report
        .done
        .push("Removed everything that hob stored.".to_owned());
    Ok(())
}

/// Everything that hob makes in a home. Terminals that stay open keep their recording and socket.
fn stored_entries(home: &Home, has_terminals: bool) -> Vec<PathBuf> {
    let mut entries = vec![
        home.config_file(),
        home.service_files(),
        home.database(),
        home.index(),
        home.blobs(),
        home.owner_token(),
        home.hooks_key(),
        home.heartbeat_file(),
        home.chat_history(),
        home.notices(),
        home.logs(),
        home.root().join("services"),
    ];
    entries.extend(DATABASE_FILES.map(|name| home.root().join(name)));
    entries.extend(OTHER_ENTRIES.map(|name| home.root().join(name)));
    if !has_terminals {
        entries.extend([
            home.terminals(),
            home.run(),
            home.socket(),
            home.tmux_socket(),
        ]);
    }
    entries
}

fn remove(entry: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(entry) else {
        return Ok(());
    };
    // A link is removed, not what it leads to.
    if found.is_dir() {
        std::fs::remove_dir_all(entry)
    } else {
        std::fs::remove_file(entry)
    }
}

fn add_left(context: &CommandContext, report: &mut UninstallReport) {
    let home = &context.host.home;
    let folders = home.folders();
    let is_inner = |folder: &Path| {
        let mut outer = folders.iter().filter(|outer| **outer != folder);
        outer.any(|outer| folder.starts_with(outer))
    };
    let mut named: Vec<&Path> = Vec::new();
    for folder in &folders {
        if folder.exists() && !is_inner(folder) && !named.contains(folder) {
            named.push(folder);
            report.left.push(format!("the folder {}", folder.display()));
        }
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let path = program.display().to_string();
    let how = if PACKAGED.contains(&path.as_str()) {
        "sudo apt remove hob".to_owned()
    } else {
        format!("rm {}", quoted(&path))
    };
    report
        .left
        .push(format!("the program; remove it with: {how}"));
}

fn print(context: &CommandContext, report: &UninstallReport) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&json!({ "done": report.done, "left": report.left }))?);
    }
    terminal.lines(report.done.clone())?;
    if report.done.is_empty() {
        terminal.line("Nothing of hob was running.")?;
    }
    terminal.line("Left:")?;
    Ok(terminal.lines(report.left.iter().map(|left| format!("  {left}")))?)
}
