//! The desktop room on a real bus, with applications that leave a trace.

use crate::fixture::Fixture;
use hob_daemon::RoomContext;
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::audit::{AuditListParams as AuditParams, List as AuditList};
use hob_wire::rooms::desktop::{
    DesktopFindParams, DesktopLaunchParams, DesktopProgramParams, DesktopSystemParams, DisplayEnv,
    Find, Launch, Program, System,
};
use hob_wire::{ErrorCode, WireError};
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

fn put(folder: &Path, id: &str, lines: &str) {
    let folder = folder.join("share/applications");
    std::fs::create_dir_all(&folder).expect("made");
    let text = format!("[Desktop Entry]\nType=Application\n{lines}\n");
    std::fs::write(folder.join(format!("{id}.desktop")), text).expect("written");
}

fn serve(house: &Fixture, folder: &Path) {
    let env = EnvVars::from_pairs([
        ("HOME", folder.as_os_str().to_owned()),
        ("XDG_DATA_DIRS", folder.join("share").into_os_string()),
        ("PATH", "/usr/bin:/bin".into()),
    ]);
    let context = RoomContext {
        env,
        ..house.context.clone()
    };
    hob_daemon::desktop::serve(&context).expect("is served");
    hob_daemon::audit::serve(&context).expect("is served");
}

async fn launch(house: &Fixture, entry: &str) -> Result<String, WireError> {
    let display = DisplayEnv {
        x11: Some(":7".to_owned()),
        ..DisplayEnv::default()
    };
    let params = DesktopLaunchParams {
        entry: entry.to_owned(),
        display: Some(display),
    };
    let launched = house.caller().call::<Launch>(&params).await?;
    Ok(launched.entry.exec)
}

async fn written(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with("end\n") => return text,
            _ => assert!(
                begun.elapsed() < PATIENCE,
                "{} is not written",
                path.display()
            ),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_application_is_started_as_it_says_on_the_askers_display_and_on_record() {
    let (house, folder) = (Fixture::new(), tempfile::tempdir().expect("a folder"));
    serve(&house, folder.path());
    let trace = folder.path().join("trace");
    let program = folder.path().join("my notes");
    let script = "#!/bin/sh\nprintf '%s\\n' \"$DISPLAY\" \"$PWD\" \"$@\" end > trace\n";
    std::fs::write(&program, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("set");
    let exec = format!(
        "Exec=\"{}\" \"two words; \\\\$HOME\" 100%% %U",
        program.display()
    );
    put(folder.path(), "notes", &format!("Name=Notes\n{exec}"));

    let found = house
        .caller()
        .call::<Find>(&DesktopFindParams {
            name: "notes".to_owned(),
        })
        .await;
    assert_eq!(
        found.expect("answers").entry.expect("it is there").id,
        "notes"
    );
    launch(&house, "notes").await.expect("starts");
    let seen = written(&trace).await;
    let place = folder.path().canonicalize().expect("a path");
    assert_eq!(
        seen,
        format!(":7\n{}\ntwo words; $HOME\n100%\nend\n", place.display())
    );

    let audit = house
        .caller()
        .call::<AuditList>(&AuditParams::default())
        .await
        .expect("answers");
    let [entry] = audit.entries.as_slice() else {
        panic!("{audit:?}")
    };
    assert_eq!(
        (&*entry.act, entry.tool.as_deref()),
        ("own-act", Some("desktop.launch"))
    );
    assert_eq!(entry.matter["argv"][1], "two words; $HOME");
    house.close().await;
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused_in_a_sentence() {
    let (house, folder) = (Fixture::new(), tempfile::tempdir().expect("a folder"));
    serve(&house, folder.path());
    put(
        folder.path(),
        "top",
        "Name=Top\nExec=top -d 5\nTerminal=true",
    );
    put(
        folder.path(),
        "gone",
        "Name=Gone\nExec=no-such-program-at-all",
    );
    put(folder.path(), "broken", "Name=Broken\nExec=\"sh");
    put(folder.path(), "sound", "Name=Sound\nExec=true");
    for (entry, code, part) in [
        (
            "nothing",
            ErrorCode::NotFound,
            "There is no application 'nothing'",
        ),
        (
            "/etc/passwd",
            ErrorCode::NotFound,
            "There is no application",
        ),
        (
            "top",
            ErrorCode::ServiceUnavailable,
            "hob terminal run \"top -d 5\"",
        ),
        (
            "gone",
            ErrorCode::ServiceUnavailable,
            "there is no program 'no-such-program-at-all'",
        ),
        ("broken", ErrorCode::Conflict, "a quote is not closed"),
        ("", ErrorCode::InvalidParams, "1 to 4096 bytes"),
    ] {
        let error = launch(&house, entry).await.expect_err(entry);
        assert_eq!(error.code, code, "{entry}: {error}");
        assert!(error.message.contains(part), "{entry}: {error}");
    }
    let dark = DesktopLaunchParams {
        entry: "sound".to_owned(),
        display: None,
    };
    let error = house
        .caller()
        .call::<Launch>(&dark)
        .await
        .expect_err("no display");
    assert!(
        error.message.contains("There is no display here"),
        "{error}"
    );
    let audit = house
        .caller()
        .call::<AuditList>(&AuditParams::default())
        .await
        .expect("answers");
    assert_eq!(audit.entries.len(), 0, "nothing was started");
    let file = folder.path().join("share/applications/sound.desktop");
    launch(&house, &file.display().to_string())
        .await
        .expect("starts by its file");
    house.close().await;
}

#[tokio::test]
async fn the_machine_and_its_programs() {
    let (house, folder) = (Fixture::new(), tempfile::tempdir().expect("a folder"));
    serve(&house, folder.path());
    let caller = house.caller();
    let system = caller
        .call::<System>(&DesktopSystemParams {})
        .await
        .expect("answers");
    assert!(
        system.memory_bytes > 0 && system.display.is_none(),
        "{system:?}"
    );
    for (program, found) in [
        ("sh", true),
        ("/bin/sh", true),
        ("no-such-program", false),
        ("bin/sh", false),
    ] {
        let params = DesktopProgramParams {
            program: program.to_owned(),
        };
        let answer = caller.call::<Program>(&params).await.expect("answers");
        assert_eq!(
            (answer.found, answer.path.is_some()),
            (found, found),
            "{program}"
        );
    }
    house.close().await;
}
