//! A foreign product is named only in its dialect: no crate but `hob-dialects` names one. The tests
//! of the binary and the benchmarks use the dialects, so they may. The products are the folders of
//! the dialects.

use super::TidyFinding;
use crate::source::ProjectFile;
use crate::workspace::Workspace;
use std::collections::BTreeSet;

/// The parent of the dialects' folders.
const DIALECTS: &str = "crates/hob-dialects/src/";

/// Pages for everybody, which name no product: its own page does.
const PAGES: &[&str] = &["README.md", "docs/getting-started.md", "docs/tour.md"];
/// Folders that may name a product.
const EXEMPT: &[&str] = &[
    "crates/hob-dialects/",
    // Keymap presets are named after the programs whose users know these keys.
    "crates/hob-tui/src/presets/",
    "crates/hob-bench/",
    "crates/hob/tests/",
];

pub(super) fn check(_: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    let products: BTreeSet<&str> = pages.iter().filter_map(product_of_dialect).collect();
    let is_checked = |page: &&ProjectFile| {
        let is_page = PAGES.contains(&page.path.as_str());
        let is_code = page.path.starts_with("crates/") || is_page;
        is_code && !EXEMPT.iter().any(|it| page.path.starts_with(it))
    };
    let mut findings = Vec::new();
    for page in pages.iter().filter(is_checked) {
        let named = named_product(&page.path, &products);
        findings.extend(named.map(|name| finding(&page.path, 1, name)));
        for (index, line) in page.text.lines().enumerate() {
            let named = named_product(line, &products);
            findings.extend(named.map(|name| finding(&page.path, index + 1, name)));
        }
    }
    findings
}

/// The product in whose folder a file is.
fn product_of_dialect(page: &ProjectFile) -> Option<&str> {
    let (product, _) = page.path.strip_prefix(DIALECTS)?.split_once('/')?;
    Some(product)
}

/// The product that a text names, in any spelling.
fn named_product<'p>(text: &str, products: &BTreeSet<&'p str>) -> Option<&'p str> {
    let letters = text.to_lowercase().replace([' ', '_', '-'], "");
    // An ordinary word that holds a product's name.
    let letters = letters.replace("hierarchy", "");
    let mut products = products.iter().copied();
    products.find(|name| letters.contains(name))
}

fn finding(path: &str, line: usize, name: &str) -> TidyFinding {
    TidyFinding::new(
        path,
        line,
        format!("the foreign product `{name}` is named outside its dialect"),
        "Move it to its folder in hob-dialects, or say what it is without the name.",
    )
}

#[cfg(test)]
#[path = "foreign_products_tests.rs"]
mod tests;
