//! `hob config`: settings, with a daemon or without. A running daemon is asked, because it knows
//! what is in effect and applies changes at once; otherwise the file speaks.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::value::cell;
use crate::render::{Tone, table::Table};
use crate::settings;
use crate::tree::text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_client::Client;
use hob_kit::settings::{Catalog, Key, Problems, Settings, edit};
use hob_wire::rooms::config::{
    self as wire, Applied, Changed, Get, GetParams, Origin, Set, SetParams, Setting,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub fn command() -> Command {
    let example = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        text::examples(&lines)
    };
    let key = || Arg::new("key").value_name("KEY");
    Command::new("config")
        .about("Shows and changes settings")
        .after_help(example(&[
            "hob config show",
            "hob config get log.level",
            "hob config set log.level debug",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("path")
                .about("Shows where the config file is")
                .after_help(example(&["hob config path", "$EDITOR $(hob config path)"])),
        )
        .subcommand(
            Command::new("show")
                .about("Shows settings, their values and where those come from")
                .after_help(example(&["hob config show", "hob config show gateway"]))
                .arg(key().help("Only this setting, or those below this prefix")),
        )
        .subcommand(
            Command::new("get")
                .about("Shows the value of one setting")
                .after_help(example(&["hob config get log.level"]))
                .arg(key().required(true).help("The setting, such as log.level")),
        )
        .subcommand(
            Command::new("set")
                .about("Changes one setting")
                .long_about(
                    "Comments and other lines of the config file stay as they are. A running daemon applies it at once where it can, and the answer says so.",
                )
                .after_help(example(&[
                    "hob config set log.level debug",
                    "hob config set gateway.ping_interval 10s",
                    "hob config set log.level --default",
                ]))
                .arg(key().required(true).help("The setting, such as log.level"))
                .arg(
                    Arg::new("value")
                        .value_name("VALUE")
                        .required_unless_present("default")
                        .allow_hyphen_values(true)
                        .help("Its new value; a list is separated by commas"),
                )
                .arg(
                    Arg::new("default")
                        .long("default")
                        .action(ArgAction::SetTrue)
                        .conflicts_with("value")
                        .help("Goes back to the default"),
                ),
        )
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let key = |matches: &ArgMatches| matches.get_one::<String>("key").cloned();
    match matches.subcommand() {
        Some(("path", _)) => {
            let path = context.world.home.config_file();
            if context.terminal.json {
                return Ok(context.terminal.document(&json!({ "path": path }))?);
            }
            Ok(context.terminal.line(path.display())?)
        }
        Some(("show", matches)) => show(context, key(matches)).await,
        Some(("get", matches)) => get(context, &key(matches).unwrap_or_default()).await,
        Some(("set", matches)) => {
            let value = matches.get_one::<String>("value").map(String::as_str);
            set(context, &key(matches).unwrap_or_default(), value).await
        }
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}

async fn show(context: &Context, prefix: Option<String>) -> Result<(), Failure> {
    let settings = read(context, prefix).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&settings)?);
    }
    let mut table = Table::new()
        .column("KEY")
        .column("VALUE")
        .column("FROM")
        .column("CHANGES");
    for setting in &settings.settings {
        let origin = match setting.origin {
            Origin::Default => "default",
            Origin::File => "file",
            Origin::Env => "environment",
        };
        let when = if setting.live {
            "at once"
        } else {
            "at restart"
        };
        table.row(vec![
            setting.key.clone(),
            shown(&setting.value, terminal.screen()),
            origin.to_owned(),
            when.to_owned(),
        ]);
    }
    Ok(terminal.lines(table.lines(terminal.screen()))?)
}

async fn get(context: &Context, key: &str) -> Result<(), Failure> {
    let settings = read(context, Some(key.to_owned())).await?;
    let exact = settings
        .settings
        .into_iter()
        .find(|setting| setting.key == key);
    let Some(setting) = exact else {
        let sentence = format!("'{key}' is a section, not a setting.");
        return Err(Failure::usage(sentence).next(format!("hob config show {key}")));
    };
    if context.terminal.json {
        return Ok(context.terminal.document(&setting)?);
    }
    let line = shown(&setting.value, context.terminal.screen());
    Ok(context.terminal.line(line)?)
}

fn shown(value: &Value, screen: &crate::render::Screen) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        other => cell("", other, screen),
    }
}

