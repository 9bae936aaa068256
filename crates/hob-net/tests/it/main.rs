//! The client over real sockets, against servers that misbehave byte by byte.

#[cfg(test)]
mod client;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod server;
#[cfg(test)]
mod site;
#[cfg(test)]
mod web;
