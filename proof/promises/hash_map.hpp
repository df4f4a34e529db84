3b5b03 hash_map.hpp - the hash table of | run.hash_maps:finds_what_is_there
bf2dc9 Any thread may call any function | run.hash_maps:loses_no_update run.hash_maps:walks_while_it_is_resized ctest:cxx_storm
601123 Lookups take no lock, and never | run.hash_maps:walks_while_it_is_resized ctest:cxx_code_g++_c++17
90b239 An element never changes: an assignment | run.hash_maps:loses_no_update ctest:cxx_storm
7f23c5 The old element is destroyed when | run.hash_maps:destroys_when_nobody_reads
ac2abf (If readers should change something in | explains
3256ac Hash and Eq may throw, and | run.hash_maps:is_strong ctest:cxx_storm
3eaff2 Nothing ever stays locked. | run.hash_maps:is_strong ctest:cxx_storm
53d2e1 Hash is called before anything is | run.hash_maps:is_strong
2b725f Both are called by several threads | ctest:cxx_storm
14afc7 The table wants well mixed hashes, | explains
5dea34 So the map mixes what Hash | run.hash_maps:mixes_weak_hashes
4f4f23 If strangers choose the keys, use | explains
a3dbab If Hash and Eq both have | run.hash_maps:looks_up_other_types
47f908 Without exceptions in the compiler the | run.hash_maps:catches_beside_code_that_cannot
f1bb0e How a map reclaims: after a | run.hash_maps:destroys_when_nobody_reads
ab5600 A policy of your own needs | run.hash_maps:asks_the_policy
3aaa84 free(), for elements without destructors, may | run.hash_maps:asks_the_policy
b71ebd Hold the result of find(): a | run.hash_maps:finds_what_is_there
38c81a A read section begins and ends | run.hash_maps:leaves_sections
8272a8 It stays in its block: it | cxx:hash_maps
f01ac0 Long waits in that block hold | explains
9aaa90 For range-for: the position of a | run.hash_maps:leaves_sections
bab066 Throws std::bad_alloc, bad_hash_config. | run.hash_maps:refuses_configurations
4a7532 @buckets: at the start; 0: a | run.hash_maps:refuses_configurations
cd6ee9 hash.h has the rest. | explains
f1db3e No other thread uses the map | explains
8f3f20 Destroys the elements here and now. | run.hash_maps:destroys_when_nobody_reads
11f613 In a read section of the | run.hash_maps:finds_what_is_there
2623b9 Call @use(element) in a read section, | run.hash_maps:finds_what_is_there run.hash_maps:leaves_sections
fcd1a6 Returns whether there is. | run.hash_maps:finds_what_is_there
9350b4 Throws what @use throws. | run.hash_maps:leaves_sections run.hash_maps:is_strong
51cd9d Insert an element with @key, and | run.hash_maps:finds_what_is_there run.hash_maps:loses_no_update
a543b1 Returns whether it did. | run.hash_maps:finds_what_is_there run.hash_maps:loses_no_update
db140e If the key was there when | run.hash_maps:leaves_arguments_alone
358c82 If another thread inserts it meanwhile, | run.hash_maps:is_overtaken
e2853e Make the pair first, of @args, | run.hash_maps:finds_what_is_there run.hash_maps:is_strong
a5bcf5 Insert the element, or put it | run.hash_maps:finds_what_is_there
0f1445 Returns whether there was none. | run.hash_maps:finds_what_is_there
351bbd Put an element with the value | run.hash_maps:finds_what_is_there
19aac3 Nothing is lost if threads do | run.hash_maps:loses_no_update
525ddf It runs in a read section. | run.hash_maps:leaves_sections
c975ed Returns false if there is none. | run.hash_maps:finds_what_is_there run.hash_maps:loses_no_update
d64597 Returns whether this call removed it. | run.hash_maps:finds_what_is_there run.hash_maps:loses_no_update
b01aeb This very element, if it is | run.hash_maps:erases_this_very_element
b42524 @element stays valid. | run.hash_maps:erases_this_very_element
6bd713 Erase the elements for which @is_it(element) | run.hash_maps:finds_what_is_there
814803 Returns how many. | run.hash_maps:finds_what_is_there
17f2a1 Elements that other threads insert meanwhile | untested: a licence: nothing to test
60cde7 If @is_it throws, what was erased | run.hash_maps:erases_until_it_throws
d511df for (const auto &[key, value] : | run.hash_maps:walks_while_it_is_resized
5acb45 It meets each element that is | run.hash_maps:walks_while_it_is_resized
d70995 The body may update the map. | run.hash_maps:walks_while_it_is_resized
969d91 Exact while no thread updates. | run.hash_maps:finds_what_is_there run.hash_maps:loses_no_update
08d9bb Move to a table of @buckets; | run.hash_maps:refuses_configurations
bef37e finish_resize() helps a resize that goes | run.hash_maps:refuses_configurations
4ac632 In a loop the old elements | bounded:updates bounded:helps
1de899 Neither this call nor clear() holds | bounded:clears
8d3f0f The walk follows a table that | explains
5aa880 Call @use(element) for each element, in | run.hash_maps:for_each_leaves_sections
9ba8eb It calls for each element that | run.hash_maps:for_each_meets_each_once run.hash_maps:for_each_ends bounded:clears_amid_resizes
f66c52 @use may update the map. | run.hash_maps:for_each_ends
a9c4c6 If it throws, the walk is | run.hash_maps:for_each_leaves_sections
