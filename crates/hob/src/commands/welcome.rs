//! `hob` alone: on a terminal a short look around and what to try; otherwise the help page, since
//! a script that names no command made a mistake.

use super::status;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::pad;
use crate::render::{Screen, Tone};
use crate::tree;
use hob_wire::rooms::daemon::DaemonStatus;
use std::path::Path;

pub async fn run(context: &Context) -> Result<(), Failure> {
    let terminal = &context.terminal;
    if !terminal.is_terminal() {
        let help = tree::command().render_help();
        terminal.bytes(help.to_string().as_bytes())?;
        return Err(Failure::quiet(Exit::Usage));
    }
    if terminal.json {
        return status::show(context).await;
    }
    let status = match context.running_client().await {
        Ok(Some(client)) => status::of_daemon(&client).await.map(Some),
        Ok(None) => Ok(None),
        Err(failure) => Err(failure),
    };
    let view = View {
        home: context.world.home.root().display().to_string(),
        is_new: !context.world.home.database().exists(),
        program: program(),
        status,
    };
    Ok(terminal.lines(lines(&view, terminal.screen()))?)
}

/// What the screen shows.
#[derive(Debug)]
pub struct View {
    pub home: String,
    /// Nothing has lived here yet.
    pub is_new: bool,
    /// How this program was called, so that what is shown can be typed.
    pub program: String,
    pub status: Result<Option<DaemonStatus>, Failure>,
}

pub fn lines(view: &View, screen: &Screen) -> Vec<String> {
    let title = format!("hob {}", env!("CARGO_PKG_VERSION"));
    let mut lines = vec![
        format!(
            "{}  a helper that lives in your house",
            screen.paint(Tone::Heading, &title)
        ),
        String::new(),
    ];
    lines.extend(
        state_lines(view, screen)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    lines.push(String::new());
    lines.push(screen.paint(Tone::Heading, "Try"));
    let steps = steps(view);
    let widest = steps.iter().map(|(line, _)| line.chars().count()).max();
    for (line, what) in &steps {
        let line = pad(
            &format!("{} {line}", view.program),
            widest.unwrap_or(0) + view.program.len() + 1,
        );
        lines.push(format!("  {}   {what}", screen.paint(Tone::Command, &line)));
    }
    if view.program != "hob" {
        lines.push(String::new());
        let advice = "To call it just `hob`: cargo install --path crates/hob";
        lines.push(screen.paint(Tone::Quiet, advice));
    }
    lines
}

fn state_lines(view: &View, screen: &Screen) -> Vec<String> {
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
            lines.push(screen.paint(Tone::Bad, &failure.sentence));
            lines
        }
    }
}

fn steps(view: &View) -> Vec<(&'static str, &'static str)> {
    let mut steps = vec![
        ("ask \"what time is it?\"", "ask a model"),
        ("chat", "talk with one"),
        ("model list", "which models there are"),
        ("service list", "local services, a model among them"),
        ("session list", "your conversations"),
        ("events", "watch what happens"),
        ("gateway describe", "every method and event"),
        ("doctor", "check this machine"),
        ("help", "every command"),
    ];
    if !matches!(view.status, Ok(Some(_))) {
        steps.insert(0, ("up", "start the daemon"));
    }
    steps
}

/// `hob` when it was found by name, else the path it was called by.
fn program() -> String {
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
