//! Terminals: whether tmux is there, which they live in.

use super::{Finding, Level};
use crate::settings;
use hob_exec::tmux::Tmux;
use hob_kit::settings::Settings;
use hob_kit::world::World;

pub(super) async fn examine(world: &World) -> Finding {
    // A config file that cannot be read has a finding of its own.
    let settings = Settings::of_home(&settings::catalog(), &world.home, &world.env).ok();
    let setting = settings.as_ref().map(|it| it.text("terminal.tmux"));
    match Tmux::find(&world.env, setting).await {
        Ok(tmux) => Finding::well(
            "tmux",
            format!("{} {}", tmux.program.display(), tmux.version),
        ),
        Err(missing) => Finding::bad(
            Level::Note,
            "tmux",
            missing.to_string(),
            "Nothing else needs it: without it hob has no shared terminals.",
        ),
    }
}
