//! `hob config`: reads and changes settings, with a daemon or without. A running daemon is asked,
//! because it knows the values in effect and applies changes at once. Without one the config file
//! is read and edited directly.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::one_line;
use crate::render::value::cell;
use crate::render::{TextTone, table::TextTable};
use crate::settings;
use crate::tree::help_text::examples;
use hob_client::Client;
use hob_kit::settings::{ConfigProblems, SettingKey, Settings, SettingsCatalog, edit};
use hob_wire::rooms::config::{
    self as wire, ApplyStatus, ConfigChange, ConfigGetParams, ConfigOrigin, ConfigSetParams,
    ConfigSetting, ConfigUndoParams, Get, Schema, Set, Undo,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Shows and changes settings.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob config show",
    "hob config get log.level",
    "hob config set log.level debug",
]))]
pub enum ConfigSubcommand {
    /// Shows where the config file is.
    #[command(after_help = examples(&["hob config path", "$EDITOR $(hob config path)"]))]
    Path,
    /// Shows settings, their values and where each value comes from.
    #[command(after_help = examples(&["hob config show", "hob config show gateway"]))]
    Show {
        /// Only this setting, or the settings below this prefix.
        key: Option<String>,
    },
    /// Shows the value of one setting.
    #[command(after_help = examples(&["hob config get log.level"]))]
    Get {
        /// The setting, such as log.level.
        key: String,
    },
    /// Describes settings: what they take, their defaults, and what they mean.
    ///
    /// Starts the daemon if it is not running, because it knows the values in effect.
    #[command(after_help = examples(&["hob config schema log", "hob config schema --json"]))]
    Schema {
        /// Only this setting, or the settings below this prefix.
        key: Option<String>,
    },
    /// Takes back the last change that was made through the daemon.
    ///
    /// Refused if the config file was changed since.
    #[command(after_help = examples(&["hob config undo"]))]
    Undo,
    /// Changes one setting.
    ///
    /// Comments and other lines of the config file are kept. A running daemon applies the change at
    /// once if it can, and the output says so.
    #[command(after_help = examples(&[
        "hob config set log.level debug",
        "hob config set gateway.ping_interval 10s",
        "hob config unset log.level",
    ]))]
    Set {
        /// The setting, such as log.level.
        key: String,
        /// The new value; separate list items with commas.
        #[arg(required_unless_present = "default", allow_hyphen_values = true)]
        value: Option<String>,
        /// Resets to the default, as `config unset` does.
        #[arg(long, conflicts_with = "value", hide = true)]
        default: bool,
    },
    /// Resets one setting to its default.
    ///
    /// Removes the setting from the config file. An environment variable still overrides it.
    #[command(after_help = examples(&["hob config unset log.level"]))]
    Unset {
        /// The setting, such as log.level.
        key: String,
    },
}

pub async fn run(
    context: &CommandContext,
    command: ConfigSubcommand,
) -> Result<(), CommandFailure> {
    match command {
        ConfigSubcommand::Path => {
            let path = context.host.home.config_file();
            if context.terminal.json {
                return Ok(context.terminal.document(&json!({ "path": path }))?);
            }
            Ok(context.terminal.line(path.display())?)
        }
        ConfigSubcommand::Show { key } => show(context, key).await,
        ConfigSubcommand::Schema { key } => schema(context, key).await,
        ConfigSubcommand::Undo => {
            let client = context.client().await?;
            let changed = client.call::<Undo>(&ConfigUndoParams {}).await?;
            print_change(context, &changed)
        }
        ConfigSubcommand::Get { key } => get(context, &key).await,
        ConfigSubcommand::Set { key, value, .. } => set(context, &key, value.as_deref()).await,
        ConfigSubcommand::Unset { key } => set(context, &key, None).await,
    }
}

async fn show(context: &CommandContext, prefix: Option<String>) -> Result<(), CommandFailure> {
    let settings = read_settings(context, prefix).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&settings)?);
    }
    let mut table = TextTable::new()
        .column("KEY")
        .column("VALUE")
        .column("FROM")
        .lesser()
        .column("CHANGES")
        .lesser();
    for setting in &settings.settings {
        let origin = match setting.origin {
            ConfigOrigin::Default => "default",
            ConfigOrigin::File => "file",
            ConfigOrigin::Env => "environment",
        };
        let when = if setting.live {
            "at once"
        } else {
            "at restart"
        };
        table.row(vec![
            setting.key.clone(),
            format_value(&setting.value, terminal.screen()),
            origin.to_owned(),
            when.to_owned(),
        ]);
    }
    Ok(terminal.lines(table.lines(terminal.screen()))?)
}

