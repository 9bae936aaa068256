//! The checks of `hob doctor`. Each check examines one thing and returns findings. What a running
//! daemon can know is asked of it (`daemon.doctor`).
//!
//! Invariant: a check changes nothing and leaves nothing running; a check that cannot run says so.

mod autostart;
mod daemon;
mod port;
mod services;
mod store;

pub use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};

use crate::context::CommandContext;
use crate::settings;
use hob_daemon::doctor::{disk, home, sandbox, tmux};
use hob_kit::home::Home;
use hob_kit::settings::Settings;
use hob_wire::rooms::daemon::{DaemonDoctorParams, DaemonDoctorResult, Doctor};

/// The checks of the daemon that are shown first.
const HOME_CHECKS: [&str; 2] = ["home", "disk"];
/// The checks of the daemon that this program makes itself.
const OWN_CHECKS: [&str; 4] = ["config", "daemon", "sandbox", "tmux"];

/// Examines the home, the sandbox, tmux and the local model.
///
/// Sandbox and local model are probed by starting this binary as a shim. Only the real binary may
/// call this: a test binary would start its own tests.
pub async fn examine(context: &CommandContext) -> Vec<Finding> {
    let mut findings = examine_home(context).await;
    let env = &context.host.env;
    let probed = hob_exec::spawner::probe(&hob_exec::spawner::own_shim(), env).await;
    findings.push(sandbox::examine(probed.as_ref().map_err(Clone::clone)));
    // A broken config file has its own finding.
    let settings = Settings::load_home(&settings::catalog(), &context.host.home, env).ok();
    let setting = settings.as_ref().map(|it| it.text("terminal.tmux"));
    findings.push(tmux::examine(env, setting).await);
    findings.extend(services::local_model(context).await);
    findings
}

/// Examines the home and its contents.
async fn examine_home(context: &CommandContext) -> Vec<Finding> {
    let home = &context.host.home;
    if !home.root().exists() && !home.config_file().exists() {
        let message = format!(
            "{} does not exist yet; the first start creates it",
            home.root().display()
        );
        // The nearest existing folder, in which the home will be created.
        let mut above = home.root().ancestors().skip(1);
        let above = above.find(|folder| folder.exists());
        let refused = above.and_then(home::writable);
        let mut findings = vec![refused.unwrap_or_else(|| Finding::well("home", message))];
        findings.push(config(context));
        findings.extend(port::configured_port(context));
        return findings;
    }
    let (running, about_daemon) = daemon::examine(context).await;
    let Some(status) = running else {
        let mut findings = files(home);
        findings.push(config(context));
        findings.extend(about_daemon);
        findings.extend(port::configured_port(context));
        findings.extend(store::examine(home));
        findings.extend(autostart::examine(&context.host, false));
        return findings;
    };
    let told = match ask_daemon(context).await {
        Some(told) => told,
        // A daemon of an earlier version has no such method, which another finding says.
        None => DaemonDoctorResult {
            findings: [
                files(home),
                hob_daemon::doctor::store::examine(&status.store),
            ]
            .concat(),
            scheduled_work: false,
        },
    };
    let of_home = |finding: &Finding| HOME_CHECKS.contains(&finding.check.as_str());
    let (mut findings, mut rest): (Vec<Finding>, Vec<Finding>) =
        told.findings.into_iter().partition(of_home);
    // This program knows its own environment, and its own way to the daemon.
    findings.push(config(context));
    findings.extend(about_daemon);
    rest.retain(|finding| !OWN_CHECKS.contains(&finding.check.as_str()));
    findings.extend(rest);
    findings.extend(autostart::examine(&context.host, told.scheduled_work));
    findings
}

fn files(home: &Home) -> Vec<Finding> {
    let mut findings = home::examine(home);
    findings.extend(disk::examine(home.root()));
    findings
}

/// What the running daemon finds.
async fn ask_daemon(context: &CommandContext) -> Option<DaemonDoctorResult> {
    let client = context.home_client().await.ok()??;
    let told = client.call_with_retry::<Doctor>(&DaemonDoctorParams {});
    told.await.ok()
}

fn config(context: &CommandContext) -> Finding {
    let home = &context.host.home;
    let loaded = Settings::load_home(&settings::catalog(), home, &context.host.env);
    let problem = loaded.err().map(|problems| problems.to_string());
    hob_daemon::doctor::config(&home.config_file(), problem)
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
