//! Starting the gateway: credentials first, then listeners, so that nothing is reachable before it
//! is guarded.

use crate::book::Book;
use crate::door::Door;
use crate::http::{Desk, Site};
use crate::keeper::Keeper;
use crate::origin::HostList;
use crate::peer_check::PeerCheck;
use crate::shared::Shared;
use crate::{
    address, agentloop, archy, hooks, listener, looprunner, owner, peer_check, settings, tokens,
    unix, vargos,
};
use hob_bus::Bus;
use hob_exec::peer::PeerGuard;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::figures::Figures;
use hob_kit::home::Home;
use hob_kit::lock::HomeLock;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_store::{Store, StoreError};
use hob_wire::WireError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// What a gateway is made of; named, because the daemon joins all of it.
pub struct GatewayParts<'p> {
    pub bus: Bus,
    pub store: Store,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// `--listen`, which beats the setting and counts as chosen.
    pub listen: Option<String>,
    pub home: Home,
    /// Proof that no other daemon of this home lives: its socket may be replaced.
    pub lock: &'p HomeLock,
    pub clock: Clock,
    pub dice: Dice,
    pub tasks: Tasks,
    pub mask: Mask,
    /// What rooms keep of themselves, for `/metrics`.
    pub figures: Figures,
    /// Who may connect to the opt-in listeners, which ask for no token.
    pub peers: PeerGuard,
    /// Without the room `tokens`, so that any name can be registered.
    pub bare: bool,
}

/// Why the gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("{0}")]
    Address(String),
    #[error(
        "{address} cannot be listened on: {source}. Choose another address with --listen or listen.address, or leave it unset and hob finds a free port."
    )]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("The socket '{}' cannot be made: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Owner(#[from] owner::OwnerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] WireError),
}

/// A gateway that runs.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    /// The usual address, if another program had it.
    taken: Option<SocketAddr>,
    /// The opt-in listeners, each by its surface.
    dialects: Vec<(&'static str, SocketAddr)>,
    /// Archy's, or why it is not open.
    archy: Option<String>,
    socket: PathBuf,
    accepting: CancellationToken,
}

impl Gateway {
    /// Binds every listener and starts to accept.
    pub async fn start(parts: GatewayParts<'_>) -> Result<Gateway, GatewayError> {
        let wanted = Wanted::of(&parts)?;
        let book = Arc::new(Book::default());
        let keeper = keeper(&parts, &book);
        let seen = keeper.enter_owner()?;
        // A damaged token is not among them: it opens nothing.
        for row in parts.store.list_tokens().await?.rows {
            book.enter(&row.info, row.secret_hash);
        }
        if !parts.bare {
            parts.bus.serve(tokens::room(token_desk(&parts, &book)))?;
        }

        let tcp = listener::bind(wanted.address, !wanted.chosen).await?;
        let address = tcp.local_addr().map_err(wanted.failed())?;
        let taken = (!wanted.chosen && address != wanted.address).then_some(wanted.address);
        let socket = parts.home.socket();
        let unix_listener = unix::bind(&socket, parts.lock)?;
        let door = |surface| Arc::new(Door::new(surface, Arc::clone(&book), parts.clock.clone()));
        let (tcp_door, unix_door) = (door("ws"), door("unix"));
        let doors = vec![Arc::clone(&tcp_door), Arc::clone(&unix_door)];
        let shared = Arc::new(share(&parts, doors));
        let mut dialects = Vec::new();
        for (dialect, wanted) in wanted.dialects {
            let surface = dialect.surface;
            let check = PeerCheck::new(surface, parts.peers.clone());
            let door = door(surface);
            let address = open_dialect(wanted, &shared, (door, check), dialect).await?;
            dialects.push((surface, address));
            if surface == agentloop::SURFACE {
                let path = settings::agentloop_state_file(&parts.settings.borrow());
                let path = path.unwrap_or_else(|| parts.home.agentloop_file());
                agentloop::announce(address, path, &shared);
            }
        }
        let archy = open_archy(&parts, &shared).await;

        let site = Arc::new(Site::new(Desk {
            shared: Arc::clone(&shared),
            hosts: HostList::of(address),
            door: tcp_door,
        }));
        let tasks = &parts.tasks;
        tasks.spawn(
            "listener",
            listener::accept(tcp, site, Arc::clone(&shared), None),
        );
        let accept = unix::accept(
            unix_listener,
            socket.clone(),
            unix_door,
            Arc::clone(&shared),
        );
        tasks.spawn("unix-listener", accept);
        tasks.spawn_until_stop("token-keeper", keeper.run(seen));
        let apply = apply_settings(parts.bus.clone(), parts.settings.clone());
        tasks.spawn_until_stop("gateway-settings", apply);
        Ok(Gateway {
            address,
            taken,
            dialects,
            archy,
            socket,
            accepting: shared.accepting.clone(),
        })
    }

    /// Where WebSocket and HTTP are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Each listener as `surface address`.
    pub fn listeners(&self) -> Vec<String> {
        let mut listeners = vec![
            format!("ws {}", self.address),
            format!("unix {}", self.socket.display()),
        ];
        let dialects = self.dialects.iter();
        listeners.extend(dialects.map(|(surface, address)| format!("{surface} {address}")));
        let archy = self.archy.iter();
        listeners.extend(archy.map(|archy| format!("{} {archy}", archy::SURFACE)));
        listeners
    }

    /// What a person must know of where it listens.
    pub fn notes(&self) -> Vec<String> {
        let taken = self.taken.iter();
        let note = taken.map(|taken| {
            format!(
                "Another program has port {}, so hob listens on {}. A client that has the usual address stored sends its token to that program: give the client the new address, or free the port and run 'hob restart'.",
                taken.port(),
                self.address
            )
        });
        note.collect()
    }

