//! `hob token`: credentials for other programs and machines. A running daemon is asked, so that a
//! revoked token's connections close at once; otherwise the store is opened under the home's lock.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::offline::OfflineStore;
use crate::render::words::one_line;
use crate::render::{Tone, damaged, moment, table::Table};
use crate::tree::text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_wire::Scopes;
use hob_wire::rooms::token::{
    Create, CreateParams, Created, List, ListParams, Revoke, RevokeParams, Revoked, TokenInfo,
    Tokens,
};

pub fn command() -> Command {
    let example = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        text::examples(&lines)
    };
    Command::new("token")
        .about("Makes, lists and revokes tokens for other programs")
        .after_help(example(&[
            "hob token create --name phone --scope chat",
            "hob token list",
            "hob token revoke phone",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("create")
                .about("Makes a token; its text is shown only once")
                .long_about(
                    "Scopes contain each other: admin, \
                     control, chat, read; service:NAME beside them lets a program register the \
                     service NAME.",
                )
                .after_help(example(&[
                    "hob token create --name phone --scope chat --expires 30d",
                    "hob token create --name weather --scope service:weather,read",
                    "hob token create --name notes --scope chat --workspace ~/notes",
                ]))
                .arg(
                    Arg::new("name")
                        .long("name")
                        .value_name("NAME")
                        .required(true)
                        .help("What it is for; unique among live tokens"),
                )
                .arg(
                    Arg::new("scope")
                        .long("scope")
                        .value_name("SCOPE")
                        .required(true)
                        .action(ArgAction::Append)
                        .value_delimiter(',')
                        .help("read, chat, control, admin or service:NAME; several with commas"),
                )
                .arg(
                    Arg::new("workspace")
                        .long("workspace")
                        .value_name("DIR")
                        .action(ArgAction::Append)
                        .help("A folder that a model may read for it, with all below; repeatable")
                        .long_help(
                            "A folder that a model may read for this token, with all below it; \
                             repeatable. For tokens with the scope chat, which have no folder \
                             otherwise but those of the setting agent.workspaces. A token with \
                             control may use every folder.",
                        ),
                )
                .arg(
                    Arg::new("expires")
                        .long("expires")
                        .value_name("TIME")
                        .value_parser(|text: &str| hob_kit::duration::parse_ms(text))
                        .help("Its life, such as 12h or 30d; for ever when missing"),
                ),
        )
        .subcommand(
            Command::new("list")
                .about("Lists tokens, without their texts")
                .after_help(example(&["hob token list", "hob token list --json"])),
        )
        .subcommand(
            Command::new("revoke")
                .about("Ends a token and closes every connection that uses it")
                .after_help(example(&["hob token revoke phone"]))
                .arg(
                    Arg::new("token")
                        .value_name("TOKEN")
                        .required(true)
                        .help("Its id or name"),
                ),
        )
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("create", matches)) => create(context, create_params(matches)?).await,
        Some(("list", _)) => list(context).await,
        Some(("revoke", matches)) => {
            let token = matches.get_one::<String>("token").cloned();
            let token = token.unwrap_or_default();
            revoke(context, RevokeParams { token }).await
        }
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}

fn create_params(matches: &ArgMatches) -> Result<CreateParams, Failure> {
    let texts = matches.get_many::<String>("scope").into_iter().flatten();
    let scopes: Vec<String> = texts.cloned().collect();
    let parsed: Result<Scopes, _> = scopes.join(",").parse();
    parsed.map_err(|unknown| Failure::usage(format!("{unknown}.")))?;
    Ok(CreateParams {
        name: matches
            .get_one::<String>("name")
            .cloned()
            .unwrap_or_default(),
        scopes,
        expires_in_ms: matches.get_one::<u64>("expires").copied(),
        workspaces: workspaces(matches)?,
    })
}

