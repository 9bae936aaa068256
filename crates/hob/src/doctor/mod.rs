//! The checks of `hob doctor`. Each check examines one thing and returns findings.
//!
//! Invariant: a check changes nothing and leaves nothing running; a check that cannot run says so.

mod autostart;
mod daemon;
mod disk;
mod home;
mod port;
mod sandbox;
mod services;
mod store;
mod tmux;
mod work;

use crate::context::CommandContext;
use crate::settings;
use hob_kit::settings::Settings;
use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    Well,
    /// Unusual and harmless.
    Note,
    Warning,
    Broken,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: FindingLevel,
    /// The examined thing.
    pub check: &'static str,
    pub message: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    fn well(check: &'static str, message: impl Into<String>) -> Self {
        Finding {
            level: FindingLevel::Well,
            check,
            message: message.into(),
            fix: None,
        }
    }

    fn bad(
        level: FindingLevel,
        check: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Finding {
            level,
            check,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }
}

/// Examines the home, the sandbox, tmux and the local model.
///
/// Sandbox and local model are probed by starting this binary as a shim. Only the real binary may
/// call this: a test binary would start its own tests.
pub async fn examine(context: &CommandContext) -> Vec<Finding> {
    let mut findings = examine_home(context).await;
    findings.push(sandbox::examine(&context.host.env).await);
    findings.push(tmux::examine(&context.host).await);
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
    let mut findings = home::examine(home);
    findings.extend(disk::examine(home.root()));
    findings.push(config(context));
    let (running, found) = daemon::examine(context).await;
    findings.extend(found);
    match &running {
        Some(status) => findings.extend(port::notes(status)),
        None => findings.extend(port::configured_port(context)),
    }
    findings.extend(store::examine(home, running.as_ref()));
    if running.is_none() {
        findings.extend(autostart::examine(&context.host, false));
    } else {
        findings.extend(services::examine(context).await);
        let (has_work, found) = work::examine(context).await;
        findings.extend(found);
        findings.extend(autostart::examine(&context.host, has_work));
    }
    findings
}

fn config(context: &CommandContext) -> Finding {
    let home = &context.host.home;
    let file = home.config_file();
    match Settings::load_home(&settings::catalog(), home, &context.host.env) {
        Ok(_) if file.exists() => Finding::well("config", format!("{} is sound", file.display())),
        Ok(_) => Finding::well("config", "no file; every setting has its default"),
        Err(problems) => Finding::bad(
            FindingLevel::Broken,
            "config",
            problems.to_string(),
            format!(
                "Correct {}; hob config show lists the keys.",
                file.display()
            ),
        ),
    }
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
