//! `desktop.*`: the machine and the desktop around hob: what it is, which programs it has, and
//! starting one for the person.
//!
//! Invariants: an application is started as the list of arguments its file describes, never by a
//! shell, and only after it is on record as the person's act; it is the person's, so it outlives
//! the daemon; without a display nothing is started.

mod display;
mod entry;
mod launch;
mod shelf;
mod system;

pub use display::on_display;

use entry::Entry;
use hob_bus::Room;
use hob_exec::look_up;
use hob_kit::mask::Mask;
use hob_kit::world::Env;
use hob_store::Store;
use hob_wire::rooms::desktop::{EntryFound, Find, Launch, Program, ProgramFound, System};
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// A name longer than this names nothing.
const NAME_BYTES_MAX: usize = 4_096;

/// What the room is made of.
#[derive(Debug)]
pub struct Parts {
    pub store: Store,
    pub env: Env,
    pub mask: Mask,
}

/// The service `desktop`.
pub fn room(parts: Parts) -> Room {
    let desk = Arc::new(parts);
    let (asked, finding, launching) = (Arc::clone(&desk), Arc::clone(&desk), Arc::clone(&desk));
    Room::new("desktop")
        .method::<System, _, _>(move |_, _| {
            let desk = Arc::clone(&desk);
            async move { look(move || system::system(&desk.env)).await }
        })
        .method::<Program, _, _>(move |_, params| {
            let desk = Arc::clone(&asked);
            async move {
                let program = named(params.program, "program")?;
                look(move || found(program, &desk.env)).await
            }
        })
        .method::<Find, _, _>(move |_, params| {
            let desk = Arc::clone(&finding);
            async move {
                let name = named(params.name, "name")?;
                let entry = look(move || shelf::find(&name, &desk.env)).await?;
                Ok(EntryFound {
                    entry: entry.as_ref().map(Entry::shown),
                })
            }
        })
        .method::<Launch, _, _>(move |call, params| {
            let desk = Arc::clone(&launching);
            async move { launch::launch(&desk, &call.caller, params).await }
        })
}

fn found(program: String, env: &Env) -> ProgramFound {
    // A path is one of the machine's, not of the folder the daemon happens to be in.
    let findable = !program.contains('/') || program.starts_with('/');
    let path = findable.then(|| look_up(&program, env)).flatten();
    ProgramFound {
        found: path.is_some(),
        path: path.map(|path| path.display().to_string()),
        program,
    }
}

fn named(name: String, what: &str) -> Result<String, WireError> {
    let fits = !name.trim().is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('\0');
    let refused = || {
        let why = format!("The {what} is empty or longer than {NAME_BYTES_MAX} bytes.");
        WireError::new(ErrorCode::InvalidParams, why)
    };
    fits.then_some(name).ok_or_else(refused)
}

/// Looks at files where waiting for a disk holds nobody up.
async fn look<T: Send + 'static>(at: impl FnOnce() -> T + Send + 'static) -> Result<T, WireError> {
    let looked = tokio::task::spawn_blocking(at).await;
    looked.map_err(|error| {
        WireError::new(ErrorCode::Internal, format!("It cannot be read: {error}."))
    })
}
