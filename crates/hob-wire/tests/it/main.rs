//! Tests of the wire as a whole: the catalog follows its rules, and the generated pages under
//! `docs/` match the code.

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
