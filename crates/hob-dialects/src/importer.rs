//! The importers: each reads what another system stored and says what it would bring to hob. They
//! change nothing; `hob import` shows the plan and carries it out.

use crate::import_builder::PlanBuilder;
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;

/// Reads one other system.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// Its name on the command line.
    pub name: &'static str,
    /// The system's name, for people.
    pub system: &'static str,
    /// Where the system keeps its data, in the order in which it is looked for.
    pub places: &'static [SourcePlace],
    /// What a person does if it is in none of them; completes the sentence "It was not found: …".
    pub advice: &'static str,
    pub(crate) read: fn(&SourceFolder, &mut PlanBuilder),
}

/// A place where a system keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePlace {
    /// The folder that this variable of the environment names.
    Variable(&'static str),
    /// A folder below the person's home.
    Home(&'static str),
    /// A folder below the working folder.
    WorkingFolder(&'static str),
}

impl Importer {
    pub(crate) const fn new(
        name: &'static str,
        system: &'static str,
        read: fn(&SourceFolder, &mut PlanBuilder),
    ) -> Importer {
        Importer {
            name,
            system,
            places: &[],
            advice: "name its folder",
            read,
        }
    }

    /// Reads the folder of the system. Blocks.
    pub fn read(&self, folder: &SourceFolder) -> ImportPlan {
        let shown = folder.path().display().to_string();
        let mut builder = PlanBuilder::new(self.name, self.system, shown);
        (self.read)(folder, &mut builder);
        builder.build()
    }
}

/// All importers.
pub fn importers() -> &'static [Importer] {
    &[
        crate::vargos::IMPORTER,
        crate::pryx::IMPORTER,
        crate::looprunner::IMPORTER,
        crate::agentloop::IMPORTER,
        crate::archy::IMPORTER,
    ]
}