/// The named folders by their whole paths, links resolved.
fn workspaces(matches: &ArgMatches) -> Result<Vec<String>, Failure> {
    let named = matches
        .get_many::<String>("workspace")
        .into_iter()
        .flatten();
    let whole = named.map(|named| {
        let found = std::fs::canonicalize(named)
            .ok()
            .filter(|path| path.is_dir());
        let text = found.and_then(|path| path.to_str().map(str::to_owned));
        text.ok_or_else(|| {
            let shown = one_line(named);
            Failure::usage(format!(
                "There is no folder '{shown}' to name with --workspace."
            ))
        })
    });
    whole.collect()
}

async fn create(context: &Context, params: CreateParams) -> Result<(), Failure> {
    let created: Created = if let Some(client) = context.running_client().await? {
        client.call::<Create>(&params).await?
    } else {
        let store = OfflineStore::open(context)?;
        let created = store.create_token(&params).await;
        store.close().await;
        created?
    };
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&created)?);
    }
    let info = &created.info;
    let life = info.expires_at.map_or_else(
        || "never expires".to_owned(),
        |at| format!("expires {}", moment::local(at, terminal.screen())),
    );
    let about = format!("{} ({}; {life})", info.name, info.scopes.join(", "));
    crate::terminal::Terminal::note(format!(
        "Made {about}. Keep this text; it is not shown again:"
    ));
    // The token alone on stdout, so that TOKEN=$(hob token create …) holds it.
    Ok(terminal.line(&created.token)?)
}

async fn list(context: &Context) -> Result<(), Failure> {
    let tokens: Tokens = match context.running_client().await? {
        Some(client) => client.call::<List>(&ListParams {}).await?,
        None if !context.world.home.database().exists() => Tokens {
            tokens: Vec::new(),
            damaged: Vec::new(),
        },
        None => {
            let store = OfflineStore::open(context)?;
            let tokens = store.tokens().await;
            store.close().await;
            tokens?
        }
    };
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&tokens)?);
    }
    if tokens.tokens.is_empty() && tokens.damaged.is_empty() {
        let line = "No tokens yet. Make one: hob token create --name phone --scope chat";
        return Ok(terminal.line(line)?);
    }
    let mut table = Table::new()
        .column("NAME")
        .column("ID")
        .column("SCOPES")
        .column("MADE")
        .column("STATE");
    let screen = terminal.screen();
    for token in &tokens.tokens {
        table.row(vec![
            one_line(&token.name),
            token.id.clone(),
            one_line(&token.scopes.join(",")),
            moment::short(token.created_at, screen),
            state(token, screen),
        ]);
    }
    let mut lines = table.lines(screen);
    lines.extend(damaged::lines(&tokens.damaged, screen));
    for token in tokens.tokens.iter().filter(|it| it.revoked_at.is_none()) {
        let name = one_line(&token.name);
        if !token.workspaces.is_empty() {
            let folders: Vec<String> = token.workspaces.iter().map(|it| one_line(it)).collect();
            let line = format!("{name} may have read: {}", folders.join(", "));
            lines.push(screen.paint(Tone::Quiet, &line));
        }
        if let Some(note) = &token.note {
            let line = format!("{name}: {}.", one_line(note));
            lines.push(screen.paint(Tone::Quiet, &line));
        }
    }
    Ok(terminal.lines(lines)?)
}

fn state(token: &TokenInfo, screen: &crate::render::Screen) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", moment::short(at, screen)),
        (None, Some(at)) if at <= screen.now_ms => {
            format!("expired {}", moment::short(at, screen))
        }
        (None, Some(at)) => format!("until {}", moment::short(at, screen)),
        (None, None) => "live".to_owned(),
    }
}

async fn revoke(context: &Context, params: RevokeParams) -> Result<(), Failure> {
    let revoked: Revoked = if let Some(client) = context.running_client().await? {
        client.call::<Revoke>(&params).await?
    } else {
        let store = OfflineStore::open(context)?;
        let revoked = store.revoke_token(&params.token).await;
        store.close().await;
        revoked?
    };
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&revoked)?);
    }
    let line = format!("Revoked {} ({}).", one_line(&revoked.name), revoked.id);
    Ok(terminal.line(terminal.screen().paint(Tone::Good, &line))?)
}
