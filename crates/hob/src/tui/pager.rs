//! Shows a text in the user's pager.

use crate::context::CommandContext;
use std::io::Write;
use std::process::Stdio;

/// The pager if PAGER is not set.
const DEFAULT_PAGER: &str = "less";

/// The pager of the environment.
#[derive(Clone, Debug)]
pub struct PagerCommand {
    pager: String,
}

impl PagerCommand {
    pub fn of(context: &CommandContext) -> PagerCommand {
        let named = context.host.env.text("PAGER");
        let pager = named.filter(|it| !it.trim().is_empty());
        PagerCommand {
            pager: pager.unwrap_or(DEFAULT_PAGER).to_owned(),
        }
    }

    /// Shows the text until the person leaves the pager.
    pub fn show(&self, text: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| {
            format!("The pager '{}' failed: {error}. Set PAGER.", self.pager)
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the user's pager needs the user's terminal, which a sandboxed child does not have"
        )]
        let mut command = std::process::Command::new("sh");
        // As in git, the variable may hold a program with arguments, so a shell splits it.
        let mut child = command
            .arg("-c")
            .arg(&self.pager)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A pager that was left early does not read the rest.
            let _ = stdin.write_all(text.as_bytes());
        }
        let status = child.wait().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        Err(format!(
            "The pager '{}' ended with {status}. Set PAGER.",
            self.pager
        ))
    }
}
