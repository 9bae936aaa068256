//! `hob import`: brings what another system stored to hob: its sessions, jobs, loops, settings and
//! keys.
//!
//! - `plan_review`: what the plan of a reader means on this machine
//! - `apply`: carries a plan out, through the daemon
//! - `sessions`: the sessions of it; `report`: what became of everything
//!
//! Invariants: nothing is changed before a person agreed to the plan shown, or `--yes`; the other
//! system's files are only read; a repeated import changes only what is missing, so one that was
//! interrupted is continued by repeating it.

mod apply;
mod plan_review;
mod report;
mod sessions;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::progress_line::ProgressLine;
use crate::render::{TextTone, import_plan as drawn};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal;
use crate::tree::help_text::{examples, quoted};
use clap::builder::PossibleValuesParser;
use hob_dialects::import_folder::SourceFolder;
use hob_dialects::import_plan::ImportPlan;
use hob_dialects::importer::{Importer, SourcePlace, importers};
pub use report::{ImportCount, ImportReport};
use std::path::{Path, PathBuf};

/// Brings sessions, jobs, loops and keys of another system to hob.
///
/// Reads what the other system stored, shows what would be imported and what would not, and asks.
/// The files of the other system are never changed. Without PATH its usual folders are looked at.
///
/// Sessions get the kind imported. Jobs are added disabled, and loops are not started; none gets a
/// grant. Keys are kept in hob's home, where no tool can read them. What hob has already stays as it
/// is, so an import can be repeated, and one that was interrupted is continued that way.
///
/// Without a terminal and without --yes the plan is shown and nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = import_examples())]
pub struct ImportArgs {
    /// The other system.
    #[arg(value_name = "SYSTEM", value_parser = PossibleValuesParser::new(names()))]
    system: String,
    /// The folder in which it keeps its data.
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Does not ask.
    #[arg(long, short)]
    yes: bool,
    /// Enables the jobs that are enabled in the other system.
    #[arg(long)]
    enable_jobs: bool,
}

fn names() -> impl Iterator<Item = &'static str> {
    importers().iter().map(|importer| importer.name)
}

fn import_examples() -> String {
    let mut lines = Vec::new();
    for (index, name) in names().enumerate() {
        lines.push(match index {
            0 => format!("hob import {name}"),
            1 => format!("hob import {name} backup/{name} --yes"),
            2 => format!("hob import {name} saved --json"),
            _ => continue,
        });
    }
    examples(&lines)
}

pub async fn run(context: &CommandContext, args: ImportArgs) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    let importer = importers().iter().find(|it| it.name == args.system);
    let importer = importer.ok_or_else(|| CommandFailure::usage("There is no such system."))?;
    let folder = open_folder(context, importer, args.path.as_deref())?;
    let plan = tokio::select! {
        plan = read_plan(context, *importer, folder) => plan?,
        () = interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
    };
    let command = ImportCommand {
        context,
        args: &args,
    };
    if !command.get_consent(&plan, &mut interrupts).await? {
        return Err(CommandFailure::failed("Nothing was imported."));
    }
    if drawn::is_empty(&plan) {
        return command.print(&ImportReport::of(&plan));
    }
    let report = tokio::select! {
        report = apply::apply(context, plan, args.enable_jobs) => report?,
        () = interrupts.next() => return Err(command.interrupted()),
    };
    command.print(&report)
}

/// Opens the named folder, or the first of the usual ones that exists.
fn open_folder(
    context: &CommandContext,
    importer: &Importer,
    named: Option<&Path>,
) -> Result<SourceFolder, CommandFailure> {
    if let Some(path) = named {
        return SourceFolder::open(path).map_err(|error| {
            let sentence = format!(
                "'{}' cannot be opened as a folder: {error}.",
                path.display()
            );
            CommandFailure::new(ExitStatus::NotFound, "NOT_FOUND", sentence)
                .next(format!("For {}: {}.", importer.system, importer.advice))
        });
    }
    let mut looked_at = Vec::new();
    for place in importer.places {
        let Some(path) = place_path(context, *place) else {
            continue;
        };
        if let Ok(folder) = SourceFolder::open(&path) {
            return Ok(folder);
        }
        looked_at.push(path.display().to_string());
    }
    let sentence = match &looked_at[..] {
        [] => format!("{} has no usual folder.", importer.system),
        _ => format!(
            "{} was not found in {}.",
            importer.system,
            looked_at.join(" or ")
        ),
    };
    Err(
        CommandFailure::new(ExitStatus::NotFound, "NOT_FOUND", sentence).next(format!(
            "hob import {} PATH: {}.",
            importer.name, importer.advice
        )),
    )
}

