//! The server seen from outside, by a reader that shares no code with it: raw TCP, HTTP and
//! events taken apart by hand.

#[cfg(test)]
mod days;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flavours;
#[cfg(test)]
mod life;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod reader;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod refusals_beyond_openai;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod understood;
#[cfg(test)]
mod wire;
