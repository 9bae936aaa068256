//! Opens the terminal UI: reads its settings and its keymap, and gives it what only the program may
//! do, such as starting an editor.
//!
//! - [`settings`]: the keys of `tui.*`; [`pager`]: a text in `$PAGER`; `workspace_files`: the names
//!   behind `@`

pub mod pager;
pub mod settings;
mod workspace_files;

use crate::commands::loops::editor;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::{folder_session, run_request};
use crate::terminal::Terminal;
use hob_tui::actions::Keymap;
use hob_tui::composer::{read_history, write_history};
use hob_tui::model::Start;
use hob_tui::theme::Theme;
use hob_tui::{Host, Leave};
use hob_wire::rooms::agent::AgentRunParams;
use settings::TuiSettings;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest keymap file.
const KEYMAP_BYTES_MAX: u64 = 256 * 1_024;
/// The longest history file.
const HISTORY_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// Returns true if the UI can be shown here: a person sits at a terminal that can place a cursor.
pub fn is_possible(context: &CommandContext) -> bool {
    let terminal = &context.terminal;
    let is_person = std::io::stdin().is_terminal() && terminal.is_terminal();
    is_person && !terminal.json && terminal.screen().rows.is_some()
}

/// Shows the UI until the person leaves.
pub async fn open(context: &CommandContext) -> Result<(), CommandFailure> {
    let settings = TuiSettings::load(context);
    // A mistake in the keymap is said before anything else happens.
    let keymap = read_keymap(&keymap_file(context))?;
    let client = context.client().await?;
    let workspace = run_request::workspace(context, None)?;
    let home = home_folder(context);
    let session_key = folder_session::key(workspace.as_deref(), home.as_deref());
    let params = AgentRunParams {
        session_key,
        workspace: workspace.clone(),
        ..AgentRunParams::default()
    };
    let notice = run_request::wide_workspace_warning(context, &params);
    let start = Start {
        run: params,
        folder: workspace
            .as_deref()
            .map(|it| shown_folder(it, home.as_deref())),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        theme: Theme::default(),
        keymap,
        history: history(context),
        size: (0, 0),
        mouse: settings.mouse,
        reduced_motion: settings.reduced_motion,
        zone_seconds: zone_seconds(context),
        key_seed: context.host.randomness.hex(16),
        notice,
    };
    let ended = hob_tui::run(host(context, client, settings, workspace), start).await;
    let ended = ended.map_err(CommandFailure::failed)?;
    context.terminal.bytes(ended.farewell.as_bytes())?;
    context.terminal.flush()?;
    if let Some(trouble) = ended.trouble {
        return Err(CommandFailure::failed(trouble));
    }
    if !ended.farewell.is_empty() {
        Terminal::note(format!("\n{}: hob goes on here.", ended.session));
    }
    Ok(())
}

fn host(
    context: &CommandContext,
    client: hob_client::Client,
    settings: TuiSettings,
    workspace: Option<String>,
) -> Host {
    let clock = context.host.clock.clone();
    let has_colour = context.terminal.screen().colour;
    let editing = editor::EditorCommand::of(context);
    let paging = pager::PagerCommand::of(context);
    let history = context.host.home.chat_history();
    // The folders of a daemon elsewhere are not here.
    let folder = workspace.filter(|_| !context.is_remote());
    Host {
        client,
        clock: Arc::new(move || (clock.monotonic_ms(), clock.wall_ms())),
        edit: Arc::new(move |text: String| editing.edit(&text)),
        page: Arc::new(move |text: String| paging.show(&text)),
        keep_history: Arc::new(move |messages: Vec<String>| {
            write_private(&history, &write_history(&messages))
                .map_err(|error| format!("The history cannot be kept: {error}."))
        }),
        files: Arc::new(move |()| {
            let folder = folder.as_deref().map(Path::new);
            folder.map(workspace_files::list).unwrap_or_default()
        }),
        theme: if has_colour {
            settings.theme
        } else {
            Some(Theme::Plain)
        },
        leave: if settings.leaves_answer {
            Leave::Answer
        } else {
            Leave::Nothing
        },
    }
}

/// The keymap file of this home, beside its settings.
fn keymap_file(context: &CommandContext) -> PathBuf {
    context.host.home.config_file().with_file_name("tui.keys")
}

fn read_keymap(path: &Path) -> Result<Keymap, CommandFailure> {
    let Some(text) = read_bounded(path, KEYMAP_BYTES_MAX) else {
        return Ok(Keymap::default());
    };
    Keymap::parse(&text).map_err(|error| {
        CommandFailure::usage(format!("{}: {error}", path.display()))
            .next("Correct the file, or remove it to have the usual keys.")
    })
}

fn history(context: &CommandContext) -> Vec<String> {
    let text = read_bounded(&context.host.home.chat_history(), HISTORY_BYTES_MAX);
    text.map(|text| read_history(&text)).unwrap_or_default()
}

/// The text of a file, if it is there and no longer than `max`.
fn read_bounded(path: &Path, max: u64) -> Option<String> {
    let length = std::fs::metadata(path).ok()?.len();
    let bytes = (length <= max)
        .then(|| std::fs::read(path).ok())
        .flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces a file that only its owner may read.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let beside = path.with_extension("part");
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&beside)?.write_all(text.as_bytes())?;
    std::fs::rename(&beside, path)
}

fn home_folder(context: &CommandContext) -> Option<PathBuf> {
    let home = context.host.env.os("HOME")?;
    std::fs::canonicalize(home).ok()
}

/// The folder as a person writes it: `~/work`.
fn shown_folder(folder: &str, home: Option<&Path>) -> String {
    let below = home.and_then(|home| Path::new(folder).strip_prefix(home).ok());
    match below {
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => folder.to_owned(),
    }
}

fn zone_seconds(context: &CommandContext) -> i64 {
    let now = i64::try_from(context.host.clock.wall_ms()).unwrap_or(0);
    let at = jiff::Timestamp::from_millisecond(now).unwrap_or_default();
    let zone = &context.terminal.screen().zone;
    i64::from(zone.to_offset(at).seconds())
}
