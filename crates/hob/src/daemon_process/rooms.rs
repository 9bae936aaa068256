//! Which rooms the house has, and what each is made of.
//!
//! Invariant: the agent comes after the rooms that runs call, because runs of a former daemon begin
//! at once; what asks the agent by itself comes after it.

use super::{Groups, House, Kept, VERSION};
use hob_bus::Bus;
use hob_daemon::config::Config;
use hob_daemon::daemon::Facts;
use hob_daemon::door::{Door, Uses};
use hob_daemon::errand::Errands;
use hob_daemon::library::Library;
use hob_daemon::service::Services;
use hob_daemon::terminal::Terminals;
use hob_daemon::tool::Commands;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_models::{EnvKeys, Served};
use hob_net::{Http, NetParts, Web};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// What the gateway says of itself once it is open, for `daemon.status`.
#[derive(Debug, Default)]
pub(super) struct Announced {
    pub(super) listeners: Arc<OnceLock<Vec<String>>>,
    pub(super) notes: Arc<OnceLock<Vec<String>>>,
}

impl House<'_> {
    /// Serves every room; the services are begun when the gateway is open.
    pub(super) fn serve_rooms(
        &self,
        bus: &Bus,
        groups: &Groups,
        config: Config,
        announced: &Announced,
    ) -> anyhow::Result<Kept> {
        self.learn_secrets();
        let tasks = &groups.rooms;
        let facts = Facts {
            version: VERSION.to_owned(),
            started_at: self.started_at,
            home: self.world.home.root().display().to_string(),
            listeners: Arc::clone(&announced.listeners),
            notes: Arc::clone(&announced.notes),
        };
        bus.serve(hob_daemon::session::room(&self.store))?;
        let settings = config.watch();
        bus.serve(hob_daemon::config::room(config))?;
        let emitter = bus.emitter("daemon");
        bus.serve(hob_daemon::daemon::room(facts, self.store.clone(), emitter))?;
        bus.serve(hob_daemon::log::room())?;
        bus.serve(hob_daemon::desktop::room(hob_daemon::desktop::Parts {
            store: self.store.clone(),
            env: self.world.env.clone(),
            mask: self.log.mask().clone(),
        }))?;
        let commands = self.commands(tasks, settings.clone());
        self.serve_tools(bus, settings.clone(), commands.clone())?;
        let terminals = self.serve_terminals(bus, tasks, settings.clone())?;
        let uses = Uses::default();
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
        tasks.spawn_until_stop("spare memory", crate::spare_memory::give_back());
        Ok(Kept {
            services,
            terminals,
            access,
        })
    }

    /// Tells the mask the secrets in hob's home before any room is served: runs of a former daemon
    /// go on at once, and the gateway, which reads the owner's token, opens last.
    fn learn_secrets(&self) {
        let home = &self.world.home;
        for file in [home.owner_token(), home.hooks_key()] {
            // A file that is not there yet is learnt by whoever makes it.
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
        commands: Commands,
    ) -> anyhow::Result<()> {
        bus.serve(hob_daemon::permission::room(
            hob_daemon::permission::Parts {
                bus: bus.clone(),
                store: self.store.clone(),
                clock: self.world.clock.clone(),
                dice: self.world.dice.clone(),
                settings: settings.clone(),
                mask: self.log.mask().clone(),
            },
        ))?;
        bus.serve(hob_daemon::audit::room(&self.store))?;
        bus.serve(hob_daemon::tool::room(hob_daemon::tool::Parts {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: self.world.clock.clone(),
            commands: Some(commands),
            settings,
            home: self.world.home.clone(),
            web: Web::new(self.world.clock.clone()),
            mask: self.log.mask().clone(),
        }))?;
        Ok(())
    }

    /// Serves the terminals, and finds those of a former daemon again.
    fn serve_terminals(
        &self,
        bus: &Bus,
        tasks: &Tasks,
        settings: watch::Receiver<Arc<Settings>>,
    ) -> anyhow::Result<Terminals> {
        let world = &self.world;
        let terminals = Terminals::new(hob_daemon::terminal::Parts {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: world.clock.clone(),
            dice: world.dice.clone(),
            env: world.env.clone(),
            home: world.home.clone(),
            settings,
            mask: self.log.mask().clone(),
            spawner: self.spawner(tasks),
            recorder: hob_exec::tmux::recording::own()?,
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
        tasks: &Tasks,
        settings: watch::Receiver<Arc<Settings>>,
        commands: Commands,
    ) -> anyhow::Result<()> {
        let (home, clock) = (&self.world.home, &self.world.clock);
        hob_daemon::cron::serve(hob_daemon::cron::Parts {
            bus: bus.clone(),
            store: self.store.clone(),
            clock: clock.clone(),
            dice: self.world.dice.clone(),
            home: home.clone(),
            settings,
            mask: self.log.mask().clone(),
            errands: self.errands(commands),
            tasks: tasks.clone(),
        })?;
        Ok(())
    }

    fn errands(&self, commands: Commands) -> Errands {
        let (home, clock) = (&self.world.home, self.world.clock.clone());
        Errands::new(commands, home, clock).with_mask(self.log.mask().clone())
    }

    fn commands(&self, tasks: &Tasks, settings: watch::Receiver<Arc<Settings>>) -> Commands {
        let home = self.world.env.os("HOME").map(PathBuf::from);
        let web = Web::new(self.world.clock.clone());
        Commands::new(self.spawner(tasks), settings, home.as_deref()).with_web(web)
    }

    /// How programs are run: by this very program as their shim. What the machine can enforce is
    /// found out by the first of them.
    fn spawner(&self, tasks: &Tasks) -> Spawner {
        Spawner::new(SpawnerParts {
            shim: hob_exec::spawner::own_shim(),
            env: self.world.env.clone(),
            tasks: tasks.clone(),
            facts: None,
        })
    }

    /// The local services. A call under way keeps its service from being idle.
    fn services(
        &self,
        bus: &Bus,
        (tasks, spawner): (&Tasks, Spawner),
        settings: watch::Receiver<Arc<Settings>>,
        uses: Uses,
    ) -> anyhow::Result<Services> {
        let (clock, dice) = (self.world.clock.clone(), self.world.dice.clone());
        Ok(Services::new(hob_daemon::service::Parts {
            bus: bus.clone(),
            store: self.store.clone(),
            http: Http::new(NetParts::new(clock.clone()))?,
            clock,
            dice,
            env: self.world.env.clone(),
            home: self.world.home.clone(),
            settings,
            mask: self.log.mask().clone(),
            spawner,
            tasks: tasks.clone(),
            busy: Arc::new(move |service| uses.busy(service)),
        }))
    }

    /// Serves the models, the agent that asks them, and what that costs: late, because runs of a
    /// former daemon begin at once and call the other rooms.
    fn serve_agent(
        &self,
        bus: &Bus,
        tasks: &Tasks,
        settings: watch::Receiver<Arc<Settings>>,
        (uses, served): (Uses, watch::Receiver<Arc<Vec<Served>>>),
    ) -> anyhow::Result<Library> {
        let (clock, dice) = (self.world.clock.clone(), self.world.dice.clone());
        let store = self.store.clone();
        let keys = EnvKeys::new(self.world.env.clone(), self.log.mask().clone());
        let door = Arc::new(Door::new(bus, uses));
        let library = Library {
            settings,
            http: Http::new(NetParts::new(clock.clone()))?,
            keys: Arc::new(keys),
            services: door.clone(),
            served,
        };
        // Making a book asks for every provider's key, so the mask knows them from the start.
        drop(library.book());
        bus.serve(hob_daemon::model::room(hob_daemon::model::Parts {
            bus: bus.clone(),
            store: store.clone(),
            clock: clock.clone(),
            dice: dice.clone(),
            library: library.clone(),
        }))?;
        bus.serve(hob_daemon::cost::room(store.clone(), clock.clone()))?;
        bus.serve(hob_daemon::speech::room(hob_daemon::speech::Parts {
            bus: bus.clone(),
            http: library.http.clone(),
            services: door,
        }))?;
        hob_daemon::agent::serve(hob_daemon::agent::Parts {
            store,
            bus: bus.clone(),
            tasks: tasks.clone(),
            library: library.clone(),
            home: self.world.home.clone(),
            mask: self.log.mask().clone(),
            clock,
            dice,
        })?;
        Ok(library)
    }

    /// Serves what works while nobody is there. After the agent, which it asks at once where a
    /// former daemon left something running.
    fn serve_loops(
        &self,
        bus: &Bus,
        tasks: &Tasks,
        library: Library,
        commands: Commands,
    ) -> anyhow::Result<()> {
        let clock = self.world.clock.clone();
        let errands = self.errands(commands);
        hob_daemon::loops::serve(hob_daemon::loops::Parts {
            bus: bus.clone(),
            store: self.store.clone(),
            clock,
            dice: self.world.dice.clone(),
            tasks: tasks.clone(),
            library,
            errands,
            mask: self.log.mask().clone(),
        })?;
        Ok(())
    }
}
