//! Checks the sandbox: the level that works on this machine.

use hob_exec::sandbox_level::ProcessLimiter;
use hob_exec::{ExecError, SandboxSupport};
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};

/// The finding about a probe of the machine.
pub fn examine(probed: Result<&SandboxSupport, ExecError>) -> Finding {
    match probed {
        Ok(facts) => sandbox_finding(facts),
        Err(error) => Finding::bad(
            FindingLevel::Warning,
            "sandbox",
            format!("The sandbox cannot be tested: {error}"),
            "Run hob doctor again; if it fails again, report it.",
        ),
    }
}

fn sandbox_finding(facts: &SandboxSupport) -> Finding {
    let processes = match facts.processes {
        ProcessLimiter::Cgroup => "processes bounded by a control group",
        ProcessLimiter::Rlimit => "processes bounded by a limit for this user",
        ProcessLimiter::Watched => "processes counted by hob, because root is above the limit",
    };
    match facts.level() {
        hob_exec::SandboxLevel::Bubblewrap => {
            Finding::well("sandbox", format!("bubblewrap works; {processes}"))
        }
        hob_exec::SandboxLevel::Landlock => {
            let message = format!("Landlock and seccomp work, with mounts of its own; {processes}");
            Finding::bad(FindingLevel::Note, "sandbox", message, facts.remedy())
        }
        hob_exec::SandboxLevel::None if facts.lacks_only_mounts() => Finding::bad(
            FindingLevel::Warning,
            "sandbox",
            "Landlock works, but hob may not make read-only mounts here. Without them a command \
             could change the modes and times of your files anywhere, so hob refuses to run \
             commands",
            facts.remedy(),
        ),
        hob_exec::SandboxLevel::None => Finding::bad(
            FindingLevel::Warning,
            "sandbox",
            "No sandbox works on this machine, so hob refuses to run commands",
            facts.remedy(),
        ),
    }
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