async fn schema(context: &CommandContext, key: Option<String>) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let params = ConfigGetParams { key };
    let found = client.call_with_retry::<Schema>(&params).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&found)?);
    }
    let screen = terminal.screen();
    let mut lines = Vec::new();
    for setting in &found.settings {
        let shown = |value: &Option<Value>| {
            let value = value.as_ref();
            value.map_or_else(|| "-".to_owned(), |value| format_value(value, screen))
        };
        lines.push(screen.paint(TextTone::Heading, &setting.key));
        lines.push(format!("  {}", one_line(&setting.about)));
        lines.push(format!(
            "  value {}, default {}",
            shown(&setting.value),
            shown(&setting.default)
        ));
    }
    Ok(terminal.lines(lines)?)
}

async fn get(context: &CommandContext, key: &str) -> Result<(), CommandFailure> {
    let settings = read_settings(context, Some(key.to_owned())).await?;
    let exact = settings
        .settings
        .into_iter()
        .find(|setting| setting.key == key);
    let Some(setting) = exact else {
        let sentence = format!("'{key}' is a section, not a setting.");
        return Err(CommandFailure::usage(sentence).next(format!("hob config show {key}")));
    };
    if context.terminal.json {
        return Ok(context.terminal.document(&setting)?);
    }
    let line = format_value(&setting.value, context.terminal.screen());
    Ok(context.terminal.line(line)?)
}

fn format_value(value: &Value, screen: &crate::render::ScreenStyle) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        other => cell("", other, screen),
    }
}

async fn read_settings(
    context: &CommandContext,
    key: Option<String>,
) -> Result<wire::ConfigGetResult, CommandFailure> {
    if let Some(client) = context.running_client().await? {
        return Ok(client.call::<Get>(&ConfigGetParams { key }).await?);
    }
    let catalog = settings::catalog();
    let settings = load_home_settings(context, &catalog)?;
    let wanted = key.unwrap_or_default();
    let below = format!("{wanted}.");
    let listed: Vec<ConfigSetting> = settings
        .entries()
        .filter(|(path, _)| wanted.is_empty() || *path == wanted || path.starts_with(&below))
        .map(|(path, entry)| ConfigSetting {
            key: path.to_owned(),
            value: entry.value.to_json(),
            origin: wire_origin(entry.origin),
            live: catalog.find(path).is_some_and(|key| key.live),
        })
        .collect();
    if listed.is_empty() {
        return Err(unknown_setting(&catalog, &wanted));
    }
    Ok(wire::ConfigGetResult { settings: listed })
}

async fn set(
    context: &CommandContext,
    key: &str,
    text: Option<&str>,
) -> Result<(), CommandFailure> {
    let catalog = settings::catalog();
    let declared = catalog
        .find(key)
        .ok_or_else(|| unknown_setting(&catalog, key))?;
    let value = match text {
        Some(text) => Some(
            declared
                .kind
                .parse(text)
                .map_err(|reason| CommandFailure::usage(format!("{key}: {reason}.")))?,
        ),
        None => None,
    };
    let changed = apply(context, &catalog, (key, declared), value).await?;
    print_change(context, &changed)?;
    match declared.folder {
        Some(folder) if text.is_some_and(|text| !text.trim().is_empty()) => {
            set_folder(context, &catalog, folder).await
        }
        _ => Ok(()),
    }
}

/// Sets a setting for a folder to the current one, and says so, unless it is set already.
async fn set_folder(
    context: &CommandContext,
    catalog: &Arc<SettingsCatalog>,
    key: &str,
) -> Result<(), CommandFailure> {
    // A program that reads one document must not get two, and a remote daemon has other folders.
    if context.terminal.json || context.is_remote() {
        return Ok(());
    }
    let known = read_settings(context, Some(key.to_owned())).await?;
    let is_set = known
        .settings
        .iter()
        .any(|it| it.origin != ConfigOrigin::Default);
    let here = std::env::current_dir().ok();
    // The root of the machine is nobody's project.
    let here = here.filter(|folder| folder.parent().is_some());
    let (Some(declared), Some(here), false) = (catalog.find(key), here, is_set) else {
        return Ok(());
    };
    let Some(value) = here
        .to_str()
        .and_then(|text| declared.kind.parse(text).ok())
    else {
        return Ok(());
    };
    let changed = apply(context, catalog, (key, declared), Some(value)).await?;
    print_change(context, &changed)?;
    let next = format!("That is this folder; for none: hob config set {key} ''");
    Ok(context.terminal.line(next)?)
}

