//! The client against a fake daemon that misbehaves on purpose.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod following;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod start;
#[cfg(test)]
mod websocket;
