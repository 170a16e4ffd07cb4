//! Masters that die while a slow store saves their history.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::fake::FakeCluster;
use crate::instance::definition::{ConfTree, Definition, SizeBounds};
use crate::persistence::{StoreError, StoredFile};
use apportion::Resources;

/// A store with slow writes.
#[derive(Default)]
struct SlowStore(Mutex<BTreeMap<String, Vec<u8>>>);

impl HistoryStore for SlowStore {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        let file =
            |(name, bytes): (&String, &Vec<u8>)| StoredFile { name: name.clone(), bytes: bytes.len() as u64 };
        Ok(self.0.lock().iter().map(file).collect())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        self.0.lock().get(name).cloned().ok_or_else(|| StoreError::Missing { name: name.to_owned() })
    }

    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        std::thread::sleep(Duration::from_millis(50));
        self.0.lock().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.lock().remove(name);
        Ok(())
    }
}

/// Only the history remembers the hosts, so a master that does not wait for the save knows of none.
#[test]
fn a_new_master_waits_for_the_save_of_the_last_one() -> Result<(), Box<dyn std::error::Error>> {
    let mut cluster = FakeCluster::new();
    cluster.add_node("alpha", Resources::new(&[1_024, 8_000]));
    let tree = ConfTree::default().with("worker", "yarn.role.priority", 1).with(
        "worker",
        "yarn.component.instances",
        1,
    );
    let definition = Definition::of(tree);
    let resolved = definition.resolve(&SizeBounds::default())?;
    let name = "web".parse()?;
    let submission = Submission {
        user: "ann",
        name: &name,
        definition: &definition,
        resolved: &resolved,
        history: Path::new("unused"),
        now_ms: 1_000,
    };
    let files = Files::of(Arc::new(SlowStore::default()))?;
    let mut hosted = Hosted::start(AppId(1), &submission, files, cluster);
    for _ in 0..3 {
        hosted.tick(1_000);
    }
    let hosted = hosted.restart_master(2_000);
    let thawed = hosted.service.thawed().ok_or("there was a history")?;
    assert_eq!(thawed.restored, 1);
    Ok(())
}
