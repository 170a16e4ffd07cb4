//! The file of a store, before the store is opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// A new store has fewer bytes, so a longer file is not a store in the making.
const NEW_BYTES_MAX: u64 = 1 << 20;
/// The bytes in which a new store describes itself. They begin with a name, which is written last.
const HEADER_BYTES: usize = 4096;

/// Opens the file, or makes an empty one whose name is on the disk.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.metadata()?.len() {
        0 => sync_folder(path)?,
        1..=NEW_BYTES_MAX => discard_unborn(&file)?,
        _ => {}
    }
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Empties the file if a crash has interrupted the making of the store, so that it has no data.
fn discard_unborn(file: &File) -> io::Result<()> {
    if file.try_lock().is_err() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let is_unborn = (&mut { file }).read_to_end(&mut bytes).map(|_| {
        let (name, data) = (bytes.get(..8), bytes.get(HEADER_BYTES..));
        [name, data].iter().all(|part| part.is_some_and(|part| part.iter().all(|byte| *byte == 0)))
    });
    let discarded = is_unborn.and_then(|is_unborn| if is_unborn { file.set_len(0) } else { Ok(()) });
    file.unlock().and(discarded)
}
