//! Construction of the daemon's rooms.
//!
//! Invariant: the agent starts after the rooms that runs call, because runs of an earlier daemon
//! resume at once; rooms that start runs by themselves come after the agent.

use super::{DaemonProcess, DaemonTasks, ServedRooms, VERSION};
use hob_bus::Bus;
use hob_daemon::daemon::DaemonFacts;
use hob_daemon::model_library::ModelLibrary;
use hob_daemon::service_resolver::{BusServiceResolver, ServiceUseCounts};
use hob_daemon::tool::CommandRunner;
use hob_daemon::transcripts::Transcripts;
use hob_daemon::{
    RoomContext, agent, audit, config, cost, cron, daemon, desktop, log, loops, model, onboard,
    permission, service, session, speech, terminal, tool,
};
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_models::{EnvKeys, HomeKeys};
use hob_net::{HttpClient, HttpOptions, WebClient};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// The gateway's listeners and notes for `daemon.status`, set once the gateway is open.
#[derive(Debug, Default)]
pub(super) struct GatewayAnnouncement {
    pub(super) listeners: Arc<OnceLock<Vec<String>>>,
    pub(super) notes: Arc<OnceLock<Vec<String>>>,
}

impl DaemonProcess<'_> {
    /// What every room gets.
    pub(super) fn room_context(
        &self,
        bus: &Bus,
        tasks: &TaskGroup,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> anyhow::Result<RoomContext> {
        let host = &self.host;
        Ok(RoomContext {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: host.clock.clone(),
            randomness: host.randomness.clone(),
            env: host.env.clone(),
            home: host.home.clone(),
            settings,
            mask: self.log.mask().clone(),
            tasks: tasks.clone(),
            transcripts: Transcripts::new(
                bus,
                self.store.clone(),
                host.clock.clone(),
                tasks.clone(),
            ),
            http: HttpClient::new(HttpOptions::new(host.clock.clone()))?,
            web: WebClient::new(host.clock.clone()),
        })
    }

    /// Serves every room. Services start later, when the gateway is open.
    pub(super) fn serve_rooms(
        &self,
        context: &RoomContext,
        groups: &DaemonTasks,
        effective: watch::Sender<Arc<Settings>>,
        announced: &GatewayAnnouncement,
    ) -> anyhow::Result<ServedRooms> {
        self.mask_home_secrets();
        let applied = self.log.clone();
        let apply = Box::new(move |settings: &Settings| applied.apply(settings));
        let commands = command_runner(context);
        session::serve(context)?;
        config::serve(context, effective, apply)?;
        daemon::serve(context, self.facts(announced, spawner(context)))?;
        log::serve(context, self.log.lines())?;
        desktop::serve(context)?;
        permission::serve(context)?;
        audit::serve(context)?;
        tool::serve(context, Some(commands.clone()))?;
        let recorder = hob_exec::tmux::recording::own_recorder()?;
        let terminals = terminal::serve(
            context,
            spawner(context),
            recorder,
            hob_dialects::analyze_output,
        )?;
        // Services outlive the rooms that use them.
        let lasting = RoomContext {
            tasks: groups.services.clone(),
            ..context.clone()
        };
        let (uses, starter) = (ServiceUseCounts::default(), spawner(&lasting));
        let access = starter.listener_access();
        let services = service::serve(
            &lasting,
            starter,
            uses.clone(),
            hob_dialects::opt_in_surfaces(),
        )?;
        let env_keys = EnvKeys::new(context.env.clone(), context.mask.clone());
        let (keys, problems) = HomeKeys::open(env_keys, context.home.clone());
        for problem in problems {
            tracing::warn!("{problem}");
        }
        let library = ModelLibrary {
            keys: Arc::new(keys.clone()),
            services: Arc::new(BusServiceResolver::new(&context.bus, uses)),
            served: services.served(),
        };
        // Building the catalog reads every provider's key, so the mask knows all keys from the start.
        drop(library.models(context));
        model::serve(context, &library, keys.clone())?;
        onboard::serve(context, &library, keys, spawner(context))?;
        cost::serve(context)?;
        speech::serve(context, Arc::clone(&library.services))?;
        agent::serve(context, &library)?;
        loops::serve(context, &library, commands.clone())?;
        cron::serve(context, commands)?;
        let trim = crate::memory_trim::trim_periodically();
        context.tasks.spawn_until_stop("spare memory", trim);
        Ok(ServedRooms {
            services,
            terminals,
            access,
        })
    }

    /// Adds the secrets in hob's home to the mask before any room is served: runs of an earlier daemon
    /// resume at once, and the gateway, which reads the owner's token, opens last.
    fn mask_home_secrets(&self) {
        let home = &self.host.home;
        for file in [home.owner_token(), home.hooks_key()] {
            // A missing file is added to the mask by the code that creates it.
            if let Ok(text) = std::fs::read_to_string(file) {
                self.log.mask().add(text.trim());
            }
        }
    }

    fn facts(&self, announced: &GatewayAnnouncement, spawner: Spawner) -> DaemonFacts {
        DaemonFacts {
            version: VERSION.to_owned(),
            started_at: self.started_at,
            listeners: Arc::clone(&announced.listeners),
            notes: Arc::clone(&announced.notes),
            spawner: Some(spawner),
        }
    }
}

fn command_runner(context: &RoomContext) -> CommandRunner {
    let home = context.env.os("HOME").map(PathBuf::from);
    CommandRunner::new(spawner(context), context.settings.clone(), home.as_deref())
        .with_web(context.web.clone())
}

/// The spawner of child processes, with this binary as the shim. The first spawn probes the sandbox
/// support of the machine.
fn spawner(context: &RoomContext) -> Spawner {
    Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: context.env.clone(),
        tasks: context.tasks.clone(),
        sandbox_support: None,
    })
}
