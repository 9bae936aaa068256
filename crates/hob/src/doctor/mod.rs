//! The examination behind `hob doctor`: each check looks at one thing and says what it found.
//!
//! Invariant: a check changes nothing and leaves nothing running; one that cannot look says so.

mod daemon;
mod disk;
mod home;
mod port;
mod sandbox;
mod services;
mod store;
mod tmux;
mod work;

use crate::context::Context;
use crate::settings;
use hob_kit::settings::Settings;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Well,
    /// Unusual and harmless.
    Note,
    Warning,
    Broken,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: Level,
    /// What was looked at.
    pub check: &'static str,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    fn well(check: &'static str, message: impl Into<String>) -> Self {
        Finding {
            level: Level::Well,
            check,
            message: message.into(),
            fix: None,
        }
    }

    fn bad(
        level: Level,
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

/// Looks at everything: the home, what this machine's sandbox can do, and what it has for a model of
/// its own.
///
/// The last two are tried out by starting this very program as a shim, so only the real binary may
/// ask for it: a test binary would start its own tests.
pub async fn examine(context: &Context) -> Vec<Finding> {
    let mut findings = examine_home(context).await;
    findings.push(sandbox::examine(&context.world.env).await);
    findings.push(tmux::examine(&context.world).await);
    findings.extend(services::local_model(context).await);
    findings
}

/// Looks at the home and all that is in it.
async fn examine_home(context: &Context) -> Vec<Finding> {
    let home = &context.world.home;
    if !home.root().exists() && !home.config_file().exists() {
        let message = format!(
            "{} does not exist yet; the first start makes it",
            home.root().display()
        );
        // Where it will be made.
        let mut above = home.root().ancestors().skip(1);
        let above = above.find(|folder| folder.exists());
        let refused = above.and_then(home::writable);
        let mut findings = vec![refused.unwrap_or_else(|| Finding::well("home", message))];
        findings.push(config(context));
        findings.extend(port::usual(context));
        return findings;
    }
    let mut findings = home::examine(home);
    findings.extend(disk::examine(home.root()));
    findings.push(config(context));
    let (running, found) = daemon::examine(context).await;
    findings.extend(found);
    match &running {
        Some(status) => findings.extend(port::notes(status)),
        None => findings.extend(port::usual(context)),
    }
    findings.extend(store::examine(home, running.as_ref()));
    if running.is_some() {
        findings.extend(services::examine(context).await);
        findings.extend(work::examine(context).await);
    }
    findings
}

fn config(context: &Context) -> Finding {
    let home = &context.world.home;
    let file = home.config_file();
    match Settings::of_home(&settings::catalog(), home, &context.world.env) {
        Ok(_) if file.exists() => Finding::well("config", format!("{} is sound", file.display())),
        Ok(_) => Finding::well("config", "no file, so every setting has its default"),
        Err(problems) => Finding::bad(
            Level::Broken,
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
