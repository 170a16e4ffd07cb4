#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion_formats::yunikorn::fuzz_queues_yaml(data));