/// Sets a setting through the running daemon or in the file; `None` resets it.
async fn apply(
    context: &CommandContext,
    catalog: &Arc<SettingsCatalog>,
    (key, declared): (&str, &SettingKey),
    value: Option<hob_kit::settings::SettingValue>,
) -> Result<ConfigChange, CommandFailure> {
    match context.running_client().await? {
        // Some settings may not be changed over the wire; those are written to the file even if
        // a daemon runs.
        Some(client) if declared.over_wire => {
            let value = value.map_or(Value::Null, |value| value.to_json());
            set_over_wire(&client, key, value).await
        }
        running => {
            let env = set_in_file(context, catalog, key, value.as_ref())?;
            let value = env.entry(key).map(|entry| entry.value.to_json());
            Ok(ConfigChange {
                key: key.to_owned(),
                value: value.unwrap_or_default(),
                applied: offline_apply_status(&env, declared, running.is_some()),
            })
        }
    }
}

async fn set_over_wire(
    client: &Client,
    key: &str,
    value: Value,
) -> Result<ConfigChange, CommandFailure> {
    let key = key.to_owned();
    Ok(client.call::<Set>(&ConfigSetParams { key, value }).await?)
}

fn set_in_file(
    context: &CommandContext,
    catalog: &Arc<SettingsCatalog>,
    key: &str,
    value: Option<&hob_kit::settings::SettingValue>,
) -> Result<Settings, CommandFailure> {
    let home = &context.host.home;
    // `config set` may run before any daemon has created the home.
    home.ensure()
        .map_err(|error| CommandFailure::failed(error.to_string()))?;
    let file = home.config_file();
    let name = file.display().to_string();
    // The whole new file is checked before it replaces the old one.
    edit::set_in_file(&file, key, value, |text| {
        Settings::load(catalog, &name, text, &context.host.env).map(drop)
    })
    .map_err(|error| CommandFailure::failed(format!("Nothing was changed: {error}")))?;
    load_home_settings(context, catalog)
}

/// Returns when a change of the file takes effect if no daemon was asked to apply it.
fn offline_apply_status(settings: &Settings, key: &SettingKey, running: bool) -> ApplyStatus {
    let entry = settings.entry(key.path);
    if entry.is_some_and(|entry| entry.origin == hob_kit::settings::SettingSource::Env) {
        ApplyStatus::Overridden
    } else if running {
        ApplyStatus::Restart
    } else {
        ApplyStatus::Now
    }
}

fn print_change(context: &CommandContext, changed: &ConfigChange) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(changed)?);
    }
    let value = format_value(&changed.value, terminal.screen());
    let when = match changed.applied {
        ApplyStatus::Now => "Now in effect.".to_owned(),
        ApplyStatus::Restart => "Takes effect after `hob restart`.".to_owned(),
        ApplyStatus::Overridden => {
            let text = "An environment variable still overrides it.";
            terminal.screen().paint(TextTone::Warning, text)
        }
    };
    Ok(terminal.line(format!("{} = {value}. {when}", changed.key))?)
}

fn load_home_settings(
    context: &CommandContext,
    catalog: &Arc<SettingsCatalog>,
) -> Result<Settings, CommandFailure> {
    Settings::load_home(catalog, &context.host.home, &context.host.env)
        .map_err(|found| config_failure(&found))
}

fn config_failure(problems: &ConfigProblems) -> CommandFailure {
    CommandFailure::new(ExitStatus::Failed, "CONFIG", problems.to_string())
        .next("Correct the file that `hob config path` names.")
}

fn unknown_setting(catalog: &SettingsCatalog, key: &str) -> CommandFailure {
    let failure = CommandFailure::new(
        ExitStatus::NotFound,
        "NOT_FOUND",
        format!("There is no setting '{key}'."),
    );
    match catalog.nearest(key) {
        Some(near) => failure.next(format!("Did you mean '{near}'?")),
        None => failure.next("`hob config show` lists them all."),
    }
}

fn wire_origin(origin: hob_kit::settings::SettingSource) -> ConfigOrigin {
    match origin {
        hob_kit::settings::SettingSource::Default => ConfigOrigin::Default,
        hob_kit::settings::SettingSource::File => ConfigOrigin::File,
        hob_kit::settings::SettingSource::Env => ConfigOrigin::Env,
    }
}
