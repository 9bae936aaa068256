//! The clients against a scripted server that speaks the real protocols over real HTTP.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flavours;
#[cfg(test)]
mod house;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod served;
