//! The methods of a handle, grouped by subject in the reference.

use std::collections::BTreeSet;

use super::files;

/// Each block of public methods begins with the heading of its subject, and each subject has one block.
#[test]
fn each_subject_of_a_handle_is_one_block() {
    let folder = std::fs::read_dir(files::root().join("scheduler/src/engine")).expect("a folder");
    let paths = folder.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    let mut subjects = BTreeSet::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("\nimpl Handle {\n") {
            let (block, behind) = behind.split_once("\n}\n").expect("the end of the block");
            if block.contains("    pub fn ") {
                let docs = before.lines().rev().take_while(|line| line.starts_with("///"));
                let heading = docs.last().and_then(|line| line.strip_prefix("/// # "));
                let heading = heading.unwrap_or_else(|| panic!("{}: a block has no heading", path.display()));
                assert!(subjects.insert(heading.to_owned()), "{heading} has two blocks");
            }
            rest = behind;
        }
    }
    assert!(subjects.len() > 8, "{subjects:?}");
}
