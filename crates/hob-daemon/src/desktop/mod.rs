//! `desktop.*`: facts about the machine, its programs and applications, and starting one for the
//! user.
//!
//! Invariants: an application is started with the argument list of its desktop entry, never by a
//! shell, and only after the act is audited; it outlives the daemon; without a display nothing is
//! started.

mod applications;
mod display;
mod entry;
mod launch;
mod system;

pub use display::on_display;

use crate::RoomContext;
use entry::ApplicationEntry;
use hob_bus::Room;
use hob_exec::find_program;
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::desktop::{
    DesktopFindParams, DesktopFindResult, DesktopProgramParams, DesktopProgramResult,
    DesktopSystemParams, Find, Launch, Program, System, SystemInfo,
};
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// The longest name of a program or an application.
const NAME_BYTES_MAX: usize = 4_096;

/// Serves the room `desktop`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("desktop")
        .state(Arc::new(context.clone()))
        .method(System, describe_system)
        .method(Program, find_on_path)
        .method(Find, find_application)
        .method(Launch, launch::launch);
    context.bus.serve(room)
}

async fn describe_system(
    context: &RoomContext,
    _: DesktopSystemParams,
) -> Result<SystemInfo, WireError> {
    let env = context.env.clone();
    read_blocking(move || system::system(&env)).await
}

async fn find_on_path(
    context: &RoomContext,
    params: DesktopProgramParams,
) -> Result<DesktopProgramResult, WireError> {
    let program = check_name(params.program, "program")?;
    let env = context.env.clone();
    read_blocking(move || look_up_program(program, &env)).await
}

async fn find_application(
    context: &RoomContext,
    params: DesktopFindParams,
) -> Result<DesktopFindResult, WireError> {
    let name = check_name(params.name, "name")?;
    let env = context.env.clone();
    let entry = read_blocking(move || applications::find(&name, &env)).await?;
    Ok(DesktopFindResult {
        entry: entry.as_ref().map(ApplicationEntry::to_wire),
    })
}

fn look_up_program(program: String, env: &EnvVars) -> DesktopProgramResult {
    // A relative path would depend on the daemon's working folder, so it is not looked up.
    let findable = !program.contains('/') || program.starts_with('/');
    let path = findable.then(|| find_program(&program, env)).flatten();
    DesktopProgramResult {
        found: path.is_some(),
        path: path.map(|path| path.display().to_string()),
        program,
    }
}

fn check_name(name: String, what: &str) -> Result<String, WireError> {
    let fits = !name.trim().is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('\0');
    let refused = || {
        let why = format!("`{what}` must have 1 to {NAME_BYTES_MAX} bytes and no zero byte.");
        WireError::new(ErrorCode::InvalidParams, why)
    };
    fits.then_some(name).ok_or_else(refused)
}

/// Reads files on a blocking thread, so that a slow disk does not block the runtime.
async fn read_blocking<T: Send + 'static>(
    at: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WireError> {
    let looked = tokio::task::spawn_blocking(at).await;
    looked.map_err(|error| {
        WireError::new(ErrorCode::Internal, format!("It cannot be read: {error}."))
    })
}
