25d57e intrusive_hash_map.hpp - the hash table of | intrusive_hash_maps:finds_objects
577d85 The third parameter is the key: | intrusive_hash_maps:finds_keys
46b7de Hash and Eq are as in | intrusive_hash_maps:is_strong
6023a5 An object is in one map | explains
931fd8 An element that a call returns | intrusive_hash_maps:is_read_while_it_changes
56cab3 The position of a walk, for | intrusive_hash_maps:finds_objects intrusive_hash_maps:is_read_while_it_changes
faf10a In one read section of the | explains
bab066 Throws std::bad_alloc, bad_hash_config. | intrusive_hash_maps:refuses_configurations
4a7532 @buckets: at the start; 0: a | intrusive_hash_maps:finds_objects intrusive_hash_maps:refuses_configurations
cd6ee9 hash.h has the rest. | explains
f1db3e No other thread uses the map | explains
9cffb6 Leaves the objects alone. | intrusive_hash_maps:leaves_objects_alone
9cea11 NULL: there is none. | intrusive_hash_maps:finds_objects
fc4875 In a read section of the | intrusive_hash_maps:is_read_while_it_changes
d868d0 Insert @object unless there is one | intrusive_hash_maps:finds_objects
a543b1 Returns whether it did. | intrusive_hash_maps:finds_objects
4cd2e6 Insert likewise. | intrusive_hash_maps:finds_objects
5937d5 Returns NULL, or the object that | intrusive_hash_maps:finds_objects
f510c0 Insert @object, or put it in | intrusive_hash_maps:finds_objects
8ce4bc Returns NULL, or that one, to | intrusive_hash_maps:finds_objects cxx:hash_maps
23aba4 Put @object, with an equal key, | intrusive_hash_maps:finds_objects
c375e5 Returns whether; then retire @old. | intrusive_hash_maps:finds_objects cxx:hash_maps
38221c Returns the object, to be retired, | intrusive_hash_maps:finds_objects cxx:hash_maps
b36124 Take @object off, found in this | intrusive_hash_maps:finds_objects
0c7e0b Returns whether it was there. | intrusive_hash_maps:finds_objects
f78370 Not those that come meanwhile. | untested: a licence: nothing to test
043493 Meets each object that is there | intrusive_hash_maps:finds_objects intrusive_hash_maps:is_read_while_it_changes
e5b591 The body may update. | intrusive_hash_maps:finds_objects
6e544a Take off all objects, and call | intrusive_hash_maps:finds_objects bounded:clears
3e56a7 Call @use(object) likewise, but for none | intrusive_hash_maps:is_read_while_it_changes
