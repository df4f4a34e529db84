# What hash_map.hpp promises, and which tests see to it (scripts/promises).
about.1 "hash_map.hpp - the hash table of hash.h with types: a map that owns its elements, and one that does not."
    cxx:hash_maps:finds_what_is_there
about.2 "Any thread may call any function at any time, except constructors and destructors."
    cxx:hash_maps:loses_no_update cxx:hash_maps:walks_while_it_is_resized ctest:cxx_storm
about.3 "Lookups take no lock, and never wait, also while the table grows."
    cxx:hash_maps:walks_while_it_is_resized ctest:cxx_code_g++_c++17
about.4 "An element never changes: an assignment puts another one in its place, and readers have the one or the
    other."
    cxx:hash_maps:loses_no_update ctest:cxx_storm
about.5 "The old element is destroyed when no section is left that may have found it: at once freed if it has no
    destructor to run, else destroyed on the reclaimer's thread (reclaim.h), where its destructor must not throw."
    cxx:hash_maps:destroys_when_nobody_reads
explains "(If readers should change something in an element, give it mutable atomic members.)"
about.7 "Hash and Eq may throw, and so may the constructors of Key and T. Each call says what holds then; \"strong\"
    means that nothing has changed."
    cxx:hash_maps:is_strong ctest:cxx_storm
about.8 "Nothing ever stays locked."
    cxx:hash_maps:is_strong ctest:cxx_storm
about.9 "Hash is called before anything is locked, Eq with a bucket locked in updates: it must not update this map."
    cxx:hash_maps:is_strong
about.10 "Both are called by several threads at once, as const."
    ctest:cxx_storm
explains "The table wants well mixed hashes, and std::hash of a number is that number."
about.12 "So the map mixes what Hash returns, unless Hash has a member type is_avalanching."
    cxx:hash_maps:mixes_weak_hashes
explains "If strangers choose the keys, use a Hash with a secret (lull_hash_bytes())."
about.14 "If Hash and Eq both have a member type is_transparent, lookups and erase() take every type that both
    take."
    cxx:hash_maps:looks_up_other_types
about.15 "Without exceptions in the compiler the program ends (std::terminate) where there is no memory, and the map is
    another type to the linker: code that is compiled with exceptions cannot use it."
    cxx:hash_maps:catches_beside_code_that_cannot
by_rcu.1 "How a map reclaims: after a grace period."
    cxx:hash_maps:destroys_when_nobody_reads
by_rcu.2 "A policy of your own needs call(), which makes sure that @func(@head) is called when no reader is left;
    the map counts @bytes for it."
    cxx:hash_maps:asks_the_policy
by_rcu.3 "free(), for elements without destructors, may be missing."
    cxx:hash_maps:asks_the_policy
found.1 "Hold the result of find(): a pointer to the element, or nothing."
    cxx:hash_maps:finds_what_is_there
found.2 "A read section begins and ends with this object."
    cxx:hash_maps:leaves_sections
found.3 "It stays in its block: it cannot be copied, moved, or made by new."
    cxx:hash_maps
explains "Long waits in that block hold reclamation up."
end_of_walk.1 "For range-for: the position of a walk, in a read section that lasts as long as the walk."
    cxx:hash_maps:leaves_sections
hash_map.1 "Throws std::bad_alloc, bad_hash_config."
    cxx:hash_maps:refuses_configurations
hash_map.2 "@buckets: at the start; 0: a few."
    cxx:hash_maps:refuses_configurations
explains "hash.h has the rest."
explains "No other thread uses the map any more."
hash_map.5 "Destroys the elements here and now."
    cxx:hash_maps:destroys_when_nobody_reads
lookup.1 "In a read section of the caller's: valid until it ends; NULL if there is none."
    cxx:hash_maps:finds_what_is_there
visit.1 "Call @use(element) in a read section, if there is one."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:leaves_sections
visit.2 "Returns whether there is."
    cxx:hash_maps:finds_what_is_there
visit.3 "Throws what @use throws."
    cxx:hash_maps:leaves_sections cxx:hash_maps:is_strong
try_emplace.1 "Insert an element with @key, and a T made of @args, unless there is one with that key."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:loses_no_update
try_emplace.2 "Returns whether it did."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:loses_no_update
try_emplace.3 "If the key was there when the call began, @key and @args are as they were."
    cxx:hash_maps:leaves_arguments_alone
try_emplace.4 "If another thread inserts it meanwhile, they may have been moved from, and their copy is destroyed."
    cxx:hash_maps:is_overtaken
emplace.1 "Make the pair first, of @args, and insert it unless its key is there."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:is_strong
insert_or_assign.1 "Insert the element, or put it in the place of the one with @key."
    cxx:hash_maps:finds_what_is_there
insert_or_assign.2 "Returns whether there was none."
    cxx:hash_maps:finds_what_is_there
update.1 "Put an element with the value @change(old value) in the place of the one with @key."
    cxx:hash_maps:finds_what_is_there
update.2 "Nothing is lost if threads do so at once: @change is called again if another one was faster."
    cxx:hash_maps:loses_no_update
update.3 "It runs in a read section."
    cxx:hash_maps:leaves_sections
update.4 "Returns false if there is none."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:loses_no_update
erase.1 "Returns whether this call removed it."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:loses_no_update
erase.2 "This very element, if it is still there."
    cxx:hash_maps:erases_this_very_element
erase.3 "@element stays valid."
    cxx:hash_maps:erases_this_very_element
erase_if.1 "Erase the elements for which @is_it(element) is true."
    cxx:hash_maps:finds_what_is_there
erase_if.2 "Returns how many."
    cxx:hash_maps:finds_what_is_there
erase_if.3 "Elements that other threads insert meanwhile may stay."
    untested a licence: nothing to test
erase_if.4 "If @is_it throws, what was erased so far is gone."
    cxx:hash_maps:erases_until_it_throws
begin.1 "for (const auto &[key, value] : map)."
    cxx:hash_maps:walks_while_it_is_resized
begin.2 "It meets each element that is in the map during the whole walk, once, or perhaps more than once while the table
    is resized."
    cxx:hash_maps:walks_while_it_is_resized
begin.3 "The body may update the map."
    cxx:hash_maps:walks_while_it_is_resized
size.1 "Exact while no thread updates."
    cxx:hash_maps:finds_what_is_there cxx:hash_maps:loses_no_update
rehash.1 "Move to a table of @buckets; throws std::bad_alloc (strong)."
    cxx:hash_maps:refuses_configurations
rehash.2 "finish_resize() helps a resize that goes on to its end."
    cxx:hash_maps:refuses_configurations
