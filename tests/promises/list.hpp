# What list.hpp promises, and which tests see to it (scripts/promises).
about.1 "list.hpp - the lists of list.h and hlist.h with types: objects of the user's, walked through while they change."
    cxx:lists:holds_elements cxx:lists:is_read_while_it_changes
explains "list.h says what readers see."
about.3 "A list owns nothing, and each function does what the _rcu function of the same name in list.h does, with the
    same instructions."
    cxx:lists:owns_nothing ctest:cxx_code_g++_c++17 ctest:cxx_code_clang++-14_c++17
about.4 "Nothing allocates, waits (but for splice_back()) or throws."
    cxx:lists:neither_allocates_nor_waits cxx:lists:throws_nothing
about.5 "Readers are in a read section, or hold the lock; all others hold the lock."
    cxx:lists:is_read_while_it_changes test_check:test_guarded
explains "An element that was erased or replaced may not be changed, freed or added anywhere before a grace period has
    passed."
list.1 "A circular list."
    cxx:lists:is_a_ring
list.2 "@Member is the address of the lull_list_head in T."
    cxx:lists cxx:lists:is_a_ring
list.3 "With @both_ways, readers may walk backwards; all deletions then are the bidir ones, which do not notice that an
    element is deleted twice."
    cxx:lists:walks_back cxx:lists:keeps_the_way_back cxx:lists
after.1 "Go on behind @element, which was found in this same read section."
    cxx:lists:holds_elements
reversed.1 "From the last to the first."
    cxx:lists:walks_back
front.1 "NULL: it is empty."
    cxx:lists:holds_elements
explains "Without the lock the answer is only a hint."
empty.2 "Any context."
    cxx:lists:is_asked_in_a_handler
locked.1 "for (T &element : list.locked()): the body may erase the element, but not the next one."
    cxx:lists:holds_elements
erase.1 "Take @element off."
    cxx:lists:holds_elements
erase.2 "Returns its address: retire it."
    cxx:lists:holds_elements cxx:lists
pop_front.1 "Take the first element off; NULL: there is none."
    cxx:lists:holds_elements
replace.1 "Put @element in the place of @old."
    cxx:lists:holds_elements cxx:lists:keeps_readers
replace.2 "Returns the address of @old: retire it."
    cxx:lists:holds_elements cxx:lists
clear.1 "Take off all elements, and call @retire(element) for each."
    cxx:lists:holds_elements
splice_back.1 "Move all of @other to the end."
    cxx:lists:splices
splice_back.2 "With both locks; waits for a grace period, so not in a read section."
    cxx:lists:splices_behind_readers cxx:misuse:splices_in_a_region
hlist.1 "A list whose head is one word, for buckets."
    cxx:lists:holds_elements ctest:cxx_lists
hlist.2 "@Member is the address of the lull_hlist_node in T."
    cxx:lists
push_back.1 "Walks to the end."
    cxx:lists:holds_elements
