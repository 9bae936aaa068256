//! `hob-core` is pure: no I/O, no clock, no hash maps or floats in its state, and no wire types
//! beyond ids and content. So its state can be stored, hashed and replayed.

use super::TidyFinding;
use crate::source::{RustSource, line, marks_test};
use crate::workspace::Workspace;
use syn::UseTree;
use syn::visit::Visit;

const PURE: &str = "hob-core";

/// Crates that perform side effects.
const ACTING: &[&str] = &["hob-kit", "rustix", "tokio", "tokio-util", "tracing"];

/// Paths that a pure machine must not use, and why.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "waits"),
    ("std::fs", "touches files"),
    ("std::net", "opens sockets"),
    ("std::process", "starts processes"),
    ("std::thread", "starts threads"),
    ("std::env", "reads the environment"),
    ("std::io", "does I/O"),
    ("hob_wire::catalog", "belongs to the surfaces"),
    ("hob_wire::error", "belongs to the surfaces"),
    ("hob_wire::event", "belongs to the surfaces"),
    ("hob_wire::frame", "belongs to the surfaces"),
    ("hob_wire::method", "belongs to the surfaces"),
    ("hob_wire::rooms", "belongs to the surfaces"),
];

/// Names that are impure whatever their path.
const IMPURE_NAMES: &[(&str, &str)] = &[
    ("Instant", "is a clock"),
    ("SystemTime", "is a clock"),
    ("HashMap", "has no order that can be replayed"),
    ("HashSet", "has no order that can be replayed"),
    ("f32", "has no exact arithmetic"),
    ("f64", "has no exact arithmetic"),
    ("WireError", "belongs to the surfaces"),
    ("ErrorCode", "belongs to the surfaces"),
];

pub(super) fn check(source: &RustSource) -> Vec<TidyFinding> {
    if !source.is_in_crate(PURE) || source.is_test() {
        return Vec::new();
    }
    let mut purity = ImpurityCollector {
        path: &source.path,
        findings: Vec::new(),
    };
    purity.visit_file(&source.syntax);
    purity.findings
}

pub(super) fn check_dependencies(workspace: &Workspace) -> Vec<TidyFinding> {
    let Some(member) = workspace.member(PURE) else {
        return Vec::new();
    };
    let acting = member
        .dependencies
        .iter()
        .filter(|found| !found.dev && ACTING.contains(&found.name.as_str()));
    acting
        .map(|found| {
            TidyFinding::new(
                &member.manifest,
                member.line_of(&found.name),
                format!("`{PURE}` depends on `{}`, which acts", found.name),
                "Decide here, act in a driver on a higher layer.",
            )
        })
        .collect()
}

struct ImpurityCollector<'a> {
    path: &'a str,
    findings: Vec<TidyFinding>,
}

impl ImpurityCollector<'_> {
    fn used(&mut self, path: &[String], line: usize) {
        let whole = path.join("::");
        let by_path = IMPURE.iter().find(|(prefix, _)| {
            whole
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        });
        let by_name = IMPURE_NAMES
            .iter()
            .find(|(name, _)| path.iter().any(|part| part == name));
        if let Some((name, why)) = by_path.or(by_name) {
            self.findings.push(TidyFinding::new(
                self.path,
                line,
                format!("`{name}` {why}, and {PURE} is pure"),
                "Take it in as an event or a number; act in a driver on a higher layer.",
            ));
        }
    }

    fn used_by_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(name.to_string());
            path
        };
        match tree {
            UseTree::Path(path) => self.used_by_tree(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.used(&with(&name.ident), line(name)),
            UseTree::Rename(rename) => self.used(&with(&rename.ident), line(rename)),
            UseTree::Glob(glob) => self.used(before, line(glob)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.used_by_tree(tree, before);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for ImpurityCollector<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !marks_test(&node.attrs) {
            syn::visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        self.used_by_tree(&node.tree, &[]);
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        let names = node.segments.iter().map(|part| part.ident.to_string());
        self.used(&names.collect::<Vec<_>>(), line(node));
        syn::visit::visit_path(self, node);
    }
}

#[cfg(test)]
#[path = "purity_tests.rs"]
mod tests;
