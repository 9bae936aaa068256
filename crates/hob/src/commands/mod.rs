//! The commands, one file each, with their clap types beside the code. [`HobCommand`] and
//! [`ClientCommand`] list them: the command tree is built from these two.

pub mod ask;
pub mod audit;
pub mod autostart;
pub mod chat;
pub mod complete_names;
pub mod completions;
pub mod config;
pub mod cost;
pub mod cron;
pub mod daemon;
pub mod doctor;
pub mod down;
pub mod events;
pub mod help;
pub mod import;
mod latest;
pub mod logs;
pub mod loops;
pub mod onboard;
pub mod package_files;
pub mod permission;
pub mod restart;
pub mod room;
pub mod rpc;
pub mod run;
pub mod say;
pub mod service;
pub mod speech_server;
pub mod status;
pub mod terminal;
pub mod token;
pub mod trace;
pub mod unattended_flags;
pub mod undo;
pub mod uninstall;
pub mod up;
pub mod value_parsers;
pub mod verify;
pub mod version;
pub mod welcome;

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use loops::LoopSubcommand;
use service::ServiceSubcommand;
use terminal::TerminalSubcommand;

/// A command of hob.
#[derive(Debug, clap::Subcommand)]
pub enum HobCommand {
    #[command(flatten)]
    Client(ClientCommand),
    Daemon(daemon::DaemonArgs),
}

/// The commands other than the daemon itself, in the order of the help page.
#[derive(Debug, clap::Subcommand)]
pub enum ClientCommand {
    Ask(ask::AskArgs),
    Chat(chat::ChatArgs),
    #[command(subcommand)]
    Run(run::RunSubcommand),
    #[command(subcommand)]
    Terminal(TerminalSubcommand),
    Undo(undo::UndoArgs),
    Onboard(onboard::OnboardArgs),
    Say(say::SayArgs),
    #[command(subcommand)]
    Permission(permission::PermissionSubcommand),
    #[command(subcommand)]
    Audit(audit::AuditSubcommand),
    Cost(cost::CostArgs),
    Up(up::UpArgs),
    Down(down::DownArgs),
    Restart(restart::RestartArgs),
    Status(status::StatusArgs),
    #[command(subcommand)]
    Service(ServiceSubcommand),
    #[command(subcommand)]
    Loop(LoopSubcommand),
    #[command(subcommand)]
    Cron(cron::CronSubcommand),
    Import(import::ImportArgs),
    #[command(flatten)]
    Room(room::RoomCall),
    Events(events::EventsArgs),
    Rpc(rpc::RpcArgs),
    Trace(trace::TraceArgs),
    Logs(logs::LogsArgs),
    Doctor(doctor::DoctorArgs),
    Verify(verify::VerifyArgs),
    #[command(subcommand)]
    Config(config::ConfigSubcommand),
    #[command(subcommand)]
    Token(token::TokenSubcommand),
    #[command(subcommand)]
    Autostart(autostart::AutostartSubcommand),
    Uninstall(uninstall::UninstallArgs),
    Completions(completions::CompletionsArgs),
    CompleteNames(complete_names::CompleteNamesArgs),
    PackageFiles(package_files::PackageFilesArgs),
    Version(version::VersionArgs),
    Help(help::HelpArgs),
}

impl ClientCommand {
    /// Returns true if the command handles Ctrl-C itself.
    pub fn handles_interrupts(&self) -> bool {
        match self {
            ClientCommand::Ask(_)
            | ClientCommand::Chat(_)
            | ClientCommand::Onboard(_)
            // It prints how to continue.
            | ClientCommand::Import(_)
            // These leave work running in the daemon, so on Ctrl-C they print how to come back to it.
            | ClientCommand::Service(ServiceSubcommand::Install(_))
            | ClientCommand::Terminal(TerminalSubcommand::Run(_)) => true,
            ClientCommand::Loop(command) => command.is_watching(),
            ClientCommand::Room(call) => call.handles_interrupts(),
            _ => false,
        }
    }

    pub async fn run(self, context: &CommandContext) -> Result<(), CommandFailure> {
        match self {
            ClientCommand::Ask(args) => ask::run(context, args).await,
            ClientCommand::Chat(args) => chat::run(context, args).await,
            ClientCommand::Run(command) => run::run(context, command).await,
            ClientCommand::Terminal(command) => terminal::run(context, command).await,
            ClientCommand::Undo(args) => undo::run(context, args).await,
            ClientCommand::Onboard(args) => onboard::run(context, args).await,
            ClientCommand::Say(args) => say::run(context, args).await,
            ClientCommand::Permission(command) => permission::run(context, command).await,
            ClientCommand::Audit(command) => audit::run(context, command).await,
            ClientCommand::Cost(args) => cost::run(context, args).await,
            ClientCommand::Up(_) => up::run(context).await,
            ClientCommand::Down(_) => down::run(context).await,
            ClientCommand::Restart(_) => restart::run(context).await,
            ClientCommand::Status(_) => status::run(context).await,
            ClientCommand::Service(command) => service::run(context, command).await,
            ClientCommand::Loop(command) => loops::run(context, command).await,
            ClientCommand::Cron(command) => cron::run(context, command).await,
            ClientCommand::Import(args) => import::run(context, args).await,
            ClientCommand::Room(call) => room::run(context, call).await,
            ClientCommand::Events(args) => events::run(context, args).await,
            ClientCommand::Rpc(args) => rpc::run(context, args).await,
            ClientCommand::Trace(args) => trace::run(context, args).await,
            ClientCommand::Logs(args) => logs::run(context, args).await,
            ClientCommand::Doctor(_) => doctor::run(context).await,
            ClientCommand::Verify(_) => verify::run(context).await,
            ClientCommand::Config(command) => config::run(context, command).await,
            ClientCommand::Token(command) => token::run(context, command).await,
            ClientCommand::Autostart(command) => autostart::run(context, command).await,
            ClientCommand::Uninstall(args) => uninstall::run(context, args).await,
            ClientCommand::Completions(args) => completions::run(context, &args),
            ClientCommand::CompleteNames(args) => complete_names::run(context, args).await,
            ClientCommand::PackageFiles(args) => package_files::run(context, &args),
            ClientCommand::Version(_) => version::run(context),
            ClientCommand::Help(args) => help::run(context, &args),
        }
    }
}