    /// Accepts no more connections and says so on `/ready`; those that live go on until the bus
    /// is drained.
    pub fn stop_accepting(&self) {
        self.accepting.cancel();
    }
}

/// The addresses asked for.
struct Wanted {
    address: SocketAddr,
    /// By a person, who then wants this port and no other.
    chosen: bool,
    dialects: Vec<(Dialect, SocketAddr)>,
}

/// A dialect that an opt-in listener speaks at its root.
#[derive(Clone, Copy)]
struct Dialect {
    surface: &'static str,
    /// Whose clients they are.
    clients: &'static str,
    site: fn(Desk) -> Site,
}

const VARGOS: Dialect = Dialect {
    surface: vargos::SURFACE,
    clients: "Vargos",
    site: vargos::site,
};
const AGENTLOOP: Dialect = Dialect {
    surface: agentloop::SURFACE,
    clients: "AgentLoop",
    site: agentloop::site,
};
const LOOPRUNNER: Dialect = Dialect {
    surface: looprunner::SURFACE,
    clients: "Loop Runner",
    site: looprunner::site,
};

impl Wanted {
    fn of(parts: &GatewayParts<'_>) -> Result<Wanted, GatewayError> {
        let current = parts.settings.borrow();
        let (text, chosen) = match &parts.listen {
            Some(text) => (text.as_str(), true),
            None => settings::listen_address(&current),
        };
        let read = |text: &str| address::parse(text).map_err(GatewayError::Address);
        let asked = [
            (VARGOS, settings::vargos_address(&current)),
            (AGENTLOOP, settings::agentloop_address(&current)),
            (LOOPRUNNER, settings::looprunner_address(&current)),
        ];
        let asked = asked.into_iter();
        let asked = asked.filter_map(|(dialect, text)| Some((dialect, text?)));
        let dialects = asked.map(|(dialect, text)| Ok((dialect, read(&text)?)));
        Ok(Wanted {
            address: read(text)?,
            chosen,
            dialects: dialects.collect::<Result<_, GatewayError>>()?,
        })
    }

    fn failed(&self) -> impl Fn(io::Error) -> GatewayError {
        let address = self.address;
        move |source| GatewayError::Bind { address, source }
    }
}

fn keeper(parts: &GatewayParts<'_>, book: &Arc<Book>) -> Keeper {
    Keeper {
        bus: parts.bus.clone(),
        book: Arc::clone(book),
        clock: parts.clock.clone(),
        dice: parts.dice.clone(),
        mask: parts.mask.clone(),
        owner_token: parts.home.owner_token(),
    }
}

fn token_desk(parts: &GatewayParts<'_>, book: &Arc<Book>) -> tokens::Desk {
    tokens::Desk {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        book: Arc::clone(book),
        clock: parts.clock.clone(),
        dice: parts.dice.clone(),
    }
}

fn share(parts: &GatewayParts<'_>, doors: Vec<Arc<Door>>) -> Shared {
    let connections_max = settings::connections_max(&parts.settings.borrow());
    Shared {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        home: parts.home.clone(),
        clock: parts.clock.clone(),
        dice: parts.dice.clone(),
        tasks: parts.tasks.clone(),
        settings: parts.settings.clone(),
        accepting: parts.tasks.stop_token().child_token(),
        connections_max,
        connections: Arc::new(Semaphore::new(connections_max)),
        hooks: hooks::HookPlaces::new(),
        doors,
        figures: parts.figures.clone(),
    }
}

async fn open_dialect(
    wanted: SocketAddr,
    shared: &Arc<Shared>,
    (door, check): (Arc<Door>, PeerCheck),
    dialect: Dialect,
) -> Result<SocketAddr, GatewayError> {
    let tcp = listener::bind(wanted, false).await?;
    let failed = |source| GatewayError::Bind {
        address: wanted,
        source,
    };
    let address = tcp.local_addr().map_err(failed)?;
    let site = Arc::new((dialect.site)(Desk {
        shared: Arc::clone(shared),
        hosts: HostList::of(address),
        door,
    }));
    let accept = listener::accept(tcp, site, Arc::clone(shared), Some(check));
    shared.tasks.spawn("dialect-listener", accept);
    peer_check::announce(dialect.clients, address);
    Ok(address)
}

/// Opens Archy's socket, if it is wanted. Its place may be anybody's, `/tmp` for one: what is found
/// there must not keep the house from opening, and is told instead.
async fn open_archy(parts: &GatewayParts<'_>, shared: &Arc<Shared>) -> Option<String> {
    let path = settings::archy_socket(&parts.settings.borrow())?;
    let shown = path.display().to_string();
    let check = PeerCheck::new(archy::SURFACE, parts.peers.clone());
    match archy::open(path, shared, check).await {
        Ok(()) => Some(shown),
        Err(refused) => {
            tracing::warn!("Archy's socket was not opened: {refused}");
            Some(format!("not open: {refused}"))
        }
    }
}

/// Applies the live settings that the bus itself holds.
async fn apply_settings(bus: Bus, mut current: watch::Receiver<Arc<Settings>>) {
    loop {
        let timeout_ms = settings::request_timeout_ms(&current.borrow_and_update());
        bus.limits().set_request_timeout_ms(timeout_ms);
        if current.changed().await.is_err() {
            return;
        }
    }
}

impl std::fmt::Debug for GatewayParts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayParts").finish_non_exhaustive()
    }
}
