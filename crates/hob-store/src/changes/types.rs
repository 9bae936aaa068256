//! A change, as callers say it and are told it.

/// What was there before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Former {
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
    /// It was under this path, and was moved.
    Moved {
        from: String,
    },
}

/// A change that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChange {
    pub workspace: String,
    /// Below the workspace.
    pub path: String,
    pub former: Former,
    /// What will be there, as whoever looks at it marks it.
    pub becomes: String,
}

/// A change that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: i64,
    pub call: String,
    pub at: u64,
    pub is_undone: bool,
    pub workspace: String,
    pub path: String,
    pub becomes: String,
}
