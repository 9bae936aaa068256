//! Man pages of the whole tree.

use super::*;

#[test]
fn every_visible_command_has_a_page_that_troff_reads_as_text() {
    let pages = pages();
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["hob", "hob-ask", "hob-session", "hob-autostart"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"hob-package-files"), "hidden: {names:?}");
    for (name, page) in &pages {
        assert!(page.starts_with(".TH \"HOB"), "{name}");
        // Only our own requests begin with a dot.
        let mut odd = page.lines().filter(|line| line.starts_with(['.', '\'']));
        let known = [".TH ", ".SH ", ".nf", ".fi"];
        let odd = odd.find(|line| !known.iter().any(|known| line.starts_with(known)));
        assert_eq!(odd, None, "{name}");
    }
    let session = &pages
        .iter()
        .find(|(name, _)| name == "hob-session")
        .expect("a page")
        .1;
    assert!(session.contains(".SH \"HOB SESSION HISTORY\""), "{session}");
    assert_eq!(escaped(".a \\n-x"), "\\&.a \\en\\-x");
}
