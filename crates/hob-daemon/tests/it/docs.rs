//! The page under `docs/` about the tools of the house.

#[path = "../../../hob-wire/tests/it/page.rs"]
mod page;

#[test]
fn the_tools_page_is_what_the_tools_declare() {
    page::keep("tools.md", &hob_tools::manual::text());
}