async fn read(context: &Context, key: Option<String>) -> Result<wire::Settings, Failure> {
    if let Some(client) = context.running_client().await? {
        return Ok(client.call::<Get>(&GetParams { key }).await?);
    }
    let catalog = settings::catalog();
    let settings = of_home(context, &catalog)?;
    let wanted = key.unwrap_or_default();
    let below = format!("{wanted}.");
    let listed: Vec<Setting> = settings
        .entries()
        .filter(|(path, _)| wanted.is_empty() || *path == wanted || path.starts_with(&below))
        .map(|(path, entry)| Setting {
            key: path.to_owned(),
            value: entry.value.to_json(),
            origin: origin(entry.origin),
            live: catalog.find(path).is_some_and(|key| key.live),
        })
        .collect();
    if listed.is_empty() {
        return Err(unknown(&catalog, &wanted));
    }
    Ok(wire::Settings { settings: listed })
}

async fn set(context: &Context, key: &str, text: Option<&str>) -> Result<(), Failure> {
    let catalog = settings::catalog();
    let declared = catalog.find(key).ok_or_else(|| unknown(&catalog, key))?;
    let value = match text {
        Some(text) => Some(
            declared
                .kind
                .parse(text)
                .map_err(|reason| Failure::usage(format!("{key}: {reason}.")))?,
        ),
        None => None,
    };
    let changed = match context.running_client().await? {
        Some(client) if declared.over_wire => {
            let value = value.map_or(Value::Null, |value| value.to_json());
            set_through(&client, key, value).await?
        }
        running => {
            let env = set_in_file(context, &catalog, key, value.as_ref())?;
            let value = env.entry(key).map(|entry| entry.value.to_json());
            Changed {
                key: key.to_owned(),
                value: value.unwrap_or_default(),
                applied: applied_without(&env, declared, running.is_some()),
            }
        }
    };
    say_changed(context, &changed)
}

async fn set_through(client: &Client, key: &str, value: Value) -> Result<Changed, Failure> {
    let key = key.to_owned();
    Ok(client.call::<Set>(&SetParams { key, value }).await?)
}

fn set_in_file(
    context: &Context,
    catalog: &Arc<Catalog>,
    key: &str,
    value: Option<&hob_kit::settings::Value>,
) -> Result<Settings, Failure> {
    let home = &context.world.home;
    home.ensure()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let file = home.config_file();
    let name = file.display().to_string();
    edit::set_in_file(&file, key, value, |text| {
        Settings::load(catalog, &name, text, &context.world.env).map(drop)
    })
    .map_err(|error| Failure::failed(format!("Nothing was changed: {error}")))?;
    of_home(context, catalog)
}

/// When a change of the file takes effect if no daemon was asked to apply it.
fn applied_without(settings: &Settings, key: &Key, running: bool) -> Applied {
    let entry = settings.entry(key.path);
    if entry.is_some_and(|entry| entry.origin == hob_kit::settings::Origin::Env) {
        Applied::Overridden
    } else if running {
        Applied::Restart
    } else {
        Applied::Now
    }
}

fn say_changed(context: &Context, changed: &Changed) -> Result<(), Failure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(changed)?);
    }
    let value = shown(&changed.value, terminal.screen());
    let when = match changed.applied {
        Applied::Now => "It is in effect.".to_owned(),
        Applied::Restart => "It takes effect after `hob restart`.".to_owned(),
        Applied::Overridden => {
            let text = "An environment variable still beats it.";
            terminal.screen().paint(Tone::Warning, text)
        }
    };
    Ok(terminal.line(format!("{} = {value}. {when}", changed.key))?)
}

fn of_home(context: &Context, catalog: &Arc<Catalog>) -> Result<Settings, Failure> {
    Settings::of_home(catalog, &context.world.home, &context.world.env)
        .map_err(|found| problems(&found))
}

fn problems(problems: &Problems) -> Failure {
    Failure::new(Exit::Failed, "CONFIG", problems.to_string())
        .next("Correct the file that `hob config path` names.")
}

fn unknown(catalog: &Catalog, key: &str) -> Failure {
    let failure = Failure::new(
        Exit::NotFound,
        "NOT_FOUND",
        format!("There is no setting '{key}'."),
    );
    match catalog.nearest(key) {
        Some(near) => failure.next(format!("Did you mean '{near}'?")),
        None => failure.next("`hob config show` lists them all."),
    }
}

fn origin(origin: hob_kit::settings::Origin) -> Origin {
    match origin {
        hob_kit::settings::Origin::Default => Origin::Default,
        hob_kit::settings::Origin::File => Origin::File,
        hob_kit::settings::Origin::Env => Origin::Env,
    }
}
