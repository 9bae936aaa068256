//! Code outside tests does not panic: no `.unwrap()`; `.expect(…)`, `panic!` and similar macros only
//! below an attribute that names the lint and gives a reason.

use super::TidyFinding;
use crate::source::{RustSource, line, marks_test, mentions};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Macro};

/// Macros that panic, each with the lint whose `#[expect]` permits it.
const MACROS: &[(&str, &str)] = &[
    ("panic", "panic"),
    ("unimplemented", "unimplemented"),
    ("unreachable", "unreachable"),
    ("todo", "todo"),
    ("dbg", "dbg_macro"),
];

pub(super) fn check(source: &RustSource) -> Vec<TidyFinding> {
    let mut panics = PanicCollector {
        path: &source.path,
        permitted: Vec::new(),
        in_test: source.is_test(),
        findings: Vec::new(),
    };
    panics.within(&source.syntax.attrs, |panics| {
        syn::visit::visit_file(panics, &source.syntax);
    });
    panics.findings
}

struct PanicCollector<'a> {
    path: &'a str,
    /// Lints that the enclosing items expect, with their reasons.
    permitted: Vec<String>,
    in_test: bool,
    findings: Vec<TidyFinding>,
}

impl PanicCollector<'_> {
    /// Visits the item below these attributes.
    fn within(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let outer = (self.permitted.len(), self.in_test);
        self.in_test |= marks_test(attributes);
        for attribute in attributes {
            self.attribute(attribute);
        }
        visit(self);
        self.permitted.truncate(outer.0);
        self.in_test = outer.1;
    }

    fn attribute(&mut self, attribute: &Attribute) {
        if !attribute.path().is_ident("expect") && !attribute.path().is_ident("allow") {
            return;
        }
        if mentions(attribute, "reason") {
            if let syn::Meta::List(list) = &attribute.meta {
                self.permitted.push(list.tokens.to_string());
            }
        } else if !self.in_test {
            self.find(
                line(attribute),
                "a lint is silenced without a reason".to_owned(),
                "Add `reason = \"…\"`, or mend what the lint found.",
            );
        }
    }

    fn is_permitted(&self, lint: &str) -> bool {
        self.permitted.iter().any(|texts| {
            texts
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == lint)
        })
    }

    fn method(&mut self, name: &str, line: usize) {
        if self.in_test {
            return;
        }
        if name == "unwrap" {
            self.find(
                line,
                "`.unwrap()` outside tests".to_owned(),
                "Return the error, or state the invariant with a reasoned `.expect(…)`.",
            );
        }
        if name == "expect" && !self.is_permitted("expect_used") {
            self.find(
                line,
                "`.expect(…)` outside tests without a stated invariant".to_owned(),
                "Return the error, or put `#[expect(clippy::expect_used, reason = \"…\")]` above.",
            );
        }
    }

    fn macro_named(&mut self, name: &str, line: usize) {
        let Some((_, permit)) = MACROS.iter().find(|(known, _)| *known == name) else {
            return;
        };
        if !self.in_test && !self.is_permitted(permit) {
            self.find(
                line,
                format!("`{name}!` outside tests"),
                "Return an error, or put a reasoned `#[expect(clippy::…)]` above.",
            );
        }
    }

    /// Macro arguments are tokens without syntax, so `.unwrap(` and `panic!` are found by spelling.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let before = index.checked_sub(1).and_then(|index| tokens.get(index));
                    if is_punct(before, '.') && is_call(tokens.get(index + 1)) {
                        self.method(&ident.to_string(), line);
                    }
                    if is_punct(tokens.get(index + 1), '!') {
                        self.macro_named(&ident.to_string(), line);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn find(&mut self, line: usize, what: String, remedy: &'static str) {
        self.findings
            .push(TidyFinding::new(self.path, line, what, remedy));
    }
}

impl<'ast> Visit<'ast> for PanicCollector<'_> {
    fn visit_item(&mut self, node: &'ast syn::Item) {
        self.within(item_attributes(node), |panics| {
            syn::visit::visit_item(panics, node);
        });
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.within(&node.attrs, |panics| {
            syn::visit::visit_impl_item_fn(panics, node);
        });
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        self.within(&node.attrs, |panics| {
            syn::visit::visit_trait_item_fn(panics, node);
        });
    }

    fn visit_local(&mut self, node: &'ast syn::Local) {
        self.within(&node.attrs, |panics| syn::visit::visit_local(panics, node));
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        self.within(&node.attrs, |panics| {
            panics.method(&node.method.to_string(), line(&node.method));
            syn::visit::visit_expr_method_call(panics, node);
        });
    }

    fn visit_expr_block(&mut self, node: &'ast syn::ExprBlock) {
        self.within(&node.attrs, |panics| {
            syn::visit::visit_expr_block(panics, node);
        });
    }

    fn visit_macro(&mut self, node: &'ast Macro) {
        if let Some(last) = node.path.segments.last() {
            self.macro_named(&last.ident.to_string(), line(&last.ident));
        }
        self.tokens(node.tokens.clone());
    }
}

fn item_attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_call(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group))
        if group.delimiter() == proc_macro2::Delimiter::Parenthesis)
}

#[cfg(test)]
#[path = "panics_tests.rs"]
mod tests;
