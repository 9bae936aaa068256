//! The sandbox: which level works on this machine, found out by running a program that does nothing
//! in it.

use super::{Finding, Level};
use hob_exec::Facts;
use hob_exec::level::Bound;
use hob_kit::world::Env;

pub(super) async fn examine(env: &Env) -> Finding {
    match hob_exec::spawner::probe(&hob_exec::spawner::own_shim(), env).await {
        Ok(facts) => judge(&facts),
        Err(error) => Finding::bad(
            Level::Warning,
            "sandbox",
            format!("It cannot be tried out: {error}"),
            "Run hob doctor again; if it stays like this, report it.",
        ),
    }
}

fn judge(facts: &Facts) -> Finding {
    let processes = match facts.processes {
        Bound::Cgroup => "processes bounded by a control group",
        Bound::Rlimit => "processes bounded by a limit for this user",
        Bound::Watched => "processes counted by hob, because root is above the limit",
    };
    match facts.level() {
        hob_exec::Level::Bubblewrap => {
            Finding::well("sandbox", format!("bubblewrap works; {processes}"))
        }
        hob_exec::Level::Landlock => {
            let message = format!("Landlock and seccomp work, with mounts of its own; {processes}");
            Finding::bad(Level::Note, "sandbox", message, facts.remedy())
        }
        hob_exec::Level::None if facts.lacks_only_mounts() => Finding::bad(
            Level::Warning,
            "sandbox",
            "Landlock works, but hob may not make read-only mounts here. Without them a command \
             could change the modes and times of your files anywhere, so hob refuses to run \
             commands",
            facts.remedy(),
        ),
        hob_exec::Level::None => Finding::bad(
            Level::Warning,
            "sandbox",
            "Nothing here can hold a program back, so hob refuses to run commands",
            facts.remedy(),
        ),
    }
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
