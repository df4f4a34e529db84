# What intrusive_hash_map.hpp promises, and which tests see to it (scripts/promises).
about.1 "intrusive_hash_map.hpp - the hash table of hash.h with types, over objects that belong to the user."
    cxx:intrusive_hash_maps:finds_objects
about.2 "The third parameter is the key: a pointer to a member, or a function that takes a const T & and returns the
    key."
    cxx:intrusive_hash_maps:finds_keys
about.3 "Hash and Eq are as in hash_map.hpp, and may throw: all calls are strong, and nothing stays locked."
    cxx:intrusive_hash_maps:is_strong
explains "An object is in one map at a time by each of its nodes."
about.5 "An element that a call returns as removed was taken off by this call alone; readers may still use it, so do not
    change it or insert it anywhere before a grace period has passed."
    cxx:intrusive_hash_maps:is_read_while_it_changes
end_of_walk.1 "The position of a walk, for range-for."
    cxx:intrusive_hash_maps:finds_objects cxx:intrusive_hash_maps:is_read_while_it_changes
explains "In one read section of the caller's, as long as the walk lasts."
intrusive_hash_map.1 "Throws std::bad_alloc, bad_hash_config."
    cxx:intrusive_hash_maps:refuses_configurations
intrusive_hash_map.2 "@buckets: at the start; 0: a few."
    cxx:intrusive_hash_maps:finds_objects cxx:intrusive_hash_maps:refuses_configurations
explains "hash.h has the rest."
explains "No other thread uses the map any more."
intrusive_hash_map.5 "Leaves the objects alone."
    cxx:intrusive_hash_maps:leaves_objects_alone
find.1 "NULL: there is none."
    cxx:intrusive_hash_maps:finds_objects
find.2 "In a read section of the caller's: valid until it ends."
    cxx:intrusive_hash_maps:is_read_while_it_changes
insert.1 "Insert @object unless there is one with its key."
    cxx:intrusive_hash_maps:finds_objects
insert.2 "Returns whether it did."
    cxx:intrusive_hash_maps:finds_objects
find_or_insert.1 "Insert likewise."
    cxx:intrusive_hash_maps:finds_objects
find_or_insert.2 "Returns NULL, or the object that is there; to use that, call this in a read section."
    cxx:intrusive_hash_maps:finds_objects
insert_or_replace.1 "Insert @object, or put it in the place of the one with its key."
    cxx:intrusive_hash_maps:finds_objects
insert_or_replace.2 "Returns NULL, or that one, to be retired."
    cxx:intrusive_hash_maps:finds_objects cxx:hash_maps
replace.1 "Put @object, with an equal key, in the place of @old, if that is there."
    cxx:intrusive_hash_maps:finds_objects
replace.2 "Returns whether; then retire @old."
    cxx:intrusive_hash_maps:finds_objects cxx:hash_maps
erase.1 "Returns the object, to be retired, or NULL."
    cxx:intrusive_hash_maps:finds_objects cxx:hash_maps
remove.1 "Take @object off, found in this same read section, or known to be alive."
    cxx:intrusive_hash_maps:finds_objects
remove.2 "Returns whether it was there."
    cxx:intrusive_hash_maps:finds_objects
clear.1 "Take off all objects, and call @retire(object) for each of them."
    cxx:intrusive_hash_maps:finds_objects
clear.2 "Not those that come meanwhile."
    untested a licence: nothing to test
begin.1 "Meets each object that is there during the whole walk, once, or more often during a resize."
    cxx:intrusive_hash_maps:finds_objects cxx:intrusive_hash_maps:is_read_while_it_changes
begin.2 "The body may update."
    cxx:intrusive_hash_maps:finds_objects
