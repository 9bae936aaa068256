//! `hob daemon`: runs the daemon in the foreground.

use crate::daemon_process::{self, DaemonOptions};
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;
use hob_kit::host_environment::HostEnvironment;

/// Runs the daemon in the foreground.
///
/// Runs until SIGTERM or Ctrl-C. Its first line on stdout is `HOB_LISTEN_ADDR=ADDRESS`, printed once
/// it answers; stdout carries nothing else. `hob up` runs it in the background.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = examples(&[
    "hob daemon",
    "hob daemon --listen 127.0.0.1:0",
    "hob daemon --bare",
]))]
pub struct DaemonArgs {
    /// The address to listen on instead of the configured one; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Runs only the gateway, without hob's own services.
    #[arg(long)]
    bare: bool,
    /// The mark of the last `hob down` that the starter saw.
    #[arg(long, value_name = "MARK", hide = true)]
    last_down: Option<String>,
    /// Detaches from the starter's terminal.
    #[arg(long, hide = true)]
    detached: bool,
}

/// Runs the daemon in this process. It sets up its own runtime and signal handlers.
pub fn run(world: HostEnvironment, args: DaemonArgs) -> Result<(), CommandFailure> {
    if args.detached {
        hob_client::launcher::detach();
    }
    let options = DaemonOptions {
        listen: args.listen,
        bare: args.bare,
        last_down: args.last_down,
    };
    daemon_process::run_daemon(world, options)
        .map_err(|error| CommandFailure::failed(format!("{error:#}")))
}
