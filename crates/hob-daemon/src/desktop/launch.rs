//! Starting an application for the person.

use super::entry::{Entry, line};
use super::{Parts, look, on_display, shelf, system};
use hob_core::permission::recorded;
use hob_exec::{detached, look_up};
use hob_kit::world::Env;
use hob_store::{Judgement, NewEntry};
use hob_wire::rooms::desktop::{LaunchParams, Launched};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(super) async fn launch(
    desk: &Parts,
    by: &str,
    params: LaunchParams,
) -> Result<Launched, WireError> {
    let env = on_display(&desk.env, params.display.as_ref());
    let wanted = super::named(params.entry, "entry")?;
    let (name, at) = (wanted.clone(), env.clone());
    let entry = look(move || known(&name, &at)).await?;
    let entry = entry.ok_or_else(|| {
        let why =
            format!("There is no application '{wanted}'. Find one with `hob desktop find NAME`.");
        WireError::new(ErrorCode::NotFound, why)
    })?;
    let argv = entry
        .argv()
        .map_err(|why| WireError::new(ErrorCode::Conflict, why))?;
    ready(&entry, &argv, &env)?;
    record(desk, by, &entry, &argv).await?;
    start(&entry, &argv, &env)?;
    Ok(Launched {
        entry: entry.shown(),
    })
}

/// An application by its id or its file; one that is only not in menus can be started.
fn known(wanted: &str, env: &Env) -> Option<Entry> {
    let mut entries = shelf::entries(env);
    let id = wanted.strip_suffix(".desktop").unwrap_or(wanted);
    entries
        .remove(id)
        .or_else(|| entries.into_values().find(|entry| entry.file == wanted))
}

/// Refuses what cannot be shown.
fn ready(entry: &Entry, argv: &[String], env: &Env) -> Result<(), WireError> {
    let unable = |why: String| Err(WireError::new(ErrorCode::ServiceUnavailable, why));
    if entry.terminal {
        let command = line(argv);
        return unable(format!(
            "{} wants a terminal: `hob terminal run \"{command}\"` runs it in one.",
            entry.name
        ));
    }
    if system::display(env).is_none() {
        return unable(format!(
            "There is no display here to show {} on: neither WAYLAND_DISPLAY nor DISPLAY is set.",
            entry.name
        ));
    }
    if look_up(&argv[0], env).is_none() {
        return unable(format!(
            "{} is not installed: there is no program '{}'.",
            entry.name, argv[0]
        ));
    }
    Ok(())
}

/// Records the person's own act, bound to what is started; without its record nothing is.
async fn record(desk: &Parts, by: &str, entry: &Entry, argv: &[String]) -> Result<(), WireError> {
    let matter = json!({ "entry": entry.id, "file": entry.file, "argv": argv });
    let entry = NewEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("desktop.launch".to_owned()),
        matter: recorded(&matter, &|text| desk.mask.apply(text).into_owned()),
    };
    let judgement = Judgement {
        entries: vec![entry],
        ..Judgement::default()
    };
    desk.store.judge(judgement).await?;
    Ok(())
}

fn start(entry: &Entry, argv: &[String], env: &Env) -> Result<(), WireError> {
    let home = env.os("HOME").map(PathBuf::from);
    let own = entry.path.as_ref().map(PathBuf::from);
    let folder = own.or(home).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(|| Path::new("/").to_owned());
    let mut words: Vec<OsString> = argv.iter().map(OsString::from).collect();
    if let Some(program) = look_up(&words[0], env) {
        words[0] = program.into();
    }
    let failed = |error: std::io::Error| {
        let why = format!("{} does not start: {error}.", entry.name);
        WireError::new(ErrorCode::ServiceUnavailable, why)
    };
    let started =
        detached::start(&words, &folder, detached::variables(env, &[])).map_err(failed)?;
    tracing::info!(
        entry = entry.id,
        process = started.id(),
        "started an application for the person"
    );
    Ok(())
}
