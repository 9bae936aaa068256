//! `hob` without a command: on a terminal the terminal UI; where it cannot be shown, the daemon's state
//! and commands to try. Elsewhere the help page and a usage error, since a script without a command has
//! a bug.

use super::status;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::pad;
use crate::render::{ScreenStyle, TextTone};
use crate::tree;
use crate::tree::command_groups::FIRST_STEPS;
use crate::tui;
use hob_wire::rooms::daemon::DaemonStatus;
use std::path::Path;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if !terminal.is_terminal() {
        let help = tree::command().render_help();
        terminal.bytes(help.to_string().as_bytes())?;
        return Err(CommandFailure::quiet(ExitStatus::Usage));
    }
    if terminal.json {
        return status::run(context).await;
    }
    if tui::is_possible(context) {
        return tui::open(context).await;
    }
    let status = match context.running_client().await {
        Ok(Some(client)) => status::fetch_status(&client).await.map(Some),
        Ok(None) => Ok(None),
        Err(failure) => Err(failure),
    };
    let view = WelcomeScreen {
        home: context.host.home.root().display().to_string(),
        is_new: !context.host.home.database().exists(),
        program: program_name(),
        status,
    };
    Ok(terminal.lines(lines(&view, terminal.screen()))?)
}

/// The contents of the welcome screen.
#[derive(Debug)]
pub struct WelcomeScreen {
    pub home: String,
    /// The home has no database yet.
    pub is_new: bool,
    /// The command that started this program, so that the suggestions can be typed as shown.
    pub program: String,
    pub status: Result<Option<DaemonStatus>, CommandFailure>,
}

pub fn lines(view: &WelcomeScreen, screen: &ScreenStyle) -> Vec<String> {
    let title = format!("hob {}", env!("CARGO_PKG_VERSION"));
    let mut lines = vec![
        format!(
            "{}  a local-first agent runtime",
            screen.paint(TextTone::Heading, &title)
        ),
        String::new(),
    ];
    lines.extend(
        state_lines(view, screen)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    lines.push(String::new());
    lines.push(screen.paint(TextTone::Heading, "Start here"));
    let steps = suggestions();
    let widest = steps.iter().map(|(line, _)| line.chars().count()).max();
    for (line, what) in &steps {
        let line = pad(
            &format!("{} {line}", view.program),
            widest.unwrap_or(0) + view.program.len() + 1,
        );
        lines.push(format!(
            "  {}   {what}",
            screen.paint(TextTone::Command, &line)
        ));
    }
    if view.program != "hob" {
        lines.push(String::new());
        let advice = "To call it just `hob`: cargo install --path crates/hob";
        lines.push(screen.paint(TextTone::Quiet, advice));
    }
    lines
}

fn state_lines(view: &WelcomeScreen, screen: &ScreenStyle) -> Vec<String> {
    match &view.status {
        Ok(Some(status)) => status::lines(status, screen),
        Ok(None) => {
            let mut home = view.home.clone();
            if view.is_new {
                home.push_str(" (new)");
            }
            status::absent_lines(&home, screen)
        }
        Err(failure) => {
            let mut lines = status::absent_lines(&view.home, screen);
            lines.push(screen.paint(TextTone::Bad, &failure.sentence));
            lines
        }
    }
}

fn suggestions() -> Vec<(&'static str, &'static str)> {
    let mut steps = FIRST_STEPS.to_vec();
    steps.push(("help", "list every command"));
    steps
}

/// Returns `hob` if it was started by name, else the path it was started by.
fn program_name() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if !called.contains('/') {
        return "hob".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    let relative = Path::new(&called).strip_prefix(&here);
    relative.map_or(called.clone(), |path| path.display().to_string())
}

#[cfg(test)]
#[path = "welcome_tests.rs"]
mod tests;
