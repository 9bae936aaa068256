//! Names of files, folders, modules and types contain no empty words (`util`, `manager`) and no
//! words about history (`new`, `v2`).

use super::TidyFinding;
use crate::source::{RustSource, line};
use syn::Ident;
use syn::visit::Visit;

/// Words that no name may contain.
const REFUSED: &[&str] = &[
    "util", "utils", "helper", "helpers", "manager", "managers", "misc", "v2",
];

pub(super) fn check(source: &RustSource) -> Vec<TidyFinding> {
    let mut names = NameCollector {
        path: &source.path,
        findings: Vec::new(),
    };
    for part in source.path.split('/') {
        names.file_or_module(part.strip_suffix(".rs").unwrap_or(part), 1);
    }
    names.visit_file(&source.syntax);
    names.findings
}

struct NameCollector<'a> {
    path: &'a str,
    findings: Vec<TidyFinding>,
}

impl NameCollector<'_> {
    fn file_or_module(&mut self, name: &str, line: usize) {
        let mut words = name.split(['_', '-']);
        if name.starts_with("new_") || words.any(|word| REFUSED.contains(&word)) {
            self.find(name, line);
        }
    }

    fn type_name(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if camel_words(&name).any(|word| REFUSED.contains(&word.as_str())) {
            self.find(&name, line(ident));
        }
    }

    fn find(&mut self, name: &str, line: usize) {
        self.findings.push(TidyFinding::new(
            self.path,
            line,
            format!("`{name}` does not say what it is"),
            "Name it after what it does.",
        ));
    }
}

impl<'ast> Visit<'ast> for NameCollector<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.file_or_module(&node.ident.to_string(), line(&node.ident));
        syn::visit::visit_item_mod(self, node);
    }

    fn visit_item_struct(&mut self, node: &'ast syn::ItemStruct) {
        self.type_name(&node.ident);
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.type_name(&node.ident);
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        self.type_name(&node.ident);
        syn::visit::visit_item_trait(self, node);
    }
}

/// `SocketManager` is `socket`, `manager`.
fn camel_words(name: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_lowercase().to_string()),
        }
    }
    words.into_iter()
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
