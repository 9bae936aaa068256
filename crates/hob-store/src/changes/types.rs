//! The types of file changes.

/// The file, link or folder at a path before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviousEntry {
    Nothing,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link {
        target: Vec<u8>,
    },
    Folder {
        mode: u32,
    },
    /// It was at this path and was moved.
    Moved {
        from: String,
    },
}

/// A change that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFileChange {
    pub workspace: String,
    /// The path below the workspace.
    pub path: String,
    pub former: PreviousEntry,
    /// The later state of the path, as an opaque mark of the caller.
    pub becomes: String,
}

/// A recorded change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub id: i64,
    pub call: String,
    pub at: u64,
    pub is_undone: bool,
    pub workspace: String,
    pub path: String,
    pub becomes: String,
}
