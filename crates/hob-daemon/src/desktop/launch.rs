//! Starts an application for the user.

use super::entry::{ApplicationEntry, quote_argv};
use super::{applications, on_display, read_blocking, system};
use crate::RoomContext;
use hob_bus::RequestContext;
use hob_core::permission::to_audit_value;
use hob_exec::{detached, find_program};
use hob_kit::host_environment::EnvVars;
use hob_store::{AuditedDecision, NewAuditEntry};
use hob_wire::rooms::desktop::{DesktopLaunchParams, DesktopLaunchResult};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(super) async fn launch(
    deps: &RoomContext,
    call: RequestContext,
    params: DesktopLaunchParams,
) -> Result<DesktopLaunchResult, WireError> {
    let env = on_display(&deps.env, params.display.as_ref());
    let wanted = super::check_name(params.entry, "entry")?;
    let (name, at) = (wanted.clone(), env.clone());
    let entry = read_blocking(move || find_entry(&name, &at)).await?;
    let entry = entry.ok_or_else(|| {
        let why =
            format!("There is no application '{wanted}'. Find one with `hob desktop find NAME`.");
        WireError::new(ErrorCode::NotFound, why)
    })?;
    let argv = entry
        .argv()
        .map_err(|why| WireError::new(ErrorCode::Conflict, why))?;
    check_startable(&entry, &argv, &env)?;
    // After the checks, so that only a start that can succeed is audited; before the start itself.
    record(deps, &call.caller, &entry, &argv).await?;
    start(&entry, &argv, &env)?;
    Ok(DesktopLaunchResult {
        entry: entry.to_wire(),
    })
}

/// Finds an application by its id or its file, including those that menus do not show.
fn find_entry(wanted: &str, env: &EnvVars) -> Option<ApplicationEntry> {
    let mut entries = applications::entries(env);
    let id = wanted.strip_suffix(".desktop").unwrap_or(wanted);
    entries
        .remove(id)
        .or_else(|| entries.into_values().find(|entry| entry.file == wanted))
}

/// Refuses an application that cannot be shown here.
fn check_startable(
    entry: &ApplicationEntry,
    argv: &[String],
    env: &EnvVars,
) -> Result<(), WireError> {
    let unable = |why: String| Err(WireError::new(ErrorCode::ServiceUnavailable, why));
    if entry.terminal {
        let command = quote_argv(argv);
        return unable(format!(
            "{} needs a terminal. Run it in one: hob terminal run \"{command}\"",
            entry.name
        ));
    }
    if system::display(env).is_none() {
        return unable(format!(
            "There is no display here to show {} on: neither WAYLAND_DISPLAY nor DISPLAY is set.",
            entry.name
        ));
    }
    if find_program(&argv[0], env).is_none() {
        return unable(format!(
            "{} is not installed: there is no program '{}'.",
            entry.name, argv[0]
        ));
    }
    Ok(())
}

/// Audits the act, with the exact arguments. If that fails, nothing is started.
async fn record(
    deps: &RoomContext,
    by: &str,
    entry: &ApplicationEntry,
    argv: &[String],
) -> Result<(), WireError> {
    let matter = json!({ "entry": entry.id, "file": entry.file, "argv": argv });
    let entry = NewAuditEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("desktop.launch".to_owned()),
        matter: to_audit_value(&matter, &|text| deps.mask.apply(text).into_owned()),
    };
    let judgement = AuditedDecision {
        entries: vec![entry],
        ..AuditedDecision::default()
    };
    deps.store.record_decision(judgement).await?;
    Ok(())
}

fn start(entry: &ApplicationEntry, argv: &[String], env: &EnvVars) -> Result<(), WireError> {
    let home = env.os("HOME").map(PathBuf::from);
    let own = entry.path.as_ref().map(PathBuf::from);
    let folder = own.or(home).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(|| Path::new("/").to_owned());
    let mut words: Vec<OsString> = argv.iter().map(OsString::from).collect();
    if let Some(program) = find_program(&words[0], env) {
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
