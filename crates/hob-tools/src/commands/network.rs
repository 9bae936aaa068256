//! The network access of a command: the question for a person, and the proxy as its only exit.
//!
//! Invariants: a command with proxy access has a proxy from its start to its end; without a proxy
//! such a command is not started.

use super::CommandRunner;
use crate::workspace_path::ToolRefusal;
use hob_exec::{Child, ExecError, NetworkAccess, SandboxMode, SpawnPlan};
use hob_net::{AllowedHosts, EgressProxy, HOSTS_MAX, PrivateHosts};
use hob_wire::NetworkGrant;
use serde_json::{Value, json};

/// The checked network access that a call asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandNetwork {
    grant: NetworkGrant,
    /// The only hosts it may reach through the proxy; any host if empty.
    hosts: Vec<String>,
}

impl CommandNetwork {
    pub(crate) fn new(
        grant: NetworkGrant,
        hosts: Option<&[String]>,
    ) -> Result<CommandNetwork, ToolRefusal> {
        let hosts = hosts.unwrap_or_default();
        if !hosts.is_empty() {
            if grant != NetworkGrant::Proxy {
                let why = "`hosts` limits `network: true`; give both, or leave `hosts` out.";
                return Err(ToolRefusal(why.to_owned()));
            }
            // Checked now, so that an invalid host is refused before a person is asked.
            AllowedHosts::new(hosts).map_err(ToolRefusal)?;
        }
        Ok(CommandNetwork {
            grant,
            hosts: hosts.to_vec(),
        })
    }

    pub(crate) fn access(&self) -> NetworkAccess {
        access(self.grant)
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The access in words, for the question to a person.
    pub(crate) fn question(&self) -> String {
        match self.grant {
            NetworkGrant::Off => "off".to_owned(),
            NetworkGrant::Host => {
                "ON: this machine's own network; can also reach services on this machine".to_owned()
            }
            NetworkGrant::Proxy if self.hosts.is_empty() => {
                "ON, through hob's proxy: any host on the open internet".to_owned()
            }
            NetworkGrant::Proxy => {
                format!("ON, through hob's proxy: only {}", self.hosts.join(", "))
            }
        }
    }
}

pub(super) fn access(grant: NetworkGrant) -> NetworkAccess {
    match grant {
        NetworkGrant::Off => NetworkAccess::Off,
        NetworkGrant::Proxy => NetworkAccess::Proxy,
        NetworkGrant::Host => NetworkAccess::Host,
    }
}

/// The arguments `network` and `hosts` of a tool.
pub(crate) fn parameters(before: &str) -> (Value, Value) {
    let network = json!({
        "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["host"] }],
        "description": format!("{before}true: the internet, through a proxy; programs that ignore proxy variables (ssh, ping) have no network. \"host\": this machine's own network; only if true cannot do."),
    });
    let hosts = json!({
        "type": "array",
        "items": { "type": "string" },
        "minItems": 1,
        "maxItems": HOSTS_MAX,
        "description": format!("{before}with network true: the only hosts it may reach, such as *.example.org."),
    });
    (network, hosts)
}

/// A started command.
#[derive(Debug)]
pub struct SpawnedCommand {
    pub child: Child,
    /// The report about its network, if it has one.
    pub report: Option<ProxyReport>,
}

/// The network use of a command; cheap to clone.
#[derive(Clone, Debug)]
pub struct ProxyReport {
    /// None if it has this machine's own network.
    proxy: Option<EgressProxy>,
}

impl ProxyReport {
    /// One line for the result.
    pub fn line(&self) -> String {
        let Some(proxy) = &self.proxy else {
            return "network: this machine's own".to_owned();
        };
        let mut line =
            "network: through hob's proxy; programs that ignore proxy settings have no network"
                .to_owned();
        let refused = proxy.refused();
        if !refused.is_empty() {
            let refused: Vec<String> = refused
                .into_iter()
                .map(|(host, why)| format!("{host} ({why})"))
                .collect();
            line.push_str(". Refused hosts: ");
            line.push_str(&refused.join("; "));
        }
        line
    }

    /// The line, only if hosts were refused; for results that no model reads.
    pub fn refusal(&self) -> Option<String> {
        let is_refused = self
            .proxy
            .as_ref()
            .is_some_and(|it| !it.refused().is_empty());
        is_refused.then(|| self.line())
    }

    /// Adds the report to the metadata of a result.
    pub(crate) fn add_to(&self, metadata: &mut Value) {
        let Some(proxy) = &self.proxy else {
            metadata["network"] = json!("host");
            return;
        };
        metadata["network"] = json!("proxy");
        let refused: Vec<String> = proxy.refused().into_iter().map(|(host, _)| host).collect();
        if !refused.is_empty() {
            metadata["refusedHosts"] = json!(refused);
        }
    }
}

impl CommandRunner {
    /// Starts a plan, with a proxy if its policy asks for one. `hosts` are the only hosts it may
    /// reach through the proxy; any host if empty.
    pub async fn spawn(
        &self,
        plan: SpawnPlan,
        hosts: &[String],
    ) -> Result<SpawnedCommand, ExecError> {
        let access = match &plan.sandbox {
            SandboxMode::Policy(policy) => policy.network,
            SandboxMode::Unsandboxed { .. } => NetworkAccess::Off,
        };
        let proxy = match access {
            NetworkAccess::Off => {
                let child = self.spawner.spawn(plan).await?;
                return Ok(SpawnedCommand {
                    child,
                    report: None,
                });
            }
            NetworkAccess::Host => None,
            NetworkAccess::Proxy => Some(self.proxy(hosts)?),
        };
        let child = self.spawner.spawn(plan).await?;
        if let (Some(proxy), Some(listener)) = (proxy.clone(), child.take_listener()) {
            let served = proxy.serve(listener, child.ended());
            self.spawner.tasks().spawn_until_stop("proxy", served);
        }
        let report = Some(ProxyReport { proxy });
        Ok(SpawnedCommand { child, report })
    }

    fn proxy(&self, hosts: &[String]) -> Result<EgressProxy, ExecError> {
        let Some(web) = self.web.clone() else {
            let why = "There is no way to the network here.";
            return Err(ExecError::Policy(why.to_owned()));
        };
        let hosts = match hosts {
            [] => None,
            hosts => Some(AllowedHosts::new(hosts).map_err(ExecError::Policy)?),
        };
        let settings = self.settings.borrow();
        let opened = settings.list("web.private_hosts").iter();
        let private_hosts = PrivateHosts::new(opened.map(String::as_str));
        Ok(EgressProxy::new(web, private_hosts, hosts))
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
