//! Construction of the daemon's rooms.
//!
//! Invariant: the agent starts after the rooms that runs call, because runs of an earlier daemon
//! resume at once; rooms that start runs by themselves come after the agent.

use super::{DaemonProcess, DaemonTasks, ServedRooms, VERSION};
use hob_bus::Bus;
use hob_daemon::config::ConfigService;
use hob_daemon::daemon::DaemonFacts;
use hob_daemon::model_library::ModelLibrary;
use hob_daemon::scheduled_command::ScheduledCommandRunner;
use hob_daemon::service::ServiceRoom;
use hob_daemon::service_resolver::{BusServiceResolver, ServiceUseCounts};
use hob_daemon::terminal::TerminalRoom;
use hob_daemon::tool::CommandRunner;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_models::{EnvKeys, ServedModel};
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
    /// Serves every room. Services start later, when the gateway is open.
    pub(super) fn serve_rooms(
        &self,
        bus: &Bus,
        groups: &DaemonTasks,
        config: ConfigService,
        announced: &GatewayAnnouncement,
    ) -> anyhow::Result<ServedRooms> {
        self.mask_home_secrets();
        let tasks = &groups.rooms;
        let facts = DaemonFacts {
            version: VERSION.to_owned(),
            started_at: self.started_at,
            home: self.host.home.root().display().to_string(),
            listeners: Arc::clone(&announced.listeners),
            notes: Arc::clone(&announced.notes),
        };
        bus.serve(hob_daemon::session::room(&self.store))?;
        let settings = config.watch();
        bus.serve(hob_daemon::config::room(config))?;
        let emitter = bus.emitter("daemon");
        bus.serve(hob_daemon::daemon::room(facts, self.store.clone(), emitter))?;
        bus.serve(hob_daemon::log::room())?;
        bus.serve(hob_daemon::desktop::room(
            hob_daemon::desktop::DesktopDeps {
                store: self.store.clone(),
                env: self.host.env.clone(),
                mask: self.log.mask().clone(),
            },
        ))?;
        let commands = self.commands(tasks, settings.clone());
        self.serve_tools(bus, settings.clone(), commands.clone())?;
        let terminals = self.serve_terminals(bus, tasks, settings.clone())?;
        let uses = ServiceUseCounts::default();
        let spawner = self.spawner(&groups.services);
        let access = spawner.listener_access();
        let services = self.services(
            bus,
            (&groups.services, spawner),
            settings.clone(),
            uses.clone(),
        )?;
        bus.serve(hob_daemon::service::room(&services))?;
        let found = (uses, services.served());
        let library = self.serve_agent(bus, tasks, settings.clone(), found)?;
        self.serve_loops(bus, tasks, library, commands.clone())?;
        self.serve_cron(bus, tasks, settings, commands)?;
        if let Some(lines) = self.log.lines() {
            let pump = hob_daemon::log::pump(lines, bus.emitter("log"));
            tasks.spawn_until_stop("log-lines", pump);
        }
        tasks.spawn_until_stop("spare memory", crate::memory_trim::trim_periodically());
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

    /// Serves the tools, and the permissions their calls need.
    fn serve_tools(
        &self,
        bus: &Bus,
        settings: watch::Receiver<Arc<Settings>>,
        commands: CommandRunner,
    ) -> anyhow::Result<()> {
        bus.serve(hob_daemon::permission::room(
            hob_daemon::permission::PermissionDeps {
                bus: bus.clone(),
                store: self.store.clone(),
                clock: self.host.clock.clone(),
                randomness: self.host.randomness.clone(),
                settings: settings.clone(),
                mask: self.log.mask().clone(),
            },
        ))?;
        bus.serve(hob_daemon::audit::room(&self.store))?;
        bus.serve(hob_daemon::tool::room(hob_daemon::tool::ToolRoomDeps {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: self.host.clock.clone(),
            commands: Some(commands),
            settings,
            home: self.host.home.clone(),
            web: WebClient::new(self.host.clock.clone()),
            mask: self.log.mask().clone(),
        }))?;
        Ok(())
    }

    /// Serves the terminals and adopts those of an earlier daemon.
    fn serve_terminals(
        &self,
        bus: &Bus,
        tasks: &TaskGroup,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> anyhow::Result<TerminalRoom> {
        let host = &self.host;
        let terminals = TerminalRoom::new(hob_daemon::terminal::TerminalDeps {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: host.clock.clone(),
            randomness: host.randomness.clone(),
            env: host.env.clone(),
            home: host.home.clone(),
            settings,
            mask: self.log.mask().clone(),
            spawner: self.spawner(tasks),
            recorder: hob_exec::tmux::recording::own_recorder()?,
            analyze: hob_dialects::analyze_output,
            tasks: tasks.clone(),
        });
        bus.serve(hob_daemon::terminal::room(&terminals))?;
        terminals.open();
        Ok(terminals)
    }

    /// Serves the jobs.
    fn serve_cron(
        &self,
        bus: &Bus,
        tasks: &TaskGroup,
        settings: watch::Receiver<Arc<Settings>>,
        commands: CommandRunner,
    ) -> anyhow::Result<()> {
        let (home, clock) = (&self.host.home, &self.host.clock);
        hob_daemon::cron::serve(hob_daemon::cron::CronDeps {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: clock.clone(),
            randomness: self.host.randomness.clone(),
            home: home.clone(),
            settings,
            mask: self.log.mask().clone(),
            command_runner: self.command_runner(commands),
            tasks: tasks.clone(),
        })?;
        Ok(())
    }

    fn command_runner(&self, commands: CommandRunner) -> ScheduledCommandRunner {
        let (home, clock) = (&self.host.home, self.host.clock.clone());
        ScheduledCommandRunner::new(commands, home, clock).with_mask(self.log.mask().clone())
    }

    fn commands(
        &self,
        tasks: &TaskGroup,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> CommandRunner {
        let home = self.host.env.os("HOME").map(PathBuf::from);
        let web = WebClient::new(self.host.clock.clone());
        CommandRunner::new(self.spawner(tasks), settings, home.as_deref()).with_web(web)
    }

    /// The spawner of child processes, with this binary as the shim. The first spawn probes the
    /// sandbox support of the machine.
    fn spawner(&self, tasks: &TaskGroup) -> Spawner {
        Spawner::new(SpawnerParts {
            shim: hob_exec::spawner::own_shim(),
            env: self.host.env.clone(),
            tasks: tasks.clone(),
            sandbox_support: None,
        })
    }

    /// The local services. A running call keeps its service from becoming idle.
    fn services(
        &self,
        bus: &Bus,
        (tasks, spawner): (&TaskGroup, Spawner),
        settings: watch::Receiver<Arc<Settings>>,
        uses: ServiceUseCounts,
    ) -> anyhow::Result<ServiceRoom> {
        let (clock, randomness) = (self.host.clock.clone(), self.host.randomness.clone());
        Ok(ServiceRoom::new(hob_daemon::service::ServiceDeps {
            bus: bus.clone(),
            store: self.store.clone(),
            http: HttpClient::new(HttpOptions::new(clock.clone()))?,
            clock,
            randomness,
            env: self.host.env.clone(),
            home: self.host.home.clone(),
            settings,
            mask: self.log.mask().clone(),
            spawner,
            tasks: tasks.clone(),
            busy: Arc::new(move |service| uses.is_busy(service)),
            listeners: hob_dialects::opt_in_surfaces(),
        }))
    }

    /// Serves models, costs, speech and the agent: late, because runs of an earlier daemon resume at
    /// once and call the other rooms.
    fn serve_agent(
        &self,
        bus: &Bus,
        tasks: &TaskGroup,
        settings: watch::Receiver<Arc<Settings>>,
        (uses, served): (ServiceUseCounts, watch::Receiver<Arc<Vec<ServedModel>>>),
    ) -> anyhow::Result<ModelLibrary> {
        let (clock, randomness) = (self.host.clock.clone(), self.host.randomness.clone());
        let store = self.store.clone();
        let keys = EnvKeys::new(self.host.env.clone(), self.log.mask().clone());
        let resolver = Arc::new(BusServiceResolver::new(bus, uses));
        let library = ModelLibrary {
            settings,
            http: HttpClient::new(HttpOptions::new(clock.clone()))?,
            keys: Arc::new(keys),
            services: resolver.clone(),
            served,
        };
        // Building the catalog reads every provider's key, so the mask knows all keys from the start.
        drop(library.models());
        bus.serve(hob_daemon::model::room(hob_daemon::model::ModelDeps {
            bus: bus.clone(),
            store: store.clone(),
            clock: clock.clone(),
            randomness: randomness.clone(),
            library: library.clone(),
        }))?;
        bus.serve(hob_daemon::cost::room(store.clone(), clock.clone()))?;
        bus.serve(hob_daemon::speech::room(hob_daemon::speech::SpeechDeps {
            bus: bus.clone(),
            http: library.http.clone(),
            services: resolver,
        }))?;
        hob_daemon::agent::serve(hob_daemon::agent::AgentDeps {
            store,
            bus: bus.clone(),
            tasks: tasks.clone(),
            library: library.clone(),
            home: self.host.home.clone(),
            mask: self.log.mask().clone(),
            clock,
            randomness,
        })?;
        Ok(library)
    }

    /// Serves the loops. After the agent: loops of an earlier daemon start runs at once.
    fn serve_loops(
        &self,
        bus: &Bus,
        tasks: &TaskGroup,
        library: ModelLibrary,
        commands: CommandRunner,
    ) -> anyhow::Result<()> {
        let clock = self.host.clock.clone();
        let command_runner = self.command_runner(commands);
        hob_daemon::loops::serve(hob_daemon::loops::LoopDeps {
            bus: bus.clone(),
            store: self.store.clone(),
            clock,
            randomness: self.host.randomness.clone(),
            tasks: tasks.clone(),
            library,
            command_runner,
            mask: self.log.mask().clone(),
        })?;
        Ok(())
    }
}
