# What intrusive_hash_map.hpp promises, and which tests see to it (scripts/promises).
about.1 "intrusive_hash_map.hpp - the hash table of hash.h with types, over objects that belong to the user."
    cxx:intrusive_hash_maps:finds_objects
about.2 "The third parameter is the key: a pointer to a member, or a function that takes a const T & and returns the
    key."
    cxx:intrusive_hash_maps:finds_keys
about.3 "Hash and Eq are as in hash_map.hpp, and may throw: all calls are strong, and nothing stays locked."
    cxx:intrusive_hash_maps:is_strong
explains "An object is in one map at a time by each of its nodes."
about.5 "What a call returns as removed was taken off by this call alone; readers may still use it, so do not change
    it or insert it anywhere before a grace period has passed."
    cxx:intrusive_hash_maps:is_read_while_it_changes
end_of_walk.1 "The position of a walk, for range-for."
    cxx:intrusive_hash_maps:finds_objects cxx:intrusive_hash_maps:is_read_while_it_changes
explains "In one read section of the caller's, as long as the walk lasts."
