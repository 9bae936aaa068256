//! Checks for tmux, which runs the shared terminals.

use hob_exec::tmux::TmuxProgram;
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};

/// Looks for tmux at the place that the setting names, or among the programs.
pub async fn examine(env: &EnvVars, setting: Option<&str>) -> Finding {
    match TmuxProgram::find(env, setting).await {
        Ok(tmux) => Finding::well(
            "tmux",
            format!("{} {}", tmux.program.display(), tmux.version),
        ),
        Err(missing) => Finding::bad(
            FindingLevel::Note,
            "tmux",
            missing.to_string(),
            "Nothing else needs it: without it hob has no shared terminals.",
        ),
    }
}
