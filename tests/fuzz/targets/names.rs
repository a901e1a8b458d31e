#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::Names| memdir_fuzz::names(input));
