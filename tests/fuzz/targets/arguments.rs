#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::Arguments| memdir_fuzz::arguments(input));
