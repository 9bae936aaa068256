//! Hands: every process hob starts goes through here.
//!
//! - [`plan`]: what to run, behind which walls, within which limits
//! - [`level`]: what this machine can enforce; a plan it cannot is refused, never weakened
//! - [`spawner`], [`child`]: starting, watching, cancelling; background processes by id
//! - [`output`]: what a child prints, bounded in memory and on disk
//! - [`environment`]: the few variables a child inherits
//! - `private_network`: taking over the listening socket of a child's own network
//! - [`shim`]: `hob shim`, the small process between the daemon and each child
//! - [`protected_paths`]: what starts by itself; [`workspace_scan`]: where that lies in a
//!   workspace; [`home_view`]: a workspace that holds the person's home folder
//! - [`order`]: what the daemon and the shim say to each other
//! - [`peer`]: which process is behind a local connection; `descent`: the mark of every process below
//!   a shim
//! - [`handover`]: this very process becomes another program
//! - [`tmux`]: terminals that a person shares with hob; [`windows`]: of the desktop, on them;
//!   [`detached`]: what is started there is the person's own and hangs on no shim
//!
//! ```text
//! daemon ──control socket──▶ hob shim ──▶ [bwrap ──▶] the program and all it starts
//!    ◀──────────── stdin, stdout, stderr (pipes) ───────────▶
//! ```
//!
//! Invariants: no process of a child outlives its shim's order to end, and the shim gives that
//! order itself when the daemon is gone; a child holds no descriptor but its three pipes; a rule
//! that cannot be enforced is a refusal that names it. Linux only.

pub mod child;
mod descent;
pub mod detached;
pub mod environment;
pub mod error;
mod git_config;
pub mod handover;
pub mod home_view;
mod identity;
pub mod level;
pub mod order;
pub mod output;
mod paths;
pub mod peer;
pub mod plan;
mod private_network;
pub mod programs;
pub mod protected_paths;
pub mod shim;
pub mod spawner;
pub mod tmux;
mod watcher;
pub mod windows;
pub mod workspace_scan;

pub use child::{Child, Exit};
pub use error::ExecError;
pub use level::{Facts, Level};
pub use plan::{BoundFile, Feed, Limits, NetworkAccess, Plan, Policy, Stdin, Walls};
pub use programs::look_up;
pub use shim::{LeftBehind, Quarantined};
pub use spawner::{ProcessId, Spawner, SpawnerParts};
