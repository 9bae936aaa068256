//! Asks the service manager of the user, through `systemctl --user`.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::own_process::{self, ProcessResult};
use hob_exec::find_program;
use std::ffi::OsString;
use std::path::PathBuf;

const REASON: &str = "the user's own service manager";

/// The service manager of the user.
#[derive(Debug)]
pub struct Systemctl<'c> {
    context: &'c CommandContext,
    program: PathBuf,
}

impl<'c> Systemctl<'c> {
    /// Returns the manager if one answers. In a container, or over a plain `su`, none does.
    pub async fn find(context: &'c CommandContext) -> Option<Systemctl<'c>> {
        let program = find_program("systemctl", &context.host.env)?;
        let systemctl = Systemctl { context, program };
        let answered = systemctl.call(&["show-environment"]).await.ok()?;
        answered.is_success.then_some(systemctl)
    }

    /// Calls it, and fails with its message.
    pub async fn run(&self, arguments: &[&str]) -> Result<(), CommandFailure> {
        let result = self.call(arguments).await?;
        if result.is_success {
            return Ok(());
        }
        let what = arguments.join(" ");
        let said = result.stderr.lines().next().unwrap_or_default().to_owned();
        Err(CommandFailure::failed(format!(
            "systemctl --user {what} failed: {said}"
        )))
    }

    async fn call(&self, arguments: &[&str]) -> Result<ProcessResult, CommandFailure> {
        let mut argv = vec![
            self.program.clone().into_os_string(),
            OsString::from("--user"),
        ];
        argv.extend(arguments.iter().map(OsString::from));
        own_process::run(self.context, argv, REASON).await
    }
}
