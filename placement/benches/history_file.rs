//! Writing and reading a history of 10,000 hosts with 20 components each: 200,000 entries, 30 MB.

use std::hint::black_box;
use std::sync::Arc;

use apportion_placement::{
    DirectoryStore, HistoryEntry, HistoryFile, HistoryStore, load_newest, read_history, save_now,
    write_history,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const HOSTS: u32 = 10_000;
const COMPONENTS: u32 = 20;
const SAVED_MS: u64 = 1_450_435_691_617;

fn history() -> HistoryFile {
    let of_host = |host: u32| {
        let name: Arc<str> = format!("node-{host:05}.cluster.example.org").into();
        (0..COMPONENTS).map(move |role| HistoryEntry {
            host: Arc::clone(&name),
            role,
            is_active: (host + role).is_multiple_of(3),
            last_used_ms: SAVED_MS - u64::from(host * role),
        })
    };
    HistoryFile {
        saved_ms: SAVED_MS,
        roles: COMPONENTS,
        mapping: (0..COMPONENTS).map(|role| (format!("component{role}"), role)).collect(),
        entries: (0..HOSTS).flat_map(of_host).collect(),
    }
}

fn history_file(criterion: &mut Criterion) {
    let history = history();
    let mut bytes = Vec::new();
    write_history(&history, &mut bytes).expect("a vector takes it");
    let mut group = criterion.benchmark_group("history_file");
    group.sample_size(20).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("write", |bencher| {
        let mut out = Vec::with_capacity(bytes.len());
        bencher.iter(|| {
            out.clear();
            write_history(black_box(&history), &mut out)
        });
    });
    group.bench_function("read", |bencher| bencher.iter(|| read_history(black_box(&bytes))));
    let folder = tempfile::tempdir().expect("there is room");
    let store = DirectoryStore::new(folder.path());
    group.bench_function("save", |bencher| {
        bencher.iter(|| {
            save_now(&store, black_box(&history)).and_then(|saved| {
                store.delete(&saved.name)?;
                Ok(saved)
            })
        });
    });
    save_now(&store, &history).expect("there is room");
    group.bench_function("load", |bencher| bencher.iter(|| load_newest(black_box(&store))));
    group.finish();
}

criterion_group!(benches, history_file);
criterion_main!(benches);
