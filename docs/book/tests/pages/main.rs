//! Checks of the pages: links resolve, configurations are valid, commands exist, no chapter is left out.

mod blocks;
mod chapters;
mod commands;
mod configurations;
mod links;
mod page;
#[path = "../../examples/manager.rs"]
mod program;

/// The last page of the part about embedding shows this program.
#[test]
fn the_whole_program_ends_well() {
    program::main().expect("the job ends, and the next start knows the nodes");
}
