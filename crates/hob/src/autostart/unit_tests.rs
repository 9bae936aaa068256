//! Units and entries, and the program they name.

use super::*;

#[test]
fn the_unit_is_as_it_was_approved() {
    insta::assert_snapshot!(unit(&UnitParts {
        program: "/usr/bin/hob",
        home: None,
        path: None,
    }));
    insta::assert_snapshot!(desktop_entry(&UnitParts {
        program: "/usr/bin/hob",
        home: None,
        path: None,
    }));
}

#[test]
fn odd_paths_survive_the_quoting() {
    for odd in [
        "/opt/my hob/hob",
        "/opt/100%/h\"ob",
        "/opt/$x/hob",
        "/o/`a`/hob",
    ] {
        let parts = UnitParts {
            program: odd,
            home: Some("/home/a b"),
            path: Some("/bin:/usr/bin"),
        };
        assert_eq!(program(&unit(&parts)), Some(PathBuf::from(odd)));
        assert_eq!(program(&desktop_entry(&parts)), Some(PathBuf::from(odd)));
    }
    let text = unit(&UnitParts {
        program: "/usr/bin/hob",
        home: Some("/home/a b/50%"),
        path: None,
    });
    assert!(
        text.contains("Environment=\"HOB_HOME=/home/a b/50%%\""),
        "{text}"
    );
    assert_eq!(program("[Service]\nType=notify\n"), None);
}
