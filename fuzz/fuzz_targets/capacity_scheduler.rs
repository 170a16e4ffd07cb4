#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion_formats::capacity_scheduler::fuzz_capacity_scheduler_xml(data));
