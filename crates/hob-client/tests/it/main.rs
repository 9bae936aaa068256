//! The client against a daemon of the test's own, which misbehaves on purpose.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod start;
#[cfg(test)]
mod websocket;
