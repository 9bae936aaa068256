//! The words of hob, tested as a whole: the catalog keeps its own rules, and the pages under
//! `docs/` that describe the wire are what the code says.

#[cfg(test)]
mod catalog;
#[cfg(test)]
mod dictionary;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod page;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod typescript;
