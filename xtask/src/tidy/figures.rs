//! `cargo xtask tidy --figures`: figures of the code's language and size, to notice drift. They
//! are not a gate: a worse name that improves a figure is no gain.

use super::is_rust;
use crate::source::{ProjectFile, RustSource, marks_test};
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// A doc comment that opens with one of these makes the reader wait for its subject.
const PRONOUNS: &[&str] = &[
    "What", "Who", "Whom", "Whose", "Whether", "How", "These", "Those",
];
/// Longer functions are counted as long.
const LONG_FUNCTION_LINES: usize = 70;

/// Counts over the production code of the project.
#[derive(Debug, Default)]
pub(super) struct CodeFigures {
    lines: usize,
    line_comments: usize,
    doc_comments: usize,
    pronoun_openings: usize,
    functions: usize,
    long_functions: usize,
    /// Lines of each file.
    file_lines: Vec<usize>,
    /// Number of declarations of each type name.
    type_names: BTreeMap<String, usize>,
}

impl CodeFigures {
    pub(super) fn of(pages: &[ProjectFile]) -> CodeFigures {
        let mut figures = CodeFigures::default();
        for page in pages.iter().filter(|page| is_rust(page)) {
            if let Ok(source) = RustSource::parse(&page.path, &page.text)
                && !source.is_test()
            {
                figures.add(&source);
            }
        }
        figures.file_lines.sort_unstable();
        figures
    }

    fn add(&mut self, source: &RustSource) {
        let mut in_doc = false;
        for line in source.text.lines().map(str::trim_start) {
            self.lines += 1;
            let doc = line.strip_prefix("///");
            if let Some(text) = doc.filter(|_| !in_doc) {
                self.doc_comments += 1;
                let first = text.split_whitespace().next().unwrap_or_default();
                self.pronoun_openings += usize::from(PRONOUNS.contains(&first));
            }
            in_doc = doc.is_some();
            let is_comment = line.starts_with("//") && doc.is_none() && !line.starts_with("//!");
            self.line_comments += usize::from(is_comment);
        }
        self.file_lines.push(source.text.lines().count());
        self.visit_file(&source.syntax);
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.span().end().line - signature.span().start().line + 1;
        self.functions += 1;
        self.long_functions += usize::from(lines > LONG_FUNCTION_LINES);
    }

    fn type_name(&mut self, ident: &syn::Ident) {
        *self.type_names.entry(ident.to_string()).or_default() += 1;
    }

    /// The figures, one per line.
    pub(super) fn table(&self) -> String {
        let types: usize = self.type_names.values().sum();
        let shared: usize = self.type_names.values().filter(|count| **count > 1).sum();
        let is_one_word = |(name, _): &(&String, &usize)| words_in(name) == 1;
        let one_word: usize = self
            .type_names
            .iter()
            .filter(is_one_word)
            .map(|(_, count)| count)
            .sum();
        let rows = [
            ("production lines", self.lines.to_string()),
            ("types", types.to_string()),
            ("types that share their name", percent(shared, types)),
            ("one-word type names", percent(one_word, types)),
            (
                "doc comments that open with a pronoun",
                percent(self.pronoun_openings, self.doc_comments),
            ),
            (
                "line comments per 1,000 lines",
                per_thousand(self.line_comments, self.lines),
            ),
            ("file lines, p50/p90/max", self.file_sizes()),
            (
                "functions over 70 lines",
                percent(self.long_functions, self.functions),
            ),
        ];
        let rows = rows.map(|(name, figure)| format!("{name:<40} {figure:>12}"));
        rows.join("\n")
    }

    /// The names that most types share.
    pub(super) fn most_shared(&self, rows: usize) -> String {
        let mut shared: Vec<(&String, &usize)> = self.type_names.iter().collect();
        shared.retain(|(_, count)| **count > 1);
        shared.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shared = shared.iter().take(rows);
        let shared = shared.map(|(name, count)| format!("{name} {count}"));
        shared.collect::<Vec<_>>().join(", ")
    }

    fn file_sizes(&self) -> String {
        let at = |part: usize| {
            let index = self.file_lines.len().saturating_sub(1) * part / 100;
            self.file_lines.get(index).copied().unwrap_or(0)
        };
        format!("{}/{}/{}", at(50), at(90), at(100))
    }
}

impl<'ast> Visit<'ast> for CodeFigures {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !marks_test(&node.attrs) {
            syn::visit::visit_item_mod(self, node);
        }
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

    fn visit_item_type(&mut self, node: &'ast syn::ItemType) {
        self.type_name(&node.ident);
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block);
        syn::visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block);
        syn::visit::visit_impl_item_fn(self, node);
    }
}

/// `TokenCache` has two words.
fn words_in(name: &str) -> usize {
    let mut words = 0;
    let mut after_upper = false;
    for letter in name.chars() {
        // A run of capitals (`JSON`) is one word.
        words += usize::from(letter.is_uppercase() && !after_upper);
        after_upper = letter.is_uppercase();
    }
    words
}

/// A share in percent with one digit, without floats.
fn percent(part: usize, whole: usize) -> String {
    let tenths = (part * 1_000 + whole / 2) / whole.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn per_thousand(part: usize, whole: usize) -> String {
    let tenths = (part * 10_000 + whole / 2) / whole.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
