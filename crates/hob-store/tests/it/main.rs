//! The store over real files, through its public interface.

#[cfg(test)]
mod audit;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod drafts;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forks;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod log;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
mod writing;
