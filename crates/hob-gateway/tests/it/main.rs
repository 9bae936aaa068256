//! Integration tests of the gateway through its sockets, with a real bus and a real store.

#[cfg(test)]
mod credentials;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod house;
#[cfg(test)]
mod http;
#[cfg(test)]
mod listening;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod unix;
#[cfg(test)]
mod websocket;

/// The dialects of a house: none.
#[cfg(test)]
fn dialects() -> &'static [hob_gateway::dialect::DialectEntry] {
    &[]
}
