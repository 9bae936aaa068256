//! Limits on the length of files and functions. A flat table of independent items may be longer if
//! it is marked with [`MARK`].

use super::TidyFinding;
use crate::source::RustSource;
use syn::spanned::Spanned;
use syn::visit::Visit;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 100;

/// The mark of a long table, in a file's first lines or in a long function.
const MARK: &str = "// tidy: flat table";
/// The mark of a file must be within these lines.
const MARK_LINES_MAX: usize = 40;

pub(super) fn check(source: &RustSource) -> Vec<TidyFinding> {
    let mut sizes = SizeCollector {
        source,
        findings: Vec::new(),
    };
    sizes.file();
    sizes.visit_file(&source.syntax);
    sizes.findings
}

struct SizeCollector<'a> {
    source: &'a RustSource,
    findings: Vec<TidyFinding>,
}

impl SizeCollector<'_> {
    fn file(&mut self) {
        let lines = self.source.text.lines().count();
        if lines > FILE_LINES_MAX && !self.is_marked(1, MARK_LINES_MAX) {
            self.findings.push(TidyFinding::new(
                &self.source.path,
                lines,
                format!("the file has {lines} lines, {FILE_LINES_MAX} is the most"),
                "Split it by topic; a flat table may say `// tidy: flat table` near its top.",
            ));
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let from = signature.span().start().line;
        let to = block.span().end().line;
        let lines = to - from + 1;
        if lines > FUNCTION_LINES_MAX && !self.is_marked(from, to) {
            self.findings.push(TidyFinding::new(
                &self.source.path,
                from,
                format!(
                    "`{}` has {lines} lines, {FUNCTION_LINES_MAX} is the most",
                    signature.ident
                ),
                "Give its steps names of their own; a flat table may say `// tidy: flat table`.",
            ));
        }
    }

    fn is_marked(&self, from: usize, to: usize) -> bool {
        self.source
            .lines(from, to)
            .any(|line| line.trim_start().starts_with(MARK))
    }
}

impl<'ast> Visit<'ast> for SizeCollector<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block);
        syn::visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block);
        syn::visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.function(&node.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, node);
    }
}

#[cfg(test)]
#[path = "sizes_tests.rs"]
mod tests;
