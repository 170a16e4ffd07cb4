//! Reading a configuration of 1,000 queues, in each of the three formats.

use std::fmt::Write;
use std::hint::black_box;

use apportion::ResourceTypes;
use apportion_formats::capacity_scheduler::from_capacity_scheduler_xml;
use apportion_formats::toml::{from_toml, to_toml};
use apportion_formats::yunikorn::from_queues_yaml;
use criterion::{Criterion, criterion_group, criterion_main};

/// Ten parents, each with nine parents of ten leaves: 1,000 queues below the root.
const PARENTS: usize = 10;
const BELOW: usize = 9;
const LEAVES: usize = 10;

fn capacity_scheduler_xml() -> String {
    let mut text = String::from("<configuration>\n");
    let mut property = |key: &str, value: &str| {
        writeln!(
            text,
            "  <property>\n    <name>yarn.scheduler.capacity.{key}</name>\n    <value>{value}</value>\n  </property>"
        )
        .expect("a text takes it");
    };
    let mut level = |path: &str, names: Vec<String>| {
        property(&format!("{path}.queues"), &names.join(","));
        for name in names {
            property(&format!("{path}.{name}.capacity"), "2w");
            property(&format!("{path}.{name}.maximum-capacity"), "80");
            property(&format!("{path}.{name}.state"), "RUNNING");
        }
    };
    level("root", (0..PARENTS).map(|parent| format!("p{parent}")).collect());
    for parent in 0..PARENTS {
        level(&format!("root.p{parent}"), (0..BELOW).map(|below| format!("q{below}")).collect());
        for below in 0..BELOW {
            let path = format!("root.p{parent}.q{below}");
            level(&path, (0..LEAVES).map(|leaf| format!("leaf{leaf}")).collect());
        }
    }
    text + "</configuration>\n"
}

fn queues_yaml() -> String {
    let mut text =
        String::from("partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n");
    let mut queue = |depth: usize, name: String, memory_gib: usize, is_leaf: bool| {
        let indent = " ".repeat(6 + 4 * depth);
        let resources =
            format!("guaranteed: {{memory: {memory_gib}Gi}}\n{indent}    max: {{memory: 4Ti, vcore: 2000}}");
        let end = if is_leaf {
            format!("{indent}  properties:\n{indent}    application.sort.policy: fifo")
        } else {
            format!("{indent}  queues:")
        };
        writeln!(text, "{indent}- name: {name}\n{indent}  resources:\n{indent}    {resources}\n{end}")
            .expect("a text takes it");
    };
    for parent in 0..PARENTS {
        queue(1, format!("p{parent}"), BELOW * LEAVES, false);
        for below in 0..BELOW {
            queue(2, format!("q{below}"), LEAVES, false);
            (0..LEAVES).for_each(|leaf| queue(3, format!("leaf{leaf}"), 1, true));
        }
    }
    text
}

fn bench(criterion: &mut Criterion) {
    let types = ResourceTypes::memory_and_vcores();
    let (xml, yaml) = (capacity_scheduler_xml(), queues_yaml());
    let imported = from_capacity_scheduler_xml(&xml, "capacity-scheduler.xml", &types).expect("it is right");
    let toml = to_toml(&imported.config);
    let mut group = criterion.benchmark_group("config/1000 queues");
    group.bench_function("capacity-scheduler.xml", |bencher| {
        bencher.iter(|| from_capacity_scheduler_xml(black_box(&xml), "xml", &types).expect("it is right"));
    });
    group.bench_function("queues.yaml", |bencher| {
        bencher.iter(|| from_queues_yaml(black_box(&yaml), "yaml", &types).expect("it is right"));
    });
    group.bench_function("toml", |bencher| {
        bencher.iter(|| from_toml(black_box(&toml), "toml").expect("it is right"));
    });
    group.finish();
}

criterion_group!(config, bench);
criterion_main!(config);
