// SPDX-License-Identifier: MIT
//! Hash tables of Rust's, for `lull hashscale`: papaya, flurry, and scc's HashIndex, in the loop of hash_loop.h. Key and
//! value are 64 bytes together, as an element is in the other tables. The table resizes by itself, as lull-hash does with
//! --grow; it begins with room for all elements. A lookup enters and leaves a section, as in the other tables.
use std::cmp::Ordering;
use std::ffi::{c_char, CStr};
use std::hash::{BuildHasher, Hash, Hasher};

/// struct bench_hash_key.
#[repr(C)]
pub struct Asked {
    text: *const u8,
    hash: u64,
    length: usize,
}

/// struct bench_hash_shape, as far as it matters here.
#[repr(C)]
pub struct Shape {
    mode: u32,
    elements: usize,
    buckets: usize,
    grow: bool,
    asked: *const Asked,
    kept: *const Asked,
}

const INTEGERS: u32 = 0;
const TEXTS: u32 = 1;
const PREHASHED: u32 = 2;

/// bench_hash_text().
#[inline(always)]
fn text_hash(text: &[u8]) -> u64 {
    let mut hash = (text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = text.chunks_exact(8);
    let rest = words.remainder().iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));

    for word in words {
        hash = (hash ^ u64::from_ne_bytes(word.try_into().unwrap())).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 32;
    }
    hash = (hash ^ rest).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 29
}

extern "C" {
    fn bench_hash_broken(scheme: *const c_char) -> !;
    fn lull_rust_retired();
    fn lull_rust_freed();
}

// ---- keys and values ---------------------------------------------------------------------------

#[derive(Clone, Copy)]
struct Key<const TEXT: bool> {
    hash: u64,
    text: *const u8,
    length: usize,
}

// The texts stay where they are for as long as the tables do.
unsafe impl<const TEXT: bool> Send for Key<TEXT> {}
unsafe impl<const TEXT: bool> Sync for Key<TEXT> {}

impl<const TEXT: bool> Key<TEXT> {
    fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.text, self.length) }
    }
}

impl<const TEXT: bool> PartialEq for Key<TEXT> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (!TEXT || self.bytes() == other.bytes())
    }
}

impl<const TEXT: bool> Eq for Key<TEXT> {}

impl<const TEXT: bool> Hash for Key<TEXT> {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<const TEXT: bool> Ord for Key<TEXT> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.hash.cmp(&other.hash).then_with(|| if TEXT { self.bytes().cmp(other.bytes()) } else { Ordering::Equal })
    }
}

impl<const TEXT: bool> PartialOrd for Key<TEXT> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Texts come with a hash. Integers are their own, which these tables cannot use: they look at single bits of it.
#[derive(Clone, Copy, Default)]
struct Mix<const TEXT: bool>(u64);

impl<const TEXT: bool> Hasher for Mix<TEXT> {
    fn write(&mut self, _: &[u8]) {
        unreachable!()
    }
    #[inline(always)]
    fn write_u64(&mut self, hash: u64) {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = if TEXT { hash } else { mixed ^ mixed >> 32 };
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl<const TEXT: bool> BuildHasher for Mix<TEXT> {
    type Hasher = Mix<TEXT>;
    #[inline(always)]
    fn build_hasher(&self) -> Self {
        Mix(0)
    }
}

/// Counted, so that one sees how many wait to be dropped: what was made, or copied in a resize, less what was dropped.
struct Value {
    value: u64,
    _rest: [u64; 4],
}

impl Value {
    #[inline(always)]
    fn new(value: u64) -> Self {
        unsafe { lull_rust_retired() };
        Value { value, _rest: [0; 4] }
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        Value::new(self.value)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        unsafe { lull_rust_freed() };
    }
}

// ---- the three tables ----------------------------------------------------------------------------

trait Map<const TEXT: bool>: Sync {
    const NAME: &'static CStr;
    fn make(capacity: usize) -> Self;
    fn get(&self, key: &Key<TEXT>) -> Option<u64>;
    /// In the place of what is there.
    fn put(&self, key: Key<TEXT>, value: Value);
}

impl<const TEXT: bool> Map<TEXT> for papaya::HashMap<Key<TEXT>, Value, Mix<TEXT>> {
    const NAME: &'static CStr = c"papaya";
    fn make(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, Mix(0))
    }
    #[inline(always)]
    fn get(&self, key: &Key<TEXT>) -> Option<u64> {
        self.pin().get(key).map(|v| v.value)
    }
    #[inline(always)]
    fn put(&self, key: Key<TEXT>, value: Value) {
        self.pin().insert(key, value);
    }
}

impl<const TEXT: bool> Map<TEXT> for flurry::HashMap<Key<TEXT>, Value, Mix<TEXT>> {
    const NAME: &'static CStr = c"flurry";
    fn make(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, Mix(0))
    }
    #[inline(always)]
    fn get(&self, key: &Key<TEXT>) -> Option<u64> {
        self.pin().get(key).map(|v| v.value)
    }
    #[inline(always)]
    fn put(&self, key: Key<TEXT>, value: Value) {
        self.pin().insert(key, value);
    }
}

