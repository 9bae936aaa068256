//! Desktop entries as the specification defines them.

use super::ApplicationEntry;
use std::path::Path;

fn entry(lines: &str) -> Option<ApplicationEntry> {
    let text = format!("# a comment\n[Desktop Entry]\nType=Application\nName=Notes\n{lines}\n");
    ApplicationEntry::read(&text, "notes", Path::new("/a/notes.desktop"), Some("de_DE"))
}

fn argv(exec: &str) -> Result<Vec<String>, String> {
    entry(&format!("Icon=notes-icon\nExec={exec}"))
        .expect("an entry")
        .argv()
}

#[test]
fn what_it_starts_is_a_list_of_arguments() {
    for (exec, expected) in [
        ("notes", vec!["notes"]),
        ("notes %U", vec!["notes"]),
        (
            "notes --new-window %f --x",
            vec!["notes", "--new-window", "--x"],
        ),
        ("notes --file=%f", vec!["notes", "--file="]),
        (
            "notes %i -t %c %k",
            vec![
                "notes",
                "--icon",
                "notes-icon",
                "-t",
                "Notes",
                "/a/notes.desktop",
            ],
        ),
        ("notes 100%%", vec!["notes", "100%"]),
        (
            r#""/opt/my notes/notes" --a"#,
            vec!["/opt/my notes/notes", "--a"],
        ),
        (
            r#"sh -c "echo \\"\\$HOME\\" \\`x\\`""#,
            vec!["sh", "-c", "echo \"$HOME\" `x`"],
        ),
        (r#"notes "" x"#, vec!["notes", "", "x"]),
        (
            "notes ; rm -rf $HOME `x` | y",
            vec!["notes", ";", "rm", "-rf", "$HOME", "`x`", "|", "y"],
        ),
        (r"notes\s--a", vec!["notes", "--a"]),
    ] {
        assert_eq!(
            argv(exec).as_deref(),
            Ok(expected.map_owned().as_slice()),
            "{exec}"
        );
    }
    for broken in ["", "notes %y", "notes %", "\"notes", "%U"] {
        let why = argv(broken).expect_err(broken);
        assert!(
            why.starts_with("The file /a/notes.desktop is broken: "),
            "{why}"
        );
    }
}

trait Owned {
    fn map_owned(self) -> Vec<String>;
}

impl Owned for Vec<&str> {
    fn map_owned(self) -> Vec<String> {
        self.into_iter().map(str::to_owned).collect()
    }
}

#[test]
fn the_file_is_read_by_its_group() {
    let read = entry(
        "Name[de]=Notizen\nName[de_DE]=Notizblock\nName[fr]=Carnet\nGenericName=Text Editor\n\
         Exec=notes\nTerminal=true\nNoDisplay=true\nTryExec=notes\nPath=/srv\n\
         [Desktop Action new]\nName=New\nExec=other",
    )
    .expect("an entry");
    assert_eq!(
        (&*read.name, read.local_name.as_deref()),
        ("Notes", Some("Notizblock"))
    );
    assert_eq!(
        (&*read.exec, read.terminal, read.no_display),
        ("notes", true, true)
    );
    assert_eq!(
        (read.try_exec.as_deref(), read.path.as_deref()),
        (Some("notes"), Some("/srv"))
    );
    let shown = read.to_wire();
    assert_eq!(
        (&*shown.name, shown.generic_name.as_deref()),
        ("Notizblock", Some("Text Editor"))
    );
    assert_eq!(entry("Type=Link\nExec=x"), None);
    assert_eq!(entry("Name=\nExec=x"), None);
    assert!(
        entry("Type=Link\nHidden=true")
            .expect("it hides others")
            .hidden
    );
    assert_eq!(
        ApplicationEntry::read("Exec=x\n", "x", Path::new("/x"), None),
        None
    );
}

#[test]
fn the_line_a_person_sees_is_quoted() {
    let shown = entry(r#"Exec="/opt/it's here/x" "" --a=b %U"#)
        .expect("an entry")
        .to_wire();
    assert_eq!(shown.exec, r"'/opt/it'\''s here/x' '' --a=b");
}
