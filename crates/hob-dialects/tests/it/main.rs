//! Integration tests of the dialects through their sockets, with a real gateway, bus and store. The
//! fixture is that of the gateway's tests; it needs `hob_exec` and `hob_store`.

#[cfg(test)]
mod agentloop;
#[cfg(test)]
mod archy;
#[cfg(test)]
#[allow(dead_code, reason = "the gateway's tests use the rest of it")]
#[path = "../../../hob-gateway/tests/it/openai/agent.rs"]
mod fake_agent;
#[cfg(test)]
#[allow(dead_code, reason = "the gateway's tests use the rest of it")]
#[path = "../../../hob-gateway/tests/it/house.rs"]
mod house;
#[cfg(test)]
mod looprunner;
#[cfg(test)]
mod vargos;

/// The dialects of a house.
#[cfg(test)]
fn dialects() -> &'static [hob_gateway::dialect::DialectEntry] {
    hob_dialects::all()
}
