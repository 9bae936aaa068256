//! Checks for tmux, which runs the shared terminals.

use super::{Finding, FindingLevel};
use crate::settings;
use hob_exec::tmux::TmuxProgram;
use hob_kit::host_environment::HostEnvironment;
use hob_kit::settings::Settings;

pub(super) async fn examine(host: &HostEnvironment) -> Finding {
    // A broken config file has its own finding.
    let settings = Settings::load_home(&settings::catalog(), &host.home, &host.env).ok();
    let setting = settings.as_ref().map(|it| it.text("terminal.tmux"));
    match TmuxProgram::find(&host.env, setting).await {
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
