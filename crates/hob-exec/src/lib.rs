//! Process execution: every process hob starts goes through this crate.
//!
//! - [`spawn_plan`]: what to run, in which sandbox, within which limits
//! - [`sandbox_level`]: what this machine can enforce; a plan it cannot enforce is refused, never
//!   weakened
//! - [`spawner`], [`child`]: starting, watching, cancelling; background processes by id
//! - [`output`]: a child's output, bounded in memory and on disk
//! - [`environment`]: the few variables a child inherits
//! - `private_network`: receives the listening socket of a child's own network
//! - [`shim`]: `hob shim`, the small process between the daemon and each child
//! - [`protected_paths`]: files that other programs run by themselves; [`workspace_scan`]: where
//!   they lie in a workspace; [`home_view`]: a workspace that contains the user's home folder
//! - `plan_paths`, `file_aliases`: canonical paths of a plan, and other names of the same files
//! - [`shim_protocol`]: messages between the daemon and the shim
//! - [`peer`]: which process is behind a local connection; `descent`: the mark of every process
//!   below a shim
//! - [`process_usage`]: the processor time and memory of a child
//! - [`handover`]: this process becomes another program
//! - [`tmux`]: terminals that a user shares with hob; [`windows`]: desktop windows that show them;
//!   [`detached`]: processes that belong to the user and have no shim
//!
//! ```text
//! daemon ──control socket──▶ hob shim ──▶ [bwrap ──▶] the program and all it starts
//!    ◀──────────── stdin, stdout, stderr (pipes) ───────────▶
//! ```
//!
//! Invariants: when the shim ends a run, no process of that run survives, and the shim ends it by
//! itself when the daemon is gone; a child holds no descriptor but its three pipes; a rule that
//! cannot be enforced is an error that names the rule. Linux only.

pub mod child;
mod child_watcher;
mod descent;
pub mod detached;
pub mod environment;
pub mod error;
mod file_aliases;
mod git_config;
pub mod handover;
pub mod home_view;
pub mod output;
pub mod peer;
mod plan_paths;
mod private_network;
pub mod process_usage;
pub mod programs;
pub mod protected_paths;
pub mod sandbox_level;
pub mod shim;
pub mod shim_protocol;
pub mod spawn_plan;
pub mod spawner;
pub mod tmux;
pub mod windows;
pub mod workspace_scan;

pub use child::{Child, ChildExit};
pub use error::ExecError;
pub use programs::find_program;
pub use sandbox_level::{SandboxLevel, SandboxSupport};
pub use shim::{LeftBehind, QuarantinedRepository};
pub use spawn_plan::{
    BoundFile, NetworkAccess, OutputMode, ResourceLimits, SandboxMode, SandboxPolicy, SpawnPlan,
    StdinSource,
};
pub use spawner::{ProcessId, Spawner, SpawnerParts};