impl<const TEXT: bool> Map<TEXT> for scc::HashIndex<Key<TEXT>, Value, Mix<TEXT>> {
    const NAME: &'static CStr = c"scc-index";
    fn make(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, Mix(0))
    }
    /// While an update is under way the first may find neither the old entry nor the new one; the second waits for it.
    #[inline(always)]
    fn get(&self, key: &Key<TEXT>) -> Option<u64> {
        self.peek_with(key, |_, v| v.value).or_else(|| self.read_sync(key, |_, v| v.value))
    }
    #[inline(always)]
    fn put(&self, key: Key<TEXT>, value: Value) {
        match self.entry_sync(key) {
            scc::hash_index::Entry::Occupied(mut there) => there.update(value),
            scc::hash_index::Entry::Vacant(free) => {
                free.insert_entry(value);
            }
        }
    }
}

// ---- the loop ------------------------------------------------------------------------------------

pub trait Table {
    fn run(&self, rng: &mut u64, n: u64, updates: u64) -> u64;
    fn update(&self, index: usize);
}

struct Loop<M, const MODE: u32> {
    map: M,
    elements: usize,
    asked: *const Asked,
    kept: *const Asked,
}

#[inline(always)]
fn key_at<const MODE: u32, const TEXT: bool>(keys: *const Asked, index: usize, hash_it: bool) -> Key<TEXT> {
    if MODE == INTEGERS {
        return Key { hash: index as u64, text: std::ptr::null(), length: 0 };
    }
    let key = unsafe { &*keys.add(index) };
    let hash = if MODE == TEXTS && hash_it { text_hash(unsafe { std::slice::from_raw_parts(key.text, key.length) }) } else { key.hash };
    Key { hash, text: key.text, length: key.length }
}

impl<M, const MODE: u32> Loop<M, MODE> {
    #[inline(always)]
    fn replace<const TEXT: bool>(&self, index: usize)
    where
        M: Map<TEXT>,
    {
        // The hash is computed as for a lookup; the table keeps the other copy of the text.
        let hash = key_at::<MODE, TEXT>(self.asked, index, true).hash;
        self.map.put(Key { hash, ..key_at::<MODE, TEXT>(self.kept, index, false) }, Value::new(index as u64));
    }

    #[inline(always)]
    fn mixed<const TEXT: bool, const UPDATES: bool>(&self, rng: &mut u64, n: u64, updates: u64) -> u64
    where
        M: Map<TEXT>,
    {
        let (mut state, mut sum) = (*rng, 0u64);
        for _ in 0..n {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let index = ((state >> 32).wrapping_mul(self.elements as u64) >> 32) as usize;
            if UPDATES && u64::from(state as u32) < updates {
                self.replace(index);
            } else {
                match self.map.get(&key_at::<MODE, TEXT>(self.asked, index, true)) {
                    Some(value) => sum = sum.wrapping_add(value),
                    None => unsafe { bench_hash_broken(M::NAME.as_ptr()) },
                }
            }
        }
        *rng = state;
        sum
    }
}

macro_rules! table {
    ($mode:ident, $text:literal) => {
        impl<M: Map<$text>> Table for Loop<M, $mode> {
            fn run(&self, rng: &mut u64, n: u64, updates: u64) -> u64 {
                if updates == 0 {
                    self.mixed::<$text, false>(rng, n, 0)
                } else {
                    self.mixed::<$text, true>(rng, n, updates)
                }
            }
            fn update(&self, index: usize) {
                self.replace(index);
            }
        }
    };
}

table!(INTEGERS, false);
table!(TEXTS, true);
table!(PREHASHED, true);

fn filled<M: Map<TEXT> + 'static, const TEXT: bool, const MODE: u32>(shape: &Shape) -> Box<dyn Table>
where
    Loop<M, MODE>: Table,
{
    let table = Loop::<M, MODE> {
        map: M::make(shape.elements),
        elements: shape.elements,
        asked: shape.asked,
        kept: shape.kept,
    };
    (0..shape.elements).for_each(|index| table.update(index));
    Box::new(table)
}

macro_rules! create {
    ($name:ident, $map:ident :: $index:ident) => {
        /// # Safety
        /// The shape, and its keys, outlive the table.
        #[no_mangle]
        pub unsafe extern "C" fn $name(shape: *const Shape) -> *mut Box<dyn Table> {
            let shape = &*shape;
            Box::into_raw(Box::new(match shape.mode {
                INTEGERS => filled::<$map::$index<Key<false>, Value, Mix<false>>, false, INTEGERS>(shape),
                TEXTS => filled::<$map::$index<Key<true>, Value, Mix<true>>, true, TEXTS>(shape),
                _ => filled::<$map::$index<Key<true>, Value, Mix<true>>, true, PREHASHED>(shape),
            }))
        }
    };
}

create!(lull_rust_papaya, papaya::HashMap);
create!(lull_rust_flurry, flurry::HashMap);
create!(lull_rust_scc_index, scc::HashIndex);

/// # Safety
/// The table is one of the above.
#[no_mangle]
pub unsafe extern "C" fn lull_rust_run(table: *const Box<dyn Table>, rng: *mut u64, n: u64, updates: u64) -> u64 {
    (*table).run(&mut *rng, n, updates)
}

/// # Safety
/// The table is one of the above.
#[no_mangle]
pub unsafe extern "C" fn lull_rust_update(table: *const Box<dyn Table>, index: usize) {
    (*table).update(index);
}

/// # Safety
/// The table is one of the above, and nobody uses it any more.
#[no_mangle]
pub unsafe extern "C" fn lull_rust_destroy(table: *mut Box<dyn Table>) {
    drop(Box::from_raw(table));
}
