//! The bus from outside: frames in, frames out.

#[cfg(test)]
mod chain;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod odd_log;
#[cfg(test)]
mod past;
#[cfg(test)]
mod registration;
#[cfg(test)]
mod rooms;
#[cfg(test)]
mod routing;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod stateful_rooms;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod storm;
