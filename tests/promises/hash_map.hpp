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
