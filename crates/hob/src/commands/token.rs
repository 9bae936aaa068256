//! `hob token`: credentials for other programs and machines. A running daemon is asked, so that a
//! revoked token's connections close at once; without one the store is opened under the home's lock.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::offline::OfflineStore;
use crate::render::text::one_line;
use crate::render::{TextTone, damaged_rows, table::TextTable, time};
use crate::tree::help_text::examples;
use hob_kit::duration::parse_ms;
use hob_wire::Scopes;
use hob_wire::rooms::token::{
    Create, List, Revoke, TokenCreateParams, TokenCreateResult, TokenInfo, TokenListParams,
    TokenListResult, TokenRevokeParams, TokenRevokeResult,
};

/// Creates, lists and revokes tokens for other programs.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob token create --name phone --scope chat",
    "hob token list",
    "hob token revoke phone",
]))]
pub enum TokenSubcommand {
    Create(TokenCreateArgs),
    /// Lists tokens, without their texts.
    #[command(after_help = examples(&["hob token list", "hob token list --json"]))]
    List,
    /// Revokes a token and closes every connection that uses it.
    #[command(after_help = examples(&["hob token revoke phone"]))]
    Revoke {
        /// Its id or name.
        token: String,
    },
}

/// Creates a token; its text is shown only once.
///
/// Each scope includes the ones after it: admin, control, chat, read. In addition, service:NAME lets
/// a program register the service NAME.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob token create --name phone --scope chat --expires 30d",
    "hob token create --name weather --scope service:weather,read",
    "hob token create --name notes --scope chat --workspace ~/notes",
]))]
pub struct TokenCreateArgs {
    /// A name for the token; unique among live tokens.
    #[arg(long)]
    name: String,
    /// read, chat, control, admin or service:NAME; separate several with commas.
    #[arg(long, required = true, value_delimiter = ',')]
    scope: Vec<String>,
    /// A folder that a model may read for this token, including subfolders; repeatable.
    ///
    /// For tokens with the scope chat, which can otherwise use only the folders of the setting
    /// agent.workspaces. A token with control may use every folder.
    #[arg(long, value_name = "DIR")]
    workspace: Vec<String>,
    /// The lifetime, such as 12h or 30d; unlimited if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    expires: Option<u64>,
}

pub async fn run(context: &CommandContext, command: TokenSubcommand) -> Result<(), CommandFailure> {
    match command {
        TokenSubcommand::Create(args) => create(context, args.params()?).await,
        TokenSubcommand::List => list(context).await,
        TokenSubcommand::Revoke { token } => revoke(context, TokenRevokeParams { token }).await,
    }
}

impl TokenCreateArgs {
    fn params(self) -> Result<TokenCreateParams, CommandFailure> {
        let parsed: Result<Scopes, _> = self.scope.join(",").parse();
        parsed.map_err(|unknown| CommandFailure::usage(format!("{unknown}.")))?;
        Ok(TokenCreateParams {
            workspaces: real_folders(&self.workspace)?,
            name: self.name,
            scopes: self.scope,
            expires_in_ms: self.expires,
        })
    }
}

/// Returns the `--workspace` folders as absolute paths with symlinks resolved.
fn real_folders(named: &[String]) -> Result<Vec<String>, CommandFailure> {
    let whole = named.iter().map(|named| {
        let found = std::fs::canonicalize(named)
            .ok()
            .filter(|path| path.is_dir());
        let text = found.and_then(|path| path.to_str().map(str::to_owned));
        text.ok_or_else(|| {
            let shown = one_line(named);
            CommandFailure::usage(format!("--workspace '{shown}' is not a folder."))
        })
    });
    whole.collect()
}

async fn create(context: &CommandContext, params: TokenCreateParams) -> Result<(), CommandFailure> {
    let created: TokenCreateResult = if let Some(client) = context.running_client().await? {
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
        |at| format!("expires {}", time::local(at, terminal.screen())),
    );
    let about = format!("{} ({}; {life})", info.name, info.scopes.join(", "));
    crate::terminal::Terminal::note(format!(
        "Created {about}. Keep this token; it is not shown again:"
    ));
    // Stdout holds only the token, so that TOKEN=$(hob token create …) works.
    Ok(terminal.line(&created.token)?)
}

async fn list(context: &CommandContext) -> Result<(), CommandFailure> {
    let tokens: TokenListResult = match context.running_client().await? {
        Some(client) => client.call::<List>(&TokenListParams {}).await?,
        // Opening the store would create a database only to list nothing.
        None if !context.host.home.database().exists() => TokenListResult {
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
        let line = "No tokens yet. Create one: hob token create --name phone --scope chat";
        return Ok(terminal.line(line)?);
    }
    let mut table = TextTable::new()
        .column("NAME")
        .column("ID")
        .lesser()
        .column("SCOPES")
        .column("MADE")
        .lesser()
        .column("STATE");
    let screen = terminal.screen();
    for token in &tokens.tokens {
        table.row(vec![
            one_line(&token.name),
            token.id.clone(),
            one_line(&token.scopes.join(",")),
            time::short(token.created_at, screen),
            state(token, screen),
        ]);
    }
    let mut lines = table.lines(screen);
    lines.extend(damaged_rows::lines(&tokens.damaged, screen));
    for token in tokens.tokens.iter().filter(|it| it.revoked_at.is_none()) {
        let name = one_line(&token.name);
        if !token.workspaces.is_empty() {
            let folders: Vec<String> = token.workspaces.iter().map(|it| one_line(it)).collect();
            let line = format!("{name} may have read: {}", folders.join(", "));
            lines.push(screen.paint(TextTone::Quiet, &line));
        }
        if let Some(note) = &token.note {
            let line = format!("{name}: {}.", one_line(note));
            lines.push(screen.paint(TextTone::Quiet, &line));
        }
    }
    Ok(terminal.lines(lines)?)
}

fn state(token: &TokenInfo, screen: &crate::render::ScreenStyle) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", time::short(at, screen)),
        (None, Some(at)) if at <= screen.now_ms => {
            format!("expired {}", time::short(at, screen))
        }
        (None, Some(at)) => format!("until {}", time::short(at, screen)),
        (None, None) => "live".to_owned(),
    }
}

async fn revoke(context: &CommandContext, params: TokenRevokeParams) -> Result<(), CommandFailure> {
    let revoked: TokenRevokeResult = if let Some(client) = context.running_client().await? {
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
    Ok(terminal.line(terminal.screen().paint(TextTone::Good, &line))?)
}