fn place_path(context: &CommandContext, place: SourcePlace) -> Option<PathBuf> {
    let env = &context.host.env;
    let home = || env.text("HOME").map(PathBuf::from);
    match place {
        SourcePlace::Variable(name) => {
            let text = env.text(name)?.trim();
            match text.strip_prefix("~/") {
                _ if text.is_empty() => None,
                Some(below) => Some(home()?.join(below)),
                None => Some(PathBuf::from(text)),
            }
        }
        SourcePlace::Home(below) => Some(home()?.join(below)),
        SourcePlace::WorkingFolder(below) => Some(PathBuf::from(below)),
    }
}

async fn read_plan(
    context: &CommandContext,
    importer: Importer,
    folder: SourceFolder,
) -> Result<ImportPlan, CommandFailure> {
    let mut line = ProgressLine::new(context.terminal.stderr_screen(), context.terminal.json);
    if context.terminal.stderr_screen().rows.is_some() {
        line.show(&format!("Reading {} …", folder.path().display()));
    }
    let read = tokio::task::spawn_blocking(move || importer.read(&folder)).await;
    let mut plan = read.map_err(|error| {
        CommandFailure::failed(format!("The folder could not be read: {error}."))
    })?;
    plan_review::review(context, &mut plan);
    Ok(plan)
}

struct ImportCommand<'c> {
    context: &'c CommandContext,
    args: &'c ImportArgs,
}

impl ImportCommand<'_> {
    /// Shows the plan and asks, unless the answer was given. Returns false for a no.
    async fn get_consent(
        &self,
        plan: &ImportPlan,
        interrupts: &mut InterruptSignals,
    ) -> Result<bool, CommandFailure> {
        let terminal = &self.context.terminal;
        let needs_consent = !self.args.yes && !drawn::is_empty(plan);
        let person = TerminalUser::find().filter(|_| !terminal.json);
        if needs_consent && person.is_none() {
            // The plan is all that this command will print, so it is the result.
            terminal.print_result(plan, drawn::plan)?;
            return Err(CommandFailure::usage("Importing needs your consent.")
                .next(format!("Give it: {}", self.command_line("--yes"))));
        }
        if !terminal.json {
            let screen = Terminal::remeasured(terminal.stderr_screen());
            drawn::plan(plan, &screen).iter().for_each(Terminal::note);
        }
        let Some(person) = person.filter(|_| needs_consent) else {
            return Ok(true);
        };
        let screen = terminal.stderr_screen();
        let keys = screen.paint(TextTone::Command, "[y/n]");
        let prompt = format!("\nImport this? {keys} ");
        let answer = tokio::select! {
            answer = person.key(&prompt, &['y', 'n']) => answer,
            () = interrupts.next() => {
                Terminal::note("");
                return Err(CommandFailure::quiet(ExitStatus::Interrupted));
            }
        };
        let answer = answer.map_err(|error| {
            CommandFailure::failed(format!("The terminal cannot be read: {error}."))
        })?;
        Terminal::note(if answer == 'y' { "yes" } else { "no" });
        Ok(answer == 'y')
    }

    fn print(&self, report: &ImportReport) -> Result<(), CommandFailure> {
        let terminal = &self.context.terminal;
        Ok(terminal.print_result(report, drawn::report)?)
    }

    /// Ctrl-C: what was imported stays, and the same command continues.
    fn interrupted(&self) -> CommandFailure {
        let line = self.command_line("--yes");
        Terminal::note(format!("Interrupted. To continue: {line}"));
        CommandFailure::quiet(ExitStatus::Interrupted)
    }

    /// This command with another flag.
    fn command_line(&self, flag: &str) -> String {
        let mut words = vec!["hob import".to_owned(), self.args.system.clone()];
        let path = self.args.path.as_deref();
        words.extend(path.map(|path| quoted(&path.display().to_string())));
        words.push(flag.to_owned());
        if self.args.enable_jobs {
            words.push("--enable-jobs".to_owned());
        }
        words.join(" ")
    }
}
